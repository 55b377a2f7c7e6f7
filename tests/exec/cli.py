"""The commands as their users type them: cli.py WEFT WEFT_OPT

Help, exit statuses, what goes to stdout and what to stderr, the files that are written, and that nothing is left behind
by a command that fails."""

import json
import math
import re
import shutil
import sys

import harness

COMMANDS = ["compile", "run", "verify", "inspect", "import", "ops", "passes", "targets"]
NOT_BUILT = ["bench"]
BUG = 70

MODEL = """weft: 1
name: tiny
inputs:
  x: {dtype: f32, shape: [1, 2, 4, 5], layout: NCHW}
  y: {dtype: f32, shape: [1, 4, 5, 2], layout: NHWC}
constants:
  k: {file: k.npy, layout: IOHW}
nodes:
  - {op: conv2d_transpose, inputs: [x, k], output: t, padding: [1, 1]}
  - {op: sub, inputs: [t, y], output: d}
  - {op: relu, inputs: [d], output: r}
outputs: {r: {layout: NHWC}, d: {layout: NCHW}}
"""
DIVIDE = """weft: 1
inputs:
  a: {dtype: f32, shape: [4]}
  b: {dtype: f32, shape: [4]}
nodes:
  - {op: div, inputs: [a, b], output: q}
outputs: [q]
"""


