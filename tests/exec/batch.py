"""weft run --batch: batch.py WEFT CC. What each line gives is held against the same arguments run alone."""

import shlex
import subprocess
import sys

import harness

MODEL = "weft: 1\ninputs:\n  x: {dtype: f32, shape: [2]}\nnodes:\n  - {op: relu, inputs: [x], output: y}\noutputs: [y]\n"

# A compiled model whose run ends its process.
DEADLY = """#include <signal.h>
int weft_model_abi(void) { return 1; }
const char *weft_model_info(void) {
  return "{\\"inputs\\":[],\\"outputs\\":[{\\"name\\":\\"y\\",\\"dtype\\":\\"f32\\",\\"shape\\":[1],\\"layout\\":null}]}";
}
int weft_model_run(const void *const *inputs, void *const *outputs) { (void)inputs; (void)outputs; return raise(SIGKILL); }
const char *weft_model_error(void) { return ""; }
int weft_model_set_threads(int n) { return n; }
"""


class Batch:
    def __init__(self, weft, cc, scratch):
        self.weft, self.scratch, self.checks = weft, scratch, harness.Checks()
        (scratch / "it's a \"model\".yaml").write_text(MODEL)
        (scratch / "m.yaml").write_text(MODEL)
        (scratch / "bad.yaml").write_text(MODEL.replace("relu", "relo"))
        (scratch / "deadly.c").write_text(DEADLY)
        subprocess.run([cc, "-shared", "-fPIC", "-o", scratch / "deadly.so", scratch / "deadly.c"], check=True)
        harness.npy_write(scratch / "x.npy", [2], [-1.0, 2.0])
        harness.npy_write(scratch / "y.npy", [2], [0.0, 2.0])
        harness.npy_write(scratch / "off.npy", [2], [0.0, 2.5])

    def batch(self, text, *options, source="lines"):
        """The (status, message) of each run, and the result of the whole."""
        (self.scratch / "lines").write_bytes(text if isinstance(text, bytes) else text.encode())
        with open(self.scratch / "lines") as lines:
            p = subprocess.run([self.weft, "run", "--batch", source, *options], cwd=self.scratch, stdin=lines,
                               capture_output=True, timeout=100)
        out = p.stdout.decode(errors="replace")
        said = [tuple(line.partition(" ")[::2]) for line in out.splitlines()]
        return said, harness.Result(p.returncode, out, p.stderr.decode(errors="replace"))

    def alone(self, words):
        """The status, and the first line of what one run prints: of stdout where it compares, else of stderr."""
        r = harness.run([self.weft, "run", *words], cwd=self.scratch)
        return str(r.status), ((r.out if r.status <= 1 else r.err).splitlines() or [""])[0]

    def as_alone(self):
        lines = ["m.yaml --input x.npy --expect y.npy", "m.yaml --input x.npy --expect off.npy",
                 "m.yaml --input x.npy --expect off.npy --atol 1", "bad.yaml --random 1", "missing.yaml", "--frobnicate",
                 "m.yaml", "", "m.yaml --target cuda", "m.yaml --input x.npy --target interp --repeat 3 --expect y.npy"]
        said, r = self.batch("\n# none\n   # nor this\n".join(lines))
        expected = [self.alone(shlex.split(line)) for line in lines if line]
        self.checks.equal([status for status, _ in said], [status for status, _ in expected], "statuses of the lines")
        self.checks.equal([status for status, _ in said], ["0", "1", "0", "3", "3", "2", "2", "4", "0"], "all kinds of them")
        for got, want in list(zip(said, expected))[:-1]:  # the last one begins with a time
            self.checks.equal(got, want, "a line as its run alone")
        self.checks.equal(r.status, 4, "the largest status")

    def differing_output(self):
        (self.scratch / "two.yaml").write_text(MODEL.replace("[y]\n", "[x2, y]\n").replace(
            "outputs:", "  - {op: neg, inputs: [x], output: x2}\noutputs:"))
        harness.npy_write(self.scratch / "neg.npy", [2], [1.0, -2.0])
        said, r = self.batch("two.yaml --input x.npy --expect neg.npy --expect off.npy")
        self.checks.check(said[0][1].startswith("y f32[2] ") and "beyond rtol" in said[0][1], "the output that differs", r)
        self.checks.equal(r.status, 1, "its status")

    def crash(self):
        said, r = self.batch("m.yaml --random 1\ndeadly.so\nm.yaml --random 2\n")
        self.checks.equal([status for status, _ in said], ["0", "70", "0"], "a run that dies takes no other")
        self.checks.check(said[1][1].startswith("ended by signal 9"), "what ended it", r)
        self.checks.equal(r.status, 70, "its status")

    def quoting(self):
        name = "it's a \"model\".yaml"
        for way in (shlex.quote(name), "\"it's a \\\"model\\\".yaml\"", "it\\'s\\ a\\ \\\"model\\\".yaml",
                    "it\"'\"s' a 'model.yaml".replace("model", "'\"model\"'")):
            said, r = self.batch(f"\t{way} \t--random 1 # a comment\r\n")
            self.checks.equal([status for status, _ in said], ["0"], f"the words of {way}")
        said, r = self.batch("m.yaml --random 1#2\n''\nm.yaml '' --random 1\n")
        self.checks.equal([status for status, _ in said], ["2", "3", "2"], "no comment within a word; empty words")

    def bad_lines(self):
        lines = {b"m.yaml 'open": "lines:1:1: error: a ' has no partner", b'm.yaml "open': 'a " has no partner',
                 b"m.yaml \\": "nothing follows the last \\", b"m.yaml \0": "a byte 0",
                 b"m.yaml " + b"x" * (1 << 20): "longer than 1 MiB", b"--batch lines": "a batch holds no other",
                 b"m.yaml m.yaml": "too many arguments"}
        for line, message in lines.items():
            said, r = self.batch(line + b"\nm.yaml --random 1")
            self.checks.equal([status for status, _ in said], ["2", "0"], f"statuses around {line[:20]}")
            self.checks.check(message in said[0][1], f"what is said of {line[:20]}", r)

    def command_line(self):
        said, r = self.batch("--input x.npy --expect off.npy\n--random 1\n", "m.yaml", "--atol", "1")
        self.checks.equal([status for status, _ in said], ["0", "0"], "the command line holds for each line")
        said, r = self.batch("m.yaml --random 1\n", source="-")
        self.checks.equal([status for status, _ in said], ["0"], "standard input")
        said, r = self.batch("m.yaml\n/dev/stdin\nm.yaml --random 1\n", source="-")
        self.checks.equal([status for status, _ in said], ["2", "3", "0"], "runs do not read it")
        self.checks.equal(self.batch("\n")[1].status, 0, "no runs")
        self.checks.equal(self.batch("", source="missing")[1].status, 3, "a file that is not there")
        self.checks.equal(self.batch("", source=".")[1].status, 3, "a folder")


def main():
    with harness.Scratch() as scratch:
        b = Batch(sys.argv[1], sys.argv[2], scratch)
        b.as_alone()
        b.differing_output()
        b.crash()
        b.quoting()
        b.bad_lines()
        b.command_line()
        return b.checks.finish()


if __name__ == "__main__":
    sys.exit(main())
