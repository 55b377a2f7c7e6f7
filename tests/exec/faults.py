"""Faults planted in weft (ir/fault.h) and what `weft verify` says of them: faults.py WEFT_FAULTS WEFT_OPT_FAULTS WEFT WEFT_OPT

Each is found at the right stage, with the right op; the reproducer shows it again with the command that is printed, and
does nothing of the kind in weft as it ships. Without a fault the same builds find nothing."""

import os
import shlex
import sys

import harness

# fault, layout, stage, first wrong op, graph
FAULTS = [
    ("convert-layout", "*=NHWC", "convert-layout", "c", """
const @k : f32[8,4,3,3] = file("k.npy")
func @main(%x: f32[1,4,6,6] as "NCHW") -> (y: f32[1,8,6,6] as "NCHW") {
  %k = constant() {value = @k} : f32[8,4,3,3]
  %a = tanh(%x) : f32[1,4,6,6]
  %c = conv2d(%a, %k) {padding = [1, 1, 1, 1]} : f32[1,8,6,6]
  %y = relu(%c) : f32[1,8,6,6]
  return %y
}
"""),
    ("legalize", "keep", "legalize", "u", """
const @k : f32[8,4,3,3] = file("k.npy")
func @main(%x: f32[1,8,5,5] as "NCHW") -> (y: f32[1,4,10,10] as "NCHW") {
  %k = constant() {value = @k} : f32[8,4,3,3]
  %a = tanh(%x) : f32[1,8,5,5]
  %u = conv2d_transpose(%a, %k) {strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [1, 1]} : f32[1,4,10,10]
  %y = relu(%u) : f32[1,4,10,10]
  return %y
}
"""),
    ("lower", "*=NHWC", "lower", "y", """
const @k : f32[8,4,3,3] = file("k.npy")
func @main(%x: f32[1,4,6,6] as "NCHW") -> (z: f32[1,8,6,6] as "NCHW") {
  %k = constant() {value = @k} : f32[8,4,3,3]
  %a = tanh(%x) : f32[1,4,6,6]
  %c = conv2d(%a, %k) {padding = [1, 1, 1, 1]} : f32[1,8,6,6]
  %y = relu(%c) : f32[1,8,6,6]
  %z = softmax(%y) {axis = 1} : f32[1,8,6,6]
  return %z
}
"""),
    ("weights", "keep", "code generation", "g", """
const @k : f32[8,4,3,3] = file("k.npy")
const @p : f32[3,8,1,1] = [0.5, 1.0, -1.0, 0.25, 2.0, 1.5, -0.5, 1.0, 1.0, -1.0, 0.5, 0.75, 1.0, 2.0, -2.0, 0.5, 1.0, 1.0, 1.0, -1.0, 0.5, 0.25, 0.125, 2.0]
func @main(%x: f32[1,8,6,6] as "NCHW") -> (y: f32[1,3,6,6] as "NCHW") {
  %k = constant() {value = @k} : f32[8,4,3,3]
  %p = constant() {value = @p} : f32[3,8,1,1]
  %a = tanh(%x) : f32[1,8,6,6]
  %g = conv2d(%a, %k) {padding = [1, 1, 1, 1], groups = 2} : f32[1,8,6,6]
  %y = conv2d(%g, %p) : f32[1,3,6,6]
  return %y
}
"""),
    ("padding", "*=NCHW8c", "lower", "y", """
const @p : f32[3,2,1,1] = [0.5, 1.0, -1.0, 0.25, 2.0, 1.5]
func @main(%x: f32[1,2,6,6] as "NCHW") -> (y: f32[1,1,6,6]) {
  %p = constant() {value = @p} : f32[3,2,1,1]
  %c = conv2d(%x, %p) : f32[1,3,6,6]
  %s = reduce_sum(%c) {axes = [1]} : f32[1,1,6,6]
  %y = tanh(%s) : f32[1,1,6,6]
  return %y
}
"""),
]


def main():
    weft_faults, weft_opt_faults, weft, weft_opt = (os.path.abspath(a) for a in sys.argv[1:])
    checks = harness.Checks()
    with harness.Scratch() as folder:
        values = [((37 * k) % 101 - 50) / 64 for k in range(8 * 4 * 9)]
        harness.npy_write(folder / "k.npy", (8, 4, 3, 3), values)
        for fault, layout, stage, op, text in FAULTS:
            model = folder / f"{fault}.weft"
            model.write_text(f'weft 1 model "{fault}"{text}')
            verify = ["verify", model, "--layout", layout, "--output-dir", folder / fault]
            planted = {"WEFT_FAULT": fault}

            r = harness.run([weft_faults, *verify])
            checks.check(r.status == 0 and "FAILED" not in r.out, f"{fault}: nothing found without the fault", r)
            checks.check(not (folder / fault).exists(), f"{fault}: nothing written without the fault")

            r = harness.run([weft_faults, *verify], env=planted)
            checks.check(r.status == 1, f"{fault}: found", r)
            checks.check(f"FAILED at '{stage}': " in r.out, f"{fault}: at {stage}", r)
            checks.check(f"first wrong op: %{op}\n" in r.out, f"{fault}: %{op} is the first wrong op", r)
            again = [line.split("again", 1)[1] for line in r.out.splitlines() if line.startswith("  again ")]
            if not checks.check(len(again) == 1, f"{fault}: a command that reproduces it", r):
                continue
            command = shlex.split(again[0])
            faulty, sound = ((weft_opt_faults, weft_opt) if command[0] == "weft-opt" else (weft_faults, weft))
            checks.check((folder / fault / f"{op}.repro.weft").exists(), f"{fault}: the reproducer is named after the op")
            text = (folder / fault / f"{op}.repro.weft").read_text()
            body = [line for line in text.splitlines() if " = " in line and "constant()" not in line and "const @" not in line]
            checks.check(0 < len(body) <= 3, f"{fault}: the reproducer is small", text)
            r = harness.run([faulty, *command[1:]], env=planted, cwd=folder)
            checks.check(r.status == 1 and f"FAILED at '{stage}': " in r.out + r.err, f"{fault}: {again[0]} shows it", r)
            r = harness.run([sound, *command[1:]], env=planted, cwd=folder)
            checks.check(r.status == 0 and "FAILED" not in r.out + r.err, f"{fault}: weft as it ships has no fault", r)

            for name, options in ("plain.so", []), ("checked.so", ["--check"]):
                r = harness.run([weft, "compile", model, "--layout", layout, *options, "-o", folder / name])
                checks.check(r.status == 0, f"{fault}: compiles {' '.join(options)}", r)
            checks.check((folder / "plain.so").read_bytes() == (folder / "checked.so").read_bytes(),
                         f"{fault}: --check changes no byte of what is written")
            r = harness.run([weft_faults, "compile", model, "--layout", layout, "--check", "-o", folder / "m.so"], env=planted)
            checks.check(r.status == 1 and f"FAILED at '{stage}': " in r.err, f"{fault}: compile --check finds it", r)
            checks.check(not (folder / "m.so").exists(), f"{fault}: compile --check writes nothing")
    return checks.finish()


sys.exit(main())
