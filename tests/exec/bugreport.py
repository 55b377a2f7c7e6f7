"""The case that other compilers got wrong: a transposed convolution of a (1,32,8,8) whose kernel arrives in any order of
axes: bugreport.py WEFT

For 1, 16 and 19 output channels: the kernel file as IOHW, OIHW, HWIO, HWOI; data as NCHW and NHWC; the output as either:
48 models, each run in memory and from the .so. Then 3 and 32 input channels with blocked encodings inside.

The expected numbers are computed here, in double, by the definition as a scatter: every input pixel adds its value times
the kernel to the output. x and k are multiples of 1/64 below 1 in magnitude, so each product is exact. Tolerance: |a-b| <=
1e-5 + 1e-4*|b| (at most 288 products below 1)."""

import random
import sys

import harness

KERNELS = ["IOHW", "OIHW", "HWIO", "HWOI"]
DATA = ["NCHW", "NHWC"]
OUT_CHANNELS = [1, 16, 19]
SIZE, TAPS, PADDING = 8, 3, 1
WISHES = ["*=NHWC", "*=NCHW8c", "*=NCHW8c:OIHW8i8o", "*=NCHW16c:OIHW16i16o:NCHW4c", "conv2d_transpose=NHWC:HWOI:NCHW8c",
          "*=NCHW3c:OIHW5o3i"]


def scatter(x, k, channels, out_channels):
    """x as CHW, k as IOHW, both row-major lists; stride 1, so that the output has the input's size."""
    y = [0.0] * (out_channels * SIZE * SIZE)
    for i in range(channels):
        for h in range(SIZE):
            for w in range(SIZE):
                value = x[(i * SIZE + h) * SIZE + w]
                for o in range(out_channels):
                    for a in range(TAPS):
                        to_h = h + a - PADDING
                        if not 0 <= to_h < SIZE:
                            continue
                        for b in range(TAPS):
                            to_w = w + b - PADDING
                            if 0 <= to_w < SIZE:
                                tap = k[((i * out_channels + o) * TAPS + a) * TAPS + b]
                                y[(o * SIZE + to_h) * SIZE + to_w] += value * tap
    return y


class Case:
    """The numbers for one (channels, out_channels), and their files in every order of axes."""

    def __init__(self, folder, channels, out_channels):
        draw = random.Random(1000 * channels + out_channels)
        some = lambda n: [draw.randrange(-63, 64) / 64 for _ in range(n)]
        self.folder, self.channels, self.out_channels = folder, channels, out_channels
        x, k = some(channels * SIZE * SIZE), some(channels * out_channels * TAPS * TAPS)
        y = scatter(x, k, channels, out_channels)
        for order in DATA:
            self.write("x", "NCHW", [1, channels, SIZE, SIZE], x, order)
            self.write("y", "NCHW", [1, out_channels, SIZE, SIZE], y, order)
        for order in KERNELS:
            self.write("k", "IOHW", [channels, out_channels, TAPS, TAPS], k, order)
        self.models = {(d, k, o): self.model(d, k, o) for d in DATA for k in KERNELS for o in DATA}

    def write(self, name, source, shape, values, order):
        harness.npy_write(self.path(name, order), *harness.reorder(shape, values, source, order))

    def path(self, name, order):
        return self.folder / f"{name}.{self.channels}.{self.out_channels}.{order}.npy"

    def model(self, data, kernel, out):
        shape = [{"N": 1, "C": self.channels, "H": SIZE, "W": SIZE}[letter] for letter in data]
        path = self.folder / f"model.{self.channels}.{self.out_channels}.{data}.{kernel}.{out}.yaml"
        path.write_text(f"""weft: 1
inputs:
  x: {{dtype: f32, shape: {shape}, layout: {data}}}
constants:
  k: {{file: {self.path('k', kernel).name}, layout: {kernel}}}
nodes:
  - {{op: conv2d_transpose, inputs: [x, k], output: y, strides: [1, 1], padding: [1, 1]}}
outputs: {{y: {{layout: {out}}}}}
""")
        return path


def main():
    weft = sys.argv[1]
    checks = harness.Checks()

    def run(what, case, path, data, out, *options):
        r = harness.run([weft, "run", path, "--input", case.path("x", data), "--expect", case.path("y", out), "--rtol",
                         "1e-4", "--atol", "1e-5", *options])
        checks.check(r.status == 0, what, r)

    def all_orders(where):
        case, data, kernel, out = where
        what = f"{case.channels} to {case.out_channels} channels, data {data}, kernel {kernel}, output {out}"
        model = case.models[data, kernel, out]
        so = model.with_suffix(".so")
        run(what + ", in memory", case, model, data, out)
        r = harness.run([weft, "compile", model, "-o", so])
        if checks.check(r.status == 0, what + ", compiled", r):
            run(what + ", as .so", case, so, data, out)

    def wishes(where):
        case, data, kernel, wish, cpu = where
        what = f"{case.channels} to {case.out_channels} channels, data {data}, kernel {kernel}, {wish}, {cpu}"
        model = case.models[data, kernel, data]
        run(what, case, model, data, data, "--layout", wish, "--cpu", cpu)

    with harness.Scratch() as folder:
        cases = {(c, o): Case(folder, c, o) for c in (3, 32) for o in OUT_CHANNELS}
        harness.parallel(all_orders, [(cases[32, o], *orders) for o in OUT_CHANNELS for orders in cases[32, o].models])
        # One CPU level per wish and channels, in turn: all levels meet all wishes.
        levels, _ = harness.cpus(weft)
        kernels = {"NCHW": "OIHW", "NHWC": "HWIO"}
        crossed = [(cases[where], data, kernels[data], wish) for where in cases for data in DATA for wish in WISHES]
        turn = lambda k: levels[(k + k // len(WISHES)) % len(levels)]
        harness.parallel(wishes, [(*where, turn(k)) for k, where in enumerate(crossed)])

        case = cases[32, 16]
        plain = [weft, "run", case.models["NCHW", "IOHW", "NCHW"], "--input", case.path("x", "NCHW"), "--rtol", "1e-4"]
        r = harness.run([*plain, "--expect", case.path("x", "NCHW")])
        checks.equal(r.status, 3, "an expected file of another shape is refused")
        wrong = folder / "wrong.npy"
        shape, y = harness.npy_read(case.path("y", "NCHW"))
        y[700] += 0.01
        harness.npy_write(wrong, shape, y)
        r = harness.run([*plain, "--expect", wrong])
        checks.equal(r.status, 1, "one wrong number is seen")
    return checks.finish()


sys.exit(main())
