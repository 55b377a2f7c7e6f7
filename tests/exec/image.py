"""Pictures as inputs and outputs of weft run: image.py WEFT

PNG files are made and read here with zlib alone, so that what weft reads and writes is compared with another reader: all
colour types and depths, every order of axes, mean and std, resizing, and what is refused."""

import struct
import sys
import zlib

import harness

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}


def png_write(path, height, width, kind, values, bits=8, palette=None):
    """values: samples row by row. Unfiltered."""
    per_row = width * CHANNELS[kind]
    raw = b""
    for y in range(height):
        row = values[y * per_row:(y + 1) * per_row]
        number = 0
        for v in row:
            number = number << bits | v
        size = (per_row * bits + 7) // 8
        raw += b"\0" + (number << size * 8 - per_row * bits).to_bytes(size, "big")

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))
    out += chunk(b"gAMA", struct.pack(">I", 100000))  # never applied
    if palette:
        out += chunk(b"PLTE", bytes(palette))
    path.write_bytes(out + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def png_read(path):
    """Height, width, channels, samples of an 8-bit grey or RGB file."""
    data = path.read_bytes()
    at, idat = 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        if name == b"IHDR":
            width, height, bits, kind, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert bits == 8 and kind in (GREY, RGB) and not interlaced
        elif name == b"IDAT":
            idat += body
        at += 12 + n
    c = CHANNELS[kind]
    raw, rows, before = zlib.decompress(idat), [], [0] * (width * c)
    for y in range(height):
        line = list(raw[y * (width * c + 1):(y + 1) * (width * c + 1)])
        filter, line = line[0], line[1:]
        for k in range(width * c):
            left, up, corner = (line[k - c] if k >= c else 0), before[k], (before[k - c] if k >= c else 0)
            p = left + up - corner
            paeth = min((abs(p - v), i, v) for i, v in enumerate((left, up, corner)))[2]
            line[k] = (line[k] + [0, left, up, (left + up) // 2, paeth][filter]) % 256
        rows += line
        before = line
    return height, width, c, rows


H, W = 4, 5
PIXELS = [(k * 53 + k * k % 29) % 256 for k in range(H * W * 3)]  # RGB
IDENTITY = """weft: 1
inputs:
  x: {dtype: %s, shape: [%s], layout: %s}
nodes:
  - {op: add, inputs: [x, x], output: t}
  - {op: sub, inputs: [t, x], output: y}
outputs: {y: {layout: %s}}
"""


class Tests:
    def __init__(self, weft, scratch):
        self.weft, self.scratch, self.checks = weft, scratch, harness.Checks()

    def model(self, dtype, layout, extents):
        shape = ", ".join(str(extents[letter]) for letter in layout)
        text = IDENTITY % (dtype, shape, layout, layout) if len(layout) > 2 else (
            IDENTITY.replace(", layout: %s", "").replace("outputs: {y: {layout: %s}}", "outputs: [y]") % (dtype, shape))
        (self.scratch / "model.yaml").write_text(text)

    def run(self, image, *options):
        r = harness.run([self.weft, "run", "model.yaml", "--image", image, *options], cwd=self.scratch)
        out = self.scratch / "out" / "output_0.npy"
        got = None
        if "--output-dir" in options and out.exists():
            got = harness.npy_read(out)
            out.unlink()
        return r, got

    def expect(self, what, image, layout, extents, values, *options, dtype="f32", tolerance=1e-6):
        """values: N, C, H, W row by row. The model is the identity."""
        self.model(dtype, layout, extents)
        r, got = self.run(image, "--output-dir", "out", *options)
        if not self.checks.check(r.status == 0 and r.err == "" and got is not None, what, r):
            return
        shape = [extents.get(letter, 1) for letter in "NCHW"]
        full = "".join(letter for letter in "NCHW" if letter not in layout) + layout
        want = harness.reorder(shape, values, "NCHW", full)[1]
        worst = max(abs(a - b) for a, b in zip(want, got[1]))
        self.checks.check(len(want) == len(got[1]) and worst <= tolerance, what, f"largest difference {worst}")

    def refuse(self, status, words, image, *options):
        r, _ = self.run(image, *options)
        first = r.err.split("\n")[0]
        self.checks.check(r.status == status and "error: " in first and all(word in first for word in words),
                          f"--image {image} {options}: status {status}, {words}", r)

    def planes(self, order=(0, 1, 2), f=lambda v, c: v / 255):
        return [f(PIXELS[3 * k + c], i) for i, c in enumerate(order) for k in range(H * W)]

    def values(self):
        write = lambda name, *a, **k: png_write(self.scratch / name, H, W, *a, **k)
        write("rgb.png", RGB, PIXELS)
        write("grey.png", GREY, PIXELS[:H * W])
        rgb, grey = dict(N=1, C=3, H=H, W=W), dict(N=1, C=1, H=H, W=W)
        luma = [(0.299 * PIXELS[3 * k] + 0.587 * PIXELS[3 * k + 1] + 0.114 * PIXELS[3 * k + 2]) / 255 for k in range(H * W)]
        greys = [v / 255 for v in PIXELS[:H * W]]
        for layout in "NCHW", "NHWC":
            self.expect(f"RGB, {layout}", "rgb.png", layout, rgb, self.planes())
            self.expect(f"RGB to grey, {layout}", "x=rgb.png", layout, grey, luma)
            self.expect(f"grey, {layout}", "grey.png", layout, grey, greys)
            self.expect(f"grey to RGB, {layout}", "grey.png", layout, rgb, greys * 3)
            self.expect(f"BGR, {layout}", "rgb.png,order=BGR", layout, rgb, self.planes((2, 1, 0)))
            mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
            self.expect(f"mean and std, {layout}", "rgb.png,mean=0.485,0.456,0.406,std=0.229,0.224,0.225", layout, rgb,
                        self.planes(f=lambda v, c: (v / 255 - mean[c]) / std[c]), tolerance=1e-5)
            self.expect(f"one mean and std, {layout}", "rgb.png,std=0.5,mean=-0.25", layout, rgb,
                        self.planes(f=lambda v, c: (v / 255 + 0.25) / 0.5), tolerance=1e-5)
        self.expect("rank 2", "grey.png,layout=HW", "HW", dict(H=H, W=W), greys)
        self.expect("rank 2, turned", "grey.png,layout=WH", "WH", dict(H=H, W=W), greys)
        # Other kinds of PNG: 16 bits, alpha, palettes, one bit.
        write("rgb16.png", RGB, [v << 8 | 0x7f for v in PIXELS], bits=16)
        self.expect("16 bits", "rgb16.png", "NCHW", rgb, self.planes())
        write("rgba.png", RGBA, [v for k in range(H * W) for v in (*PIXELS[3 * k:3 * k + 3], k)])
        self.expect("alpha is dropped", "rgba.png", "NCHW", rgb, self.planes())
        write("ga.png", GREY_ALPHA, [v for k in range(H * W) for v in (PIXELS[k], 7)])
        self.expect("grey and alpha", "ga.png", "NCHW", grey, greys)
        write("palette.png", PALETTE, list(range(H * W)), palette=PIXELS)
        self.expect("palette", "palette.png", "NCHW", rgb, self.planes())
        bits = [PIXELS[k] & 1 for k in range(H * W)]
        write("bits.png", GREY, bits, bits=1)
        self.expect("one bit", "bits.png", "NCHW", grey, bits)
        # Sizes, height before width; more of them in tests/unit/test_image.c.
        png_write(self.scratch / "wide.png", 1, 4, GREY, [0, 80, 160, 240])
        self.expect("resized", "wide.png,size=2x8", "NCHW", dict(N=1, C=1, H=2, W=8),
                    [v / 255 for v in (0, 20, 60, 100, 140, 180, 220, 240)] * 2)

    def integers(self):
        text = IDENTITY % ("u8", f"1, 3, {H}, {W}", "NCHW", "NCHW")
        (self.scratch / "model.yaml").write_text(text)
        r, _ = self.run("rgb.png", "--output-image", "same.png")
        if self.checks.check(r.status == 0, "u8", r):
            self.checks.equal(png_read(self.scratch / "same.png"), (H, W, 3, PIXELS), "u8: the pixels themselves")

    def outputs(self):
        self.model("f32", "NHWC", dict(N=1, C=3, H=H, W=W))
        r, _ = self.run("rgb.png", "--output-image", "y=same.png")
        self.checks.check(r.status == 0 and r.err == "" and len(r.out.splitlines()) == 1, "a picture out", r)
        self.checks.equal(png_read(self.scratch / "same.png"), (H, W, 3, PIXELS), "a picture as it came")
        self.run("rgb.png,mean=0.5,std=0.5", "--output-image", "same.png,scale=127.5,offset=127.5")
        self.checks.equal(png_read(self.scratch / "same.png"), (H, W, 3, PIXELS), "scale and offset")
        self.run("rgb.png,order=BGR", "--output-image", "same.png,order=BGR")
        self.checks.equal(png_read(self.scratch / "same.png"), (H, W, 3, PIXELS), "BGR there and back")
        self.run("rgb.png", "--output-image", "same.png,scale=510,offset=-100")
        self.checks.equal(png_read(self.scratch / "same.png")[3], [min(max(2 * v - 100, 0), 255) for v in PIXELS],
                          "cut to 0..255")
        # A batch, one below the other, of a model that does not name its axes.
        (self.scratch / "model.yaml").write_text("weft: 1\ninputs:\n  x: {dtype: f32, shape: [2, 1, 2, 3], layout: plain}\n"
                                                 "nodes:\n  - {op: abs, inputs: [x], output: y}\noutputs: [y]\n")
        harness.npy_write(self.scratch / "x.npy", [2, 1, 2, 3], [k / 255 for k in range(12)])
        for option, warned in ("b.png", True), ("b.png,layout=NCHW", False):
            r = harness.run([self.weft, "run", "model.yaml", "--input", "x.npy", "--output-image", option], cwd=self.scratch)
            self.checks.check(r.status == 0 and ("taken as NCHW" in r.err) == warned, f"a batch, {option}", r)
            self.checks.equal(png_read(self.scratch / "b.png"), (4, 3, 1, list(range(12))), f"a batch, {option}")

    def refused(self):
        self.model("f32", "NCHW", dict(N=1, C=3, H=H, W=W))
        for image, words in {"rgb.png,size=4": ["size=4"], "rgb.png,size=0x5": ["size=0x5"], "rgb.png,std=0": ["std=0"],
                             "rgb.png,mean=1,2": ["one number or three"], "rgb.png,mean=a": ["mean=a"],
                             "rgb.png,mean=1,2,3,4": ["mean="], "rgb.png,order=GBR": ["order=GBR"],
                             "rgb.png,gamma=2": ["gamma", "size, mean"], "rgb.png,layout=NCH": ["layout=NCH"],
                             "rgb.png,layout=NHWC": ["layout=NHWC", "NCHW"], "z=rgb.png": ["z=rgb.png", "x"],
                             ",size=4x5": ["missing"]}.items():
            self.refuse(2, words, image)
        self.refuse(2, ["only 1 input"], "rgb.png", "--image", "grey.png")
        self.refuse(2, ["only 1 output"], "rgb.png", "--output-image", "a.png", "--output-image", "b.png")
        self.refuse(2, ["no output", "q=a.png"], "rgb.png", "--output-image", "q=a.png")
        self.refuse(2, ["absent/a.png"], "rgb.png", "--output-image", "absent/a.png")
        self.refuse(3, ["absent.png"], "absent.png")
        self.refuse(3, ["model.yaml", "PNG"], "model.yaml")
        self.refuse(3, ["wide.png", "1 x 4", "4 x 5", "size=4x5"], "wide.png")
        self.refuse(3, ["rgb.png", "2 x 2", "4 x 5"], "rgb.png,size=2x2")
        data = (self.scratch / "rgb.png").read_bytes()
        (self.scratch / "cut.png").write_bytes(data[:-20])
        self.refuse(3, ["cut.png"], "cut.png")
        (self.scratch / "bad.png").write_bytes(data[:60] + b"\0\0\0" + data[63:])
        self.refuse(3, ["bad.png"], "bad.png")
        self.model("f32", "NCHW", dict(N=2, C=3, H=H, W=W))
        self.refuse(4, ["2 pictures"], "rgb.png")
        self.model("f32", "NCHW", dict(N=1, C=4, H=H, W=W))
        self.refuse(4, ["4 channels"], "rgb.png")
        self.model("f32", "NCHW", dict(N=1, C=1, H=H, W=W))
        self.refuse(2, ["one channel"], "rgb.png,mean=1,2,3")
        (self.scratch / "model.yaml").write_text(f"weft: 1\ninputs:\n  x: {{dtype: f32, shape: [{H}, {W}]}}\n"
                                                 "nodes:\n  - {op: abs, inputs: [x], output: y}\noutputs: [y]\n")
        self.refuse(2, ["rank 2", "layout="], "grey.png")
        self.checks.check(not (self.scratch / "a.png").exists(), "refused: no picture is written")


def main():
    with harness.Scratch() as scratch:
        tests = Tests(sys.argv[1], scratch)
        tests.values()
        tests.integers()
        tests.outputs()
        tests.refused()
        return tests.checks.finish()


sys.exit(main())