class Tests:
    def __init__(self, weft, weft_opt, scratch):
        self.weft, self.weft_opt, self.scratch = weft, weft_opt, scratch
        self.checks = harness.Checks()
        (scratch / "tiny.yaml").write_text(MODEL)
        (scratch / "divide.yaml").write_text(DIVIDE)
        write = lambda name, shape, values, *descr: harness.npy_write(scratch / name, shape, values, *descr)
        write("k.npy", [2, 2, 3, 3], [(k * 5 % 13 - 6) / 8 for k in range(36)])
        write("x.npy", [1, 2, 4, 5], [(k * 3 % 17 - 8) / 4 for k in range(40)])
        write("y.npy", [1, 4, 5, 2], [(k * 7 % 11 - 5) / 2 for k in range(40)])
        write("double.npy", [1, 2, 4, 5], [0.5] * 40, "<f8")
        write("a.npy", [4], [1.0, -1.0, 0.0, 3.0])
        write("b.npy", [4], [0.0, 0.0, 0.0, 2.0])
        write("q.npy", [4], [math.inf, -math.inf, math.nan, 1.5])
        write("not_nan.npy", [4], [math.inf, -math.inf, 0.0, 1.5])
        write("finite.npy", [4], [1e30, -math.inf, math.nan, 1.5])
        self.files = sorted(p.name for p in scratch.iterdir())

    def run(self, *args, program=None, **how):
        r = harness.run([program or self.weft, *args], cwd=self.scratch, **how)
        self.checks.check(r.status not in (BUG, "timeout") and (not isinstance(r.status, int) or 0 <= r.status < 128),
                          f"{' '.join(map(str, args))}: ends as a command does", r)
        return r

    def left(self):
        """The files that were not there at first; removes them."""
        names = sorted({p.name for p in self.scratch.iterdir()} - set(self.files))
        for name in names:
            path = self.scratch / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return names

    def refuse(self, status, words, *args, **how):
        """The command must end with this status, all words in the first line on stderr, nothing on stdout, no file left."""
        r = self.run(*args, **how)
        what = f"{' '.join(map(str, args))}"
        self.checks.equal(r.status, status, f"{what}: status\n    {r.err[:200]}")
        first = r.err.split("\n")[0]
        missing = [word for word in words if word not in first]
        self.checks.check("error: " in first and not missing, f"{what}: first line on stderr lacks {missing}", r.err)
        self.checks.equal(r.out, "", f"{what}: stdout")
        self.checks.equal(self.left(), [], f"{what}: files left")

    def succeed(self, *args, **how):
        r = self.run(*args, **how)
        self.checks.check(r.status == 0, f"{' '.join(map(str, args))}: succeeds", r)
        return r

    # ---- help ----

    def help(self):
        for words in ["--help"], ["-h"], ["help"]:
            r = self.succeed(*words)
            self.checks.check(all(f"\n  {c} " in r.out for c in COMMANDS), f"{words} lists the commands", r)
            self.checks.check(not any(c in r.out.split() for c in NOT_BUILT), f"{words}: nothing that is not built", r)
        options = {
            "compile": "-o --emit --target --header --prefix --threads --cpu --layout --explain-layout --shape --precision --dump-dir --time-passes --check "
                       "-v",
            "verify": "--input --random --output-dir --target --cpu --layout --shape --precision",
            "run": "--input --image --random --expect --rtol --atol --output-dir --output-image --repeat --batch --target --prefix --threads "
                   "--cpu --layout --explain-layout --shape",
            "inspect": "--dot --html --target --prefix --cpu --layout --explain-layout --shape", "import": "-o --shape -v", "ops": "--markdown", "passes": "", "targets": ""}
        for command in COMMANDS:
            r = self.succeed(command, "--help")
            shown = set(re.findall(r"^  (--?[a-z-]+)", r.out, re.MULTILINE))
            self.checks.equal(sorted(set(options[command].split()) - shown), [], f"{command} --help: options not named")
            self.checks.check("--help" in shown and f"Usage: weft {command}" in r.out and not r.err, f"{command} --help", r)
            self.checks.check(not re.search(r"--(gpu|offload|profile)\b|cuda", r.out),
                              f"{command} --help: nothing that is not built", r.out)
        r = self.succeed("--help", program=self.weft_opt)
        self.checks.check("--passes" in r.out, "weft-opt --help", r)
        r = self.succeed("--version")
        self.checks.check(re.fullmatch(r"weft \d+\.\d+\.\d+\n", r.out), "--version", r)
        self.checks.check("conv2d_transpose" in self.succeed("ops").out, "ops lists conv2d_transpose")
        self.checks.check("output_padding" in self.succeed("ops", "conv2d_transpose").out, "ops describes conv2d_transpose")
        self.checks.check("fuse" in self.succeed("passes").out, "passes lists fuse")
        self.checks.check("x86-64-v3" in self.succeed("targets").out, "targets lists x86-64-v3")

    # ---- refusals ----

    def wrong_usage(self):
        compile, run = ["compile", "tiny.yaml", "-o", "out.so"], ["run", "tiny.yaml"]
        self.refuse(2, ["command is missing"])
        self.refuse(2, ["'complie'", "'compile'"], "complie")
        self.refuse(2, ["file is missing"], "compile", "-o", "out.so")
        self.refuse(2, ["file is missing"], "run")
        self.refuse(2, ["file is missing"], "inspect")
        self.refuse(2, ["too many"], *compile, "x.npy")
        self.refuse(2, ["too many"], "passes", "fuse")
        self.refuse(2, ["-o FILE"], "compile", "tiny.yaml")
        self.refuse(2, ["-o FILE"], "compile", "tiny.yaml", "--emit", "obj")
        self.refuse(2, ["-o"], "compile", "tiny.yaml", "-o", "")
        self.refuse(2, ["'--layuot'", "'--layout'"], *compile, "--layuot", "keep")
        self.refuse(2, ["'--inptu=x.npy'", "'--input'"], *run, "--inptu=x.npy")
        self.refuse(2, ["'-x'"], *compile, "-xv")
        self.refuse(2, ["'--layout'", "value"], *compile, "--layout")
        self.refuse(2, ["'-o'", "value"], "compile", "tiny.yaml", "-o")
        self.refuse(2, ["--emit elf", "so"], *compile, "--emit", "elf")
        self.refuse(2, ["--target tpu"], *compile, "--target", "tpu")
        for threads in "0", "-1", "many", "1025", "", "2x":
            self.refuse(2, ["--threads"], *compile, "--threads", threads)
        for prefix in "1a", "a-b", "", "weft_rt", "é", "p" * 200:
            self.refuse(2, ["prefix"], *compile, "--prefix", prefix)
        for wish in ("", "NHWC", "*=", "*=NQ", "*=NHW", "*=NCHW0c", "relay=NHWC", "*=NHWC},dce{", "*=A:B:C:D",
                     "?onv2d_transpose=NHWC,c?nv2d_transpose=NCHW", "conv2d_transpose=NHWC:NCHW"):
            self.refuse(2, [], *compile, "--layout", wish)
        for wish, words in (("conv2d_transpos=NHWC", ["no such op", "'conv2d_transpose'"]), ("conv2d=NHWCC", ["'C' is there twice"]),
                            ("conv2d=NHW", ["'C' is missing"]), ("conv2d=NCHX", ["not a layout"]), ("conv2d=NCHW0c", ["is 0"]),
                            ("conv2d=NCHW8d", ["'d' is none of the axes"]), ("conv2d=HWIO", ["kernel", "conv2d=:HWIO"])):
            choices = [] if "transpos" in wish else ["the letters NCHW in any order", "NCHW8c"]
            self.refuse(2, [f"layout wish '{wish}'", *words, *choices], *compile, "--layout", wish)
        for wish in "=NHWC", ",conv2d=NHWC", "conv2d=NHWC,", "conv2d=NHWC, =NHWC":
            self.refuse(2, [f"--layout {wish}:"], *compile, "--layout", wish)
        self.refuse(2, ["'x'", "f32[1,2,4,5]", "missing"], *run)
        self.refuse(2, ["'y'", "f32[1,4,5,2]", "missing"], *run, "--input", "x.npy")
        self.refuse(2, ["z=x.npy", "x, y"], *run, "--input", "z=x.npy")
        self.refuse(2, ["'x'", "twice"], *run, "--input", "x=x.npy", "--input", "x=x.npy")
        self.refuse(2, ["only 2 inputs"], *run, "--input", "x.npy", "--input", "y.npy", "--input", "x.npy")
        self.refuse(2, ["3 --expect", "2 outputs"], *run, "--random", "1", *["--expect", "x.npy"] * 3)
        for option in "--rtol", "--atol":
            for number in "-1", "nan", "inf", "", "1e-3x":
                self.refuse(2, [option], *run, option, number)
        for option, number in ("--random", "-1"), ("--random", "x"), ("--repeat", "0"), ("--repeat", "-3"):
            self.refuse(2, [option], *run, option, number)
        self.refuse(2, ["tiny.yaml", "--explain-layout", "reference"], *run, "--target", "interp", "--explain-layout")
        self.refuse(2, ["'conv2'", "'conv2d'"], "ops", "conv2")
        self.refuse(2, ["--markdown", "'relu'"], "ops", "relu", "--markdown")
        self.refuse(2, [], "-", "--passes", "fuze", program=self.weft_opt)

    def malformed(self):
        (self.scratch / "cut.npy").write_bytes((self.scratch / "x.npy").read_bytes()[:-4])
        (self.scratch / "bad.yaml").write_text("weft: 1\nnodes: [[}\n")
        (self.scratch / "bad.so").write_bytes(b"\x7fELF" + b"x" * 100)
        self.files += ["cut.npy", "bad.yaml", "bad.so"]
        for command in ["compile", "-o", "out.so"], ["run"], ["inspect"], ["verify"], ["run", "--target", "interp"]:
            self.refuse(3, ["absent.yaml"], *command, "absent.yaml")
            self.refuse(3, ["bad.yaml:2"], *command, "bad.yaml")
            self.refuse(3, [], *command, ".")
        self.refuse(3, ["bad.so"], "run", "bad.so")
        run = ["run", "tiny.yaml", "--input", "y=y.npy"]
        # The model is checked before inputs are opened.
        self.refuse(3, ["absent.yaml"], "run", "absent.yaml", "--input", "absent.npy")
        self.refuse(3, ["absent.npy"], *run, "--input", "absent.npy")
        self.refuse(3, ["y.npy", "f32[1,4,5,2]", "'x'", "f32[1,2,4,5] NCHW"], *run, "--input", "x=y.npy")
        self.refuse(3, ["double.npy", "f64[1,2,4,5]", "'x'"], *run, "--input", "double.npy")
        self.refuse(3, ["cut.npy"], *run, "--input", "cut.npy")
        self.refuse(3, ["tiny.yaml"], *run, "--input", "tiny.yaml")

    def not_built(self):
        for command in NOT_BUILT:
            self.refuse(4, [command], command, "tiny.yaml")
        compile = ["compile", "tiny.yaml", "-o", "out.so"]
        for options in [["--target", t] for t in ("cuda", "opencl", "c")] + [["--emit", e] for e in (
                "c", "cuda", "ptx", "cubin", "opencl")] + [["--precision", "bf16"], ["--shape", "N=1"],
                                                          ["--gpu", "sm_90"], ["--offload", "onednn"]]:
            self.refuse(4, options[:1], *compile, *options)
        self.refuse(4, ["--shape"], "run", "tiny.yaml", "--shape", "N=1")
        self.refuse(4, ["i860", "x86-64-v3"], *compile, "--cpu", "i860")
        (self.scratch / "model.onnx").write_bytes(b"\x08\x07\x12\x04test")
        (self.scratch / "model.pt2").write_bytes(b"PK\x03\x04" + b"\x00" * 60)
        self.files += ["model.onnx", "model.pt2"]
        self.refuse(3, ["model.onnx", "ONNX"], "compile", "model.onnx", "-o", "out.so")
        self.refuse(4, ["model.pt2"], "run", "model.pt2")
        self.refuse(4, ["x.npy"], "run", "x.npy")

    def missing(self):
        compile = ["compile", "tiny.yaml", "-o", "out.so"]
        empty = self.scratch / "empty"
        empty.mkdir()
        self.files.append("empty")
        self.refuse(5, ["linker", "ld.lld-19"], *compile, env={"PATH": ""})
        self.refuse(5, ["linker"], *compile, "--header", "out.h", env={"PATH": str(empty)})
        for kind in "so", "obj", "asm", "llvm", "graph", "loops":
            self.refuse(2, ["absent/out"], "compile", "tiny.yaml", "--emit", kind, "-o", "absent/out")
            self.refuse(2, ["tiny.yaml/out"], "compile", "tiny.yaml", "--emit", kind, "-o", "tiny.yaml/out")
            self.refuse(2, ["empty"], "compile", "tiny.yaml", "--emit", kind, "-o", "empty")
        self.refuse(2, ["absent/out.h"], *compile, "--header", "absent/out.h")
        self.refuse(2, ["absent/dump"], *compile, "--dump-dir", "absent/dump")
        # In memory no linker is needed.
        self.succeed("run", "tiny.yaml", "--random", "1", env={"PATH": str(empty)})
        # An older output stays as it was.
        (self.scratch / "out.so").write_text("old")
        self.run(*compile, env={"PATH": ""})
        self.checks.equal((self.scratch / "out.so").read_text(), "old", "an older output after a failure")
        self.left()

    # ---- results ----

    def differences(self):
        run = ["run", "divide.yaml", "--input", "a.npy", "--input", "b.npy"]
        for target in "cpu", "interp":
            r = self.succeed(*run, "--target", target, "--expect", "q.npy")
            self.checks.check(r.out.startswith("q f32[4] ") and "max abs diff" in r.out, "one line per output", r)
            for other in "not_nan.npy", "finite.npy":
                r = self.run(*run, "--target", target, "--expect", other)
                self.checks.check(r.status == 1 and "1 of 4 beyond" in r.out and r.err == "", f"{target}, {other}: differs", r)
            r = self.run(*run[:3], "b.npy", "--input", "b.npy", "--target", target, "--expect", "q.npy", "--output-dir", "out")
            self.checks.equal(r.status, 1, f"{target}: wrong numbers")
            self.checks.equal(self.left(), ["out"], "outputs are written where they differ, too")
        close = self.scratch / "close.npy"
        harness.npy_write(close, [4], [math.inf, -math.inf, math.nan, 1.501])
        self.checks.equal(self.run(*run, "--expect", close).status, 0, "within the default rtol of 1e-3")
        self.checks.equal(self.run(*run, "--expect", close, "--rtol", "0").status, 1, "beyond rtol 0")
        self.checks.equal(self.run(*run, "--expect", close, "--rtol", "0", "--atol", "0.01").status, 0, "within atol")
        self.left()

    def inputs_and_outputs(self):
        run = ["run", "tiny.yaml"]
        ways = [["--input", "x.npy", "--input", "y.npy"], ["--input", "y=y.npy", "--input", "x=x.npy"],
                ["--input", "y=y.npy", "--input", "x.npy"]]
        first = None
        for k, way in enumerate(ways):
            r = self.succeed(*run, *way, "--output-dir", f"out{k}")
            first = first or r.out
            self.checks.equal(r.out, first, f"{way}: the same numbers")
            self.checks.equal(r.err, "", f"{way}: nothing on stderr")
        lines = first.splitlines()
        self.checks.check(len(lines) == 2 and lines[0].startswith("r f32[1,4,5,2] NHWC min ") and
                          lines[1].startswith("d f32[1,2,4,5] NCHW min "), "one line per output", first)
        shape, r = harness.npy_read(self.scratch / "out0" / "output_0.npy")
        shape_d, d = harness.npy_read(self.scratch / "out0" / "output_1.npy")
        self.checks.equal((shape, shape_d), ((1, 4, 5, 2), (1, 2, 4, 5)), "shapes of the outputs")
        relu = harness.reorder([1, 2, 4, 5], [max(v, 0.0) for v in d], "NCHW", "NHWC")[1]
        self.checks.equal(list(r), relu, "output 0 is relu of output 1")
        low, high, mean = (float(re.search(word + r" (\S+)", lines[1])[1]) for word in ("min", "max", "mean"))
        self.checks.check(math.isclose(low, min(d), rel_tol=1e-5) and math.isclose(high, max(d), rel_tol=1e-5) and
                          math.isclose(mean, sum(d) / 40, rel_tol=1e-5, abs_tol=1e-6), "smallest, largest, mean", lines[1])
        self.succeed(*run, *ways[0], "--expect", "out1/output_0.npy", "--expect", "out1/output_1.npy", "--rtol", "0", "--atol", "0")
        # Random inputs: by seed, in memory, as .so and by the reference evaluation.
        self.succeed("compile", "tiny.yaml", "-o", "tiny.so", "--prefix", "some")
        a = self.succeed(*run, "--random", "7").out
        self.checks.equal(self.succeed(*run, "--random", "7", "--layout", "*=NHWC").out.split(), a.split(), "--random 7 again")
        self.checks.equal(self.succeed("run", "tiny.so", "--prefix", "some", "--random", "7").out, a, "--random 7 as .so")
        self.checks.check(self.succeed(*run, "--random", "8").out != a, "--random 8 differs")
        self.refuse_kept(3, "tiny.so", "run", "tiny.so", "--random", "7")
        self.refuse_kept(2, "tiny.so", "run", "tiny.so", "--prefix", "some", "--target", "interp", "--random", "7")
        for given in (["--layout", "*=NHWC"], ["--cpu", "x86-64-v2"], ["--dump-dir", "dump"], ["--shape", "x=1"], ["--time-passes"]):
            for command in ["run", "tiny.so", "--random", "7"], ["inspect", "tiny.so"]:
                self.refuse_kept(2, given[0], *command, "--prefix", "some", *given)
        r = self.succeed(*run, "--random", "7", "--repeat", "5", "--time-passes", "-v")
        self.checks.check(r.out.startswith("5 runs: fastest ") and r.out.endswith(a), "--repeat 5", r.out)
        self.checks.check("lower" in r.err and "total of passes" in r.err and "passes expand-composites,fold-constants" in r.err, "-v --time-passes", r)
        for what, constants in ("tiny.yaml", "144 bytes of constants"), ("tiny.so", "parameters 36"):
            r = self.succeed("inspect", what, "--prefix", "some")
            self.checks.check(all(f"{port}\n" in r.out for port in ("x f32[1,2,4,5] NCHW", "y f32[1,4,5,2] NHWC",
                                                                   "r f32[1,4,5,2] NHWC", "d f32[1,2,4,5] NCHW")),
                              f"inspect {what}: inputs and outputs in the caller's order", r)
            self.checks.check(constants in r.out, f"inspect {what}: constants", r)
        self.left()

    def layouts(self):
        """--explain-layout adds a table to stderr and changes nothing else; what it says relayouts move is what inspect
        counts that their nests read and write."""
        wish = ["--layout", "conv2d_transpose=NHWC"]
        inspected = self.succeed("inspect", "tiny.yaml", *wish, "--explain-layout")
        table = inspected.err
        nests = re.findall(r"^ +\d+ +(\d+) +(\d+) +\S+ +relayout$", inspected.out, re.MULTILINE)
        moved = re.search(r"^relayouts: (\d+), (\d+) bytes moved per run$", table, re.MULTILINE)
        self.checks.check(table.startswith("layouts of tiny.yaml:") and moved and nests, "--explain-layout: a table", inspected)
        self.checks.equal(moved and [int(n) for n in moved.groups()], [len(nests), sum(int(r) + int(w) for r, w in nests)],
                          "--explain-layout: relayouts and their bytes are those of the nests")
        self.checks.check(re.search(r"^  %t = conv2d_transpose +%x.1 NH\S*W\S*C, .* NHWC .* as wished", table, re.MULTILINE), "why: wished", table)
        for command in ["compile", "tiny.yaml", "-o", "out.so"], ["compile", "tiny.yaml", "--emit", "graph"], [
                "run", "tiny.yaml", "--random", "1"]:
            plain, explained = self.succeed(*command, *wish), self.succeed(*command, *wish, "--explain-layout")
            self.checks.equal((explained.out, explained.err), (plain.out, table), f"{command[0]} --explain-layout")
        self.refuse_kept(2, "--explain-layout", "run", "out.so", "--random", "1", "--explain-layout")
        self.refuse_kept(2, "--explain-layout", "inspect", "out.so", "--explain-layout")
        self.left()

    def refuse_kept(self, status, word, *args):
        r = self.run(*args)
        self.checks.check(r.status == status and word in r.err.split("\n")[0] and r.out == "", f"{args}: status {status}", r)

    # ---- stages ----

    def stages(self):
        for kind, start in ("graph", "weft 1 model"), ("loops", "weft 1 model"), ("llvm", "; ModuleID"), ("asm", "\t.text"):
            r = self.succeed("compile", "tiny.yaml", "--emit", kind)
            self.checks.check(r.out.startswith(start) and r.out.endswith("\n") and r.err == "", f"--emit {kind} to stdout", r)
            self.succeed("compile", "tiny.yaml", "--emit", kind, "-o", f"stage.{kind}")
            self.checks.equal((self.scratch / f"stage.{kind}").read_text(), r.out, f"--emit {kind}: file and stdout agree")
        self.succeed("compile", "tiny.yaml", "--emit", "obj", "-o", "stage.o")
        r = harness.run(["readelf", "-hs", self.scratch / "stage.o"])
        self.checks.check("REL (Relocatable file)" in r.out and "weft_model_run" in r.out, "--emit obj", r)
        tool = next((t for t in ("llvm-as-19", "opt-19", "llvm-as") if shutil.which(t)), None)
        if tool:
            out = "-o" if "as" in tool else "-disable-output"
            r = harness.run([tool, self.scratch / "stage.llvm", *([out, "/dev/null"] if out == "-o" else [out])])
            self.checks.check(r.status == 0, f"{tool} reads --emit llvm", r)
        else:
            print("skipped: reading --emit llvm, there is neither llvm-as-19 nor opt-19")
        for kind in "graph", "loops":
            (self.scratch / f"stage.{kind}").rename(self.scratch / f"{kind}.weft")
            r = self.succeed(f"{kind}.weft", program=self.weft_opt)
            self.checks.check(r.out.startswith("weft 1 model") and r.err == "", f"weft-opt reads --emit {kind}", r)
        a = self.succeed("run", "tiny.yaml", "--random", "3").out
        self.checks.equal(self.succeed("run", "graph.weft", "--random", "3").out, a, "the graph's text runs like the model")
        self.left()
        self.succeed("compile", "tiny.yaml", "-o", "out.so", "--dump-dir", "dump", "--layout", "*=NHWC")
        names = sorted(p.name for p in (self.scratch / "dump").iterdir())
        passes = [re.sub(r"^\d\d-|\.weft$", "", name) for name in names]
        self.checks.equal(passes, ["expand-composites", "fold-constants", "canonicalize", "cse", "dce", "fold-batch-norm", "infer-layout",
                                   "convert-layout", "fold-constants", "dce", "add-halos", "legalize", "fuse", "lower", "plan"],
                          "--dump-dir: one file per stage, in order")
        self.checks.equal(self.left(), ["dump", "out.so"], "compile writes what was asked for, no more")

    def standard_output(self):
        for args in (["--help"], ["--version"], ["compile", "--help"], ["ops"], ["passes"], ["targets"], ["inspect", "tiny.yaml"],
                     ["run", "tiny.yaml", "--random", "1"], ["compile", "tiny.yaml", "--emit", "llvm"],
                     ["compile", "tiny.yaml", "--emit", "graph"], ["compile", "tiny.yaml", "--emit", "llvm", "-o", "/dev/full"]):
            with open("/dev/full", "w") as full:
                r = self.run(*args, stdout=full)
            self.checks.check(r.status not in (0, 1) and "cannot write" in r.err, f"{' '.join(args)} > /dev/full", r)
        self.checks.equal(self.left(), [], "files left")


def main():
    with harness.Scratch() as scratch:
        tests = Tests(sys.argv[1], sys.argv[2], scratch)
        tests.help()
        tests.wrong_usage()
        tests.malformed()
        tests.not_built()
        tests.missing()
        tests.differences()
        tests.inputs_and_outputs()
        tests.layouts()
        tests.stages()
        tests.standard_output()
        return tests.checks.finish()


sys.exit(main())
