"""A compiled model as its users meet it: so.py WEFT CC [CXX]

Symbols, headers, two models in one program, arguments that are wrong, threads, fork, dlclose, a CPU that is too old, the
description, and the same bytes from every folder. Numbers are compared with the reference evaluation."""

import ctypes
import json
import os
import re
import shutil
import sys

import harness

EXPORTED = ["abi", "error", "info", "run", "run_in", "set_threads", "workspace_size"]
# What compiled models may take from libc, libm and libpthread.
ALLOWED = set("""
  __sched_cpucount aligned_alloc clock_gettime free getenv getpid memcmp memcpy memmove memset pthread_attr_destroy
  pthread_attr_init pthread_attr_setdetachstate pthread_create pthread_sigmask sched_getaffinity sigfillset snprintf
  syscall sysconf vsnprintf""".split())
# The functions of ir/scalar.def, in double and float, and that of mod.
for name in "exp log tanh erf sin cos tan asin acos atan sinh cosh asinh acosh atanh pow fmod".split():
    ALLOWED |= {name, name + "f"}
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0"}

BIG = """weft: 1
name: big
inputs:
  x: {dtype: f32, shape: [1, 16, 16, 8], layout: NHWC}
constants:
  k: {file: k.npy, layout: OIHW}
  b: {file: b.npy}
  u: {file: u.npy, layout: HWIO}
nodes:
  - {op: conv2d, inputs: [x, k, b], output: c, padding: [1, 1]}
  - {op: relu, inputs: [c], output: r}
  - {op: conv2d_transpose, inputs: [r, u], output: y, strides: [2, 2], padding: [1, 1]}
outputs: [y]
"""
SMALL = """weft: 1
name: small
inputs:
  x: {dtype: f32, shape: [3, 5]}
nodes:
  - {op: leaky_relu, inputs: [x], output: y, alpha: 0.25}
outputs: [y]
"""
PAIR = """weft: 1
name: pair
inputs:
  a: {dtype: f32, shape: [2, 3, 4, 5], layout: NCHW}
  b: {dtype: f32, shape: [2, 4, 5, 3], layout: NHWC}
nodes:
  - {op: add, inputs: [a, b], output: s}
  - {op: sub, inputs: [a, b], output: d}
  - {op: conv2d, inputs: [d, k], output: e}
constants:
  k: {dtype: f32, shape: [1, 3, 2, 2], layout: OIHW, data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
outputs: {s: {layout: NHWC}, e: {layout: NCHW}}
"""


def values(n, seed):
    """Multiples of 1/32 in (-1, 1)."""
    return [((seed + 37 * k) * 7919 % 63 - 31) / 32 for k in range(n)]


