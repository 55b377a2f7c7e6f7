"""What the tests of this folder share: checks that are counted, the weft program, .npy files. Standard library only."""

import array
import ast
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
SHOWN = 20  # failures printed in full


class Checks:
    """Counts checks; finish() prints the last line and returns the exit status."""

    def __init__(self):
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def check(self, ok, what, detail=""):
        with self.lock:
            if ok:
                self.passed += 1
            else:
                self.failed += 1
                if self.failed <= SHOWN:
                    print(f"FAIL {what}")
                    for line in str(detail).splitlines()[:8]:
                        print(f"    {line[:300]}")
        return bool(ok)

    def equal(self, got, expected, what):
        return self.check(got == expected, what, f"found    {got!r}\nexpected {expected!r}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.stdout.flush()
        return 0 if self.failed == 0 and self.passed > 0 else 1


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"status {self.status}\n{self.err}{self.out}"


def run(args, env=None, cwd=None, timeout=100, stdout=subprocess.PIPE):
    """env: changes to the environment, None removes a name. A process that takes too long has status 'timeout'."""
    full = dict(os.environ)
    for key, value in (env or {}).items():
        if value is None:
            full.pop(key, None)
        else:
            full[key] = value
    try:
        p = subprocess.run([str(a) for a in args], env=full, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL,
                           stdout=stdout, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return Result("timeout", "", "")
    return Result(p.returncode, (p.stdout or b"").decode(errors="replace"), p.stderr.decode(errors="replace"))


def parallel(function, cases):
    """function(case) for all cases, two at a time: each waits for a process of its own."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(function, case) for case in cases]:
            done.result()


def cpus(weft, wanted=LEVELS):
    """Those of the CPU names that this machine runs, as `weft targets` says, and those that it lacks something for."""
    here, lacking = [], []
    for line in run([weft, "targets"]).out.splitlines():
        words = line.split()
        if words and words[0] in wanted:
            (lacking if "not on this machine" in line else here).append(words[0])
    return here, lacking


class Scratch:
    """A folder for the time of a `with`."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="weft-exec-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


# ---- .npy ----

TYPES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q"}


def npy_write(path, shape, values, descr="<f4"):
    data = array.array(TYPES[descr], values)
    assert sys.byteorder == "little"
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data.tobytes())


def npy_read(path):
    """(shape, values) of a little-endian array in C order."""
    raw = pathlib.Path(path).read_bytes()
    assert raw[:8] == b"\x93NUMPY\x01\x00", path
    n = int.from_bytes(raw[8:10], "little")
    header = ast.literal_eval(raw[10:10 + n].decode())
    assert not header["fortran_order"], path
    data = array.array(TYPES[header["descr"]])
    data.frombytes(raw[10 + n:])
    return header["shape"], data


def permuted(shape, values, order):
    """A row-major array with its axes in another order: axis k of the result is axis order[k] of the argument."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    at = [0]
    for axis in order:
        at = [base + i * strides[axis] for base in at for i in range(shape[axis])]
    return [shape[axis] for axis in order], [values[i] for i in at]


def reorder(shape, values, source, target):
    """The same with letters: from NCHW to NHWC, say."""
    return permuted(shape, values, [source.index(letter) for letter in target])
