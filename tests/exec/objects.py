"""weft compile --emit obj: objects.py WEFT CC

For every CPU of `weft targets`: a relocatable ELF file of its machine, the same bytes twice, which needs nothing but
weft's runtime and libm. Of x86-64, two such objects and the runtime's sources linked into one program give the bytes
that `weft run` gives. For aarch64, shared objects and runs are refused."""

import array
import subprocess
import sys

import harness

ARM = ["armv8-a", "neoverse-n1", "neoverse-v1", "apple-m1"]
MODEL = """weft: 1
inputs:
  x: {dtype: f32, shape: [1, 2, 4, 5], layout: NCHW}
constants:
  k: {dtype: f32, shape: [2, 3, 3, 3], data: [%s], layout: IOHW}
nodes:
  - {op: conv2d_transpose, inputs: [x, k], output: t, strides: [2, 2]}
  - {op: tanh, inputs: [t], output: y}
outputs: [y]
""" % ", ".join(str((k * 5 % 13 - 6) / 8) for k in range(54))
PROGRAM = """#include <stdio.h>
#include "one.h"
#include "two.h"
int main(void) {
  static float x[ONE_INPUT_0_ELEMENTS], y[2][TWO_OUTPUT_0_ELEMENTS];
  if (fread(x, sizeof x, 1, stdin) != 1 || one_run((const void *[]){x}, (void *[]){y[0]}) ||
      two_run((const void *[]){x}, (void *[]){y[1]}))
    return 1;
  return fwrite(y, sizeof y, 1, stdout) != 1;
}
"""


def main():
    weft, cc = sys.argv[1:3]
    root = harness.HERE.parent.parent
    checks = harness.Checks()
    targets = [line.split()[0] for line in harness.run([weft, "targets"]).out.splitlines() if "-byte vectors" in line]
    checks.check(set(ARM) <= set(targets) and "x86-64-v4" in targets, "targets", targets)
    with harness.Scratch() as scratch:
        (scratch / "m.yaml").write_text(MODEL)

        def compile(*args):
            return harness.run([weft, "compile", "m.yaml", *args], cwd=scratch)

        for cpu in targets:
            for name in "a.o", "b.o":
                r = compile("--emit", "obj", "--cpu", cpu, "-o", name)
                checks.check(r.status == 0 and r.err == "", f"{cpu}: compiles", r)
            checks.check((scratch / "a.o").read_bytes() == (scratch / "b.o").read_bytes(), f"{cpu}: the same bytes twice")
            r = harness.run(["readelf", "-hsW", scratch / "a.o"])
            machine = "AArch64" if cpu in ARM else "Advanced Micro Devices X86-64"
            checks.check("REL (Relocatable file)" in r.out and machine in r.out, f"{cpu}: an object of its machine", r)
            undefined = {line.split()[-1] for line in r.out.splitlines() if " UND " in line and len(line.split()) == 8}
            checks.check(undefined and all(name.startswith("weft_rt_") or name in ("expf", "tanhf") for name in undefined),
                         f"{cpu}: needs the runtime only", undefined)
            exported = {line.split()[-1] for line in r.out.splitlines() if " GLOBAL " in line and " UND " not in line}
            checks.check(all(name.startswith("weft_model_") for name in exported) and "weft_model_run" in exported,
                         f"{cpu}: exports", exported)
        for cpu in ARM:
            for kind, word in ("asm", "fmla"), ("llvm", 'target triple = "aarch64-unknown-linux-gnu"'):
                r = compile("--emit", kind, "--cpu", cpu)
                checks.check(r.status == 0 and word in r.out, f"{cpu}: --emit {kind}", r.err + r.out[:200])
            for args in ["compile", "m.yaml", "-o", "m.so", "--header", "m.h"], ["run", "m.yaml", "--random", "1"]:
                r = harness.run([weft, *args, "--cpu", cpu], cwd=scratch)
                first = r.err.split("\n")[0]
                checks.check(r.status == 4 and cpu in first and "x86-64 only" in first and "--emit obj" in first and not r.out,
                             f"{cpu}: {args[0]} is refused", r)
            checks.check(not (scratch / "m.so").exists() and not (scratch / "m.h").exists(), f"{cpu}: nothing is left")

        # Two objects in one program.
        values = array.array("f", [(k * 7 % 19 - 9) / 4 for k in range(40)])
        harness.npy_write(scratch / "x.npy", [1, 2, 4, 5], values)
        want = b""
        for prefix, cpu in ("one", "x86-64-v2"), ("two", "native"):
            r = compile("--emit", "obj", "--cpu", cpu, "--prefix", prefix, "-o", f"{prefix}.o", "--header", f"{prefix}.h")
            checks.check(r.status == 0, f"{prefix}.o", r)
            r = harness.run([weft, "run", "m.yaml", "--input", "x.npy", "--cpu", cpu, "--output-dir", "out"], cwd=scratch)
            checks.check(r.status == 0, f"runs on {cpu}", r)
            want += harness.npy_read(scratch / "out" / "output_0.npy")[1].tobytes()
        (scratch / "main.c").write_text(PROGRAM)
        r = harness.run([cc, "-std=gnu11", "-D_GNU_SOURCE", f"-I{root}", "main.c", "one.o", "two.o",
                         *sorted((root / "runtime").glob("*.c")), "-o", "main", "-lm", "-lpthread"], cwd=scratch)
        checks.check(r.status == 0, "links with the runtime's sources", r)
        got = subprocess.run([scratch / "main"], input=values.tobytes(), capture_output=True, timeout=60)
        checks.check(got.returncode == 0 and got.stdout == want, "two objects in one program give what weft run gives", got)
    return checks.finish()


sys.exit(main())