class Tests:
    def __init__(self, weft, cc, cxx, scratch):
        self.weft, self.cc, self.cxx, self.scratch = weft, cc, cxx, scratch
        self.checks = harness.Checks()
        self.models = scratch / "models"
        self.models.mkdir()
        for name, text in ("big", BIG), ("small", SMALL), ("pair", PAIR):
            (self.models / f"{name}.yaml").write_text(text)
        for name, shape in ("k", [16, 8, 3, 3]), ("b", [16]), ("u", [4, 4, 16, 4]):
            n = 1
            for extent in shape:
                n *= extent
            harness.npy_write(self.models / f"{name}.npy", shape, values(n, len(name + str(n))))

    def compile(self, name, out, *options, **how):
        r = harness.run([self.weft, "compile", self.models / f"{name}.yaml", "-o", out, *options], **how)
        return self.checks.check(r.status == 0, f"compile {name} {' '.join(map(str, options))}", r)

    def reference(self, name, shape):
        """Raw files of an input and of what the reference evaluation makes of it."""
        n = 1
        for extent in shape:
            n *= extent
        harness.npy_write(self.scratch / f"{name}.npy", shape, values(n, 5))
        out = self.scratch / f"{name}-reference"
        r = harness.run([self.weft, "run", self.models / f"{name}.yaml", "--input", self.scratch / f"{name}.npy", "--target",
                         "interp", "--output-dir", out])
        self.checks.check(r.status == 0, f"reference of {name}", r)
        raw = []
        for path in self.scratch / f"{name}.npy", out / "output_0.npy":
            raw.append(path.with_suffix(".raw"))
            raw[-1].write_bytes(harness.npy_read(path)[1].tobytes())
        return raw

    # ---- symbols ----

    def symbols(self):
        for name, prefix, options in ("big", "weft_model", []), ("small", "a_1", ["--prefix", "a_1"]):
            so = self.scratch / f"symbols-{name}.so"
            if not self.compile(name, so, *options):
                continue
            lines = harness.run(["nm", "-D", so]).out.splitlines()
            defined = sorted(line.split()[2] for line in lines if len(line.split()) == 3)
            self.checks.equal(defined, sorted(f"{prefix}_{f}" for f in EXPORTED), f"symbols that {name} exports")
            wanted = {line.split()[-1].split("@")[0] for line in lines if len(line.split()) == 2}
            self.checks.equal(sorted(wanted - ALLOWED), [], f"symbols that {name} needs beyond the allowed ones")
            dynamic = harness.run(["readelf", "-dW", so]).out
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
            self.checks.equal(sorted(needed - LIBRARIES), [], f"libraries that {name} needs beyond the allowed ones")
            self.checks.check("NODELETE" in dynamic, f"{name} stays loaded", dynamic)
            self.checks.check("TEXTREL" not in dynamic, f"{name} has no relocations in its code", dynamic)
            headers = harness.run(["readelf", "-lW", so]).out
            stack = [line.split()[-2] for line in headers.splitlines() if "GNU_STACK" in line]
            self.checks.equal(stack, ["RW"], f"{name}'s stack is not executable")
            text = so.read_bytes()
            self.checks.check(str(self.scratch).encode() not in text, f"no path of this machine in {name}")

    # ---- headers, and programs in C ----

    def build(self, compiler, what, *args):
        r = harness.run([compiler, *args], cwd=self.scratch)
        return self.checks.check(r.status == 0 and not r.err, what, r)

    def headers(self):
        for name, header, prefix in ("big", "one.h", "one"), ("small", "two.h", "Two"), ("pair", "pair.h", "pair"):
            self.compile(name, self.scratch / header.replace(".h", ".so"), "--header", self.scratch / header, "--prefix", prefix)
        both = '#include "one.h"\n#include "two.h"\n#include "pair.h"\n#include "one.h"\nint unused(void);\n'
        (self.scratch / "both.c").write_text(both)
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        self.build(self.cc, "headers as C99", "-std=c99", *strict, "-Wstrict-prototypes", "both.c")
        if self.cxx:
            self.build(self.cxx, "headers as C++", "-x", "c++", "-std=c++11", *strict, "both.c")
        else:
            print("skipped: headers as C++, there is no C++ compiler")
        text = (self.scratch / "pair.h").read_text()
        for line in ("pair_INPUTS 2", "pair_OUTPUTS 2", "pair_INPUT_1_ELEMENTS 120", "pair_OUTPUT_0_BYTES 480",
                     "pair_OUTPUT_1_ELEMENTS 24"):
            line = line.replace("pair", "PAIR")
            self.checks.check(f"#define {line}\n" in text, f"header of pair defines {line}", text)
        shapes = re.findall(r"'(\w+)': f32 \[([0-9, ]*)\], axes (\w+)", text)
        self.checks.equal(shapes, [("a", "2, 3, 4, 5", "NCHW"), ("b", "2, 4, 5, 3", "NHWC"), ("s", "2, 4, 5, 3", "NHWC"),
                                   ("e", "2, 1, 3, 4", "NCHW")], "shapes in the header are in the caller's order")

    def two_models(self):
        big = self.reference("big", [1, 16, 16, 8])
        small = self.reference("small", [3, 5])
        program = self.scratch / "so_two"
        if self.build(self.cc, "so_two.c builds", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{self.scratch}", "-o",
                      program, harness.HERE / "so_two.c", self.scratch / "one.so", self.scratch / "two.so",
                      f"-Wl,-rpath,{self.scratch}"):
            r = harness.run([program, *big, *small])
            self.checks.check(r.status == 0, "two models in one program", r)

    def loading(self):
        so = self.scratch / "load.so"
        program = self.scratch / "so_load"
        raw, answer = self.scratch / "big.raw", self.scratch / "big-reference" / "output_0.raw"
        if self.compile("big", so) and self.build(self.cc, "so_load.c builds", "-D_GNU_SOURCE", "-std=gnu11", "-Wall", "-Wextra",
                                                  "-Werror", "-O1", "-o", program, harness.HERE / "so_load.c", "-ldl", "-pthread"):
            r = harness.run([program, so, raw, raw.stat().st_size, answer.stat().st_size])
            self.checks.check(r.status == 0, "dlopen, dlclose, threads and fork", r)

    # ---- the description ----

    def info(self):
        so = self.scratch / "info.so"
        if not self.compile("pair", so, "--cpu", "x86-64-v2"):
            return
        model = load(so)
        text = model.weft_model_info()
        self.checks.equal(model.weft_model_info(), text, "info twice")
        try:
            info = json.loads(text)
        except ValueError as error:
            self.checks.check(False, "info is JSON", error)
            return
        port = lambda name, shape, layout: {"name": name, "dtype": "f32", "shape": shape, "layout": layout}
        self.checks.equal(info.pop("inputs"), [port("a", [2, 3, 4, 5], "NCHW"), port("b", [2, 4, 5, 3], "NHWC")], "inputs")
        self.checks.equal(info.pop("outputs"), [port("s", [2, 4, 5, 3], "NHWC"), port("e", [2, 1, 3, 4], "NCHW")], "outputs")
        workspace = info.pop("workspace")
        self.checks.equal(workspace, model.weft_model_workspace_size(None, 0), "workspace of info and of the function")
        self.checks.check(workspace >= 4 * 120, "the difference has its place in the workspace", workspace)
        # 24 outputs of 12 products and 12 sums each, 240 elements of add and sub.
        flops = info.pop("flops")
        self.checks.check(24 * 12 * 2 <= flops <= 24 * 13 * 2 + 1000, "flops", flops)
        version = info.pop("weft")
        self.checks.check(re.fullmatch(r"\d+\.\d+\.\d+", version), "version", version)
        self.checks.equal(info, {"abi": 1, "name": "pair", "target": "cpu", "cpu": "x86-64-v2", "dims": [], "parameters": 12},
                          "the rest of info")
        self.checks.equal(model.weft_model_abi(), 1, "abi")
        small = self.scratch / "info-small.so"
        if self.compile("small", small):
            info = json.loads(load(small).weft_model_info())
            self.checks.equal((info["inputs"][0]["layout"], info["inputs"][0]["shape"], info["parameters"]), (None, [3, 5], 0),
                              "info of a plain tensor")

    # ---- arguments ----

    def arguments(self):
        so = self.scratch / "arguments.so"
        if not self.compile("pair", so):
            return
        m = load(so)
        elements = {"a": 120, "b": 120, "s": 120, "e": 24}
        # All in one block, each at a multiple of 64, so that overlaps can be made.
        block = ctypes.create_string_buffer(64 * 1024)
        base = (ctypes.addressof(block) + 63) // 64 * 64
        at = {name: base + 1024 * k for k, name in enumerate(elements)}
        workspace = base + 8192
        for name in "a", "b":
            ctypes.memmove(at[name], (ctypes.c_float * 120)(*values(120, ord(name))), 480)

        def call(status, words, inputs=None, outputs=None, space=None, run_in=False):
            """Runs with these addresses; checks the status, and that all words are in the error text."""
            pointers = lambda list_: None if list_ is None else (ctypes.c_void_p * len(list_))(*list_)
            inputs = [at["a"], at["b"]] if inputs is None else inputs or None
            outputs = [at["s"], at["e"]] if outputs is None else outputs or None
            if run_in:
                got = m.weft_model_run_in(pointers(inputs), pointers(outputs), space)
            else:
                got = m.weft_model_run(pointers(inputs), pointers(outputs))
            text = m.weft_model_error().decode()
            what = f"arguments: {' '.join(words) or 'right'}{' (run_in)' if run_in else ''}"
            if self.checks.equal(got, status, what + ": status") and status:
                self.checks.check(all(word in text for word in words), what + ": text", text)

        self.checks.equal(m.weft_model_error(), b"", "no error yet")
        call(0, [])
        call(0, [], space=workspace, run_in=True)
        before = ctypes.string_at(at["s"], 480)
        call(2, ["inputs", "NULL"], inputs=[])
        call(2, ["outputs", "NULL"], outputs=[])
        call(2, ["input 1", "'b'", "NULL", "480"], inputs=[at["a"], None])
        call(2, ["output 0", "'s'", "NULL"], outputs=[None, at["e"]])
        call(2, ["input 0", "'a'", "4 bytes"], inputs=[at["a"] + 2, at["b"]])
        call(2, ["output 1", "'e'", "4 bytes"], outputs=[at["s"], at["e"] + 1])
        call(2, ["output 0", "'s'", "overlaps", "input 1", "'b'"], outputs=[at["b"] + 476, at["e"]])
        call(2, ["output 1", "'e'", "overlaps", "output 0", "'s'"], outputs=[at["s"], at["s"] + 476])
        call(2, ["workspace", "NULL"], run_in=True)
        call(2, ["workspace", "64"], space=workspace + 32, run_in=True)
        call(2, ["workspace", "overlaps", "'b'"], space=at["b"], run_in=True)
        call(2, ["workspace", "overlaps", "'e'"], space=at["e"] + 64, outputs=[at["s"], at["e"] + 64], run_in=True)
        self.checks.equal(ctypes.string_at(at["s"], 480), before, "outputs are untouched after a wrong argument")
        call(0, [], outputs=[at["a"] + 480, at["e"]])  # touches, does not overlap
        call(0, [], inputs=[at["a"], at["a"]])  # inputs may be the same
        self.checks.equal(m.weft_model_workspace_size(None, 1), ctypes.c_size_t(-1).value, "workspace of a dimension too many")
        a, b = ((ctypes.c_float * 120).from_address(at[name])[:] for name in ("a", "b"))
        _, a = harness.reorder([2, 3, 4, 5], a, "NCHW", "NHWC")
        call(0, [])
        got = (ctypes.c_float * 120).from_address(at["s"])[:]
        self.checks.equal(got, [x + y for x, y in zip(a, b)], "sums, exact")

    # ---- a CPU that is too old ----

    def missing_feature(self):
        _, lacking = harness.cpus(self.weft)
        for cpu in lacking[:1]:
            so = self.scratch / "lacking.so"
            if self.compile("small", so, "--cpu", cpu):
                self.refused(so, cpu, [cpu])
        if not lacking:
            print("skipped: a CPU level that this machine lacks, it has them all; the next check stands in for it")
        # The description that compiled code hands to the runtime starts with the abi, 1, and the bits of the CPU features
        # needed, 0x7f for x86-64-v3: add a bit that no CPU has.
        so = self.scratch / "future.so"
        if self.compile("small", so, "--cpu", "x86-64-v3"):
            raw = bytearray(so.read_bytes())
            start = bytes([1, 0, 0, 0, 0x7F, 0, 0, 0])
            if self.checks.equal(raw.count(start), 1, "the description is found in the .so"):
                raw[raw.index(start) + 7] = 0x80
                so.write_bytes(raw)
                self.refused(so, "a feature of the future", ["0x80000000", "x86-64-v3"])

    def refused(self, so, what, words):
        m = load(so)
        x, y = (ctypes.c_float * 15)(*values(15, 1)), (ctypes.c_float * 15)()
        pointers = ctypes.c_void_p * 1
        status = m.weft_model_run(pointers(ctypes.addressof(x)), pointers(ctypes.addressof(y)))
        self.checks.equal(status, 5, f"{what}: status of the first call")
        text = m.weft_model_error().decode()
        self.checks.check("CPU lacks" in text and all(word in text for word in words), f"{what}: text", text)
        self.checks.equal(list(y), [0.0] * 15, f"{what}: the output is untouched")
        r = harness.run([self.weft, "run", so, "--random", "1"])
        self.checks.check(r.status == 5 and "CPU lacks" in r.err, f"{what}: weft run", r)

    # ---- the same bytes ----

    def same_bytes(self):
        """Two folders, one through a relative name; another umask, language, time zone and order of threads."""
        other = self.scratch / "a folder with blanks"
        shutil.copytree(self.models, other)
        kinds = {"so": [], "obj": [], "asm": [], "llvm": [], "loops": []}
        env = {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Auckland", "LD_RUN_PATH": "/nowhere", "SOURCE_DATE_EPOCH": "1",
               "WEFT_NUM_THREADS": "1", "HOME": "/", "LD_BIND_NOW": "1", "MALLOC_PERTURB_": "85"}
        for kind in kinds:
            for cpu, layout in ("x86-64-v3", "keep"), ("x86-64-v4", "*=NCHW8c"):
                options = ["--emit", kind, "--cpu", cpu, "--layout", layout, "--prefix", "same"]
                header = ["--header", f"{kind}.h"] if kind == "so" else []
                first, second = self.scratch / f"first.{kind}", other / f"second.{kind}"
                if not self.compile("big", first, *options, *header, cwd=self.scratch):
                    continue
                before = os.umask(0o077)
                try:
                    r = harness.run([self.weft, "compile", "big.yaml", "-o", second.name, *options, *header], env=env, cwd=other)
                finally:
                    os.umask(before)
                what = f"{kind}, {cpu}, {layout}"
                if not self.checks.check(r.status == 0, f"{what}: compiled elsewhere", r):
                    continue
                # Text stages for readers hold places in the model's file.
                a, b = first.read_bytes(), second.read_bytes()
                if kind == "loops":
                    a = a.replace(str(self.models / "big.yaml").encode(), b"big.yaml")
                self.checks.check(a == b, f"{what}: the same bytes, {len(a)} of them", first_difference(a, b))
                if header:
                    self.checks.check((self.scratch / header[1]).read_bytes() == (other / header[1]).read_bytes(), f"{what}: header")


def first_difference(a, b):
    for k, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"at byte {k}: {a[max(0, k - 60):k + 60]!r}\nand {b[max(0, k - 60):k + 60]!r}"
    return f"{len(a)} bytes and {len(b)}"


def load(path):
    m = ctypes.CDLL(str(path))
    m.weft_model_info.restype = m.weft_model_error.restype = ctypes.c_char_p
    m.weft_model_workspace_size.restype = ctypes.c_size_t
    m.weft_model_workspace_size.argtypes = [ctypes.c_void_p, ctypes.c_int]
    m.weft_model_run.argtypes = [ctypes.c_void_p] * 2
    m.weft_model_run_in.argtypes = [ctypes.c_void_p] * 3
    return m


def main():
    cxx = sys.argv[3] if len(sys.argv) > 3 else ""
    cxx = shutil.which(cxx or "g++") or shutil.which("clang++-19")
    with harness.Scratch() as scratch:
        tests = Tests(sys.argv[1], sys.argv[2], cxx, scratch)
        tests.symbols()
        tests.headers()
        tests.two_models()
        tests.loading()
        tests.info()
        tests.arguments()
        tests.missing_feature()
        tests.same_bytes()
        return tests.checks.finish()


sys.exit(main())
