"""Writes tests/exec/known: small models with inputs and the answers of an independent engine.

    python3 tests/exec/known_answers.py          # needs torch (CPU) and numpy

Each folder holds model.yaml, its inputs and constants as .npy in float32, and y.npy: computed by PyTorch in float64 from
those very numbers and rounded once to float32. A test runs every folder through `weft run --input x.npy --expect y.npy`
with rtol 1e-5 and atol 1e-6 (sums of at most a few hundred products of numbers around 1; tighter than the command's own
tolerances). Answers are files so that no test needs PyTorch.

What PyTorch lacks is made of what it has: asymmetric and negative padding of a convolution by padding or cropping its
input; of a transposed one by asking for no padding and cropping the full output or, beyond its last product, extending it
by zeros. Where PyTorch takes the attributes as they are, its own answer is compared with that.
"""

import pathlib
import shutil

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent / "known"
rng = np.random.default_rng(20240607)
torch.set_default_dtype(torch.float64)


def draw(*shape):
    """Multiples of 1/64 in (-2, 2): exact in float32, and short in files."""
    return (rng.integers(-127, 128, size=shape) / 64).astype(np.float32)


def wide(a):
    return torch.from_numpy(a.astype(np.float64))


def conv(x, k, b, stride, padding, dilation, groups):
    d = x.ndim - 2
    begin, end = padding[:d], padding[d:]
    x = F.pad(wide(x), [n for j in reversed(range(d)) for n in (begin[j], end[j])])
    fn = [F.conv1d, F.conv2d, F.conv3d][d - 1]
    return fn(x, wide(k), None if b is None else wide(b), stride, 0, dilation, groups)


def conv_transpose(x, k, b, stride, padding, output_padding, dilation, groups):
    d = x.ndim - 2
    begin, end = padding[:d], padding[d:]
    fn = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][d - 1]
    full = fn(wide(x), wide(k), None, stride, 0, 0, groups, dilation)
    # Without output_padding the full result ends with its last product: what lies beyond is zero.
    y = F.pad(full, [n for j in reversed(range(d)) for n in (-begin[j], output_padding[j] - end[j])])
    for j in range(d):
        want = (x.shape[j + 2] - 1) * stride[j] + dilation[j] * (k.shape[j + 2] - 1) + 1
        assert y.shape[j + 2] == want + output_padding[j] - begin[j] - end[j]
    if list(begin) == list(end) and min(begin) >= 0:
        own = fn(wide(x), wide(k), None, stride, tuple(begin), tuple(output_padding), groups, dilation)
        assert torch.allclose(own, y, rtol=1e-12, atol=1e-12)
    return y if b is None else y + wide(b).reshape([1, -1] + [1] * d)


def write(name, inputs, constants, nodes, answer, answer_layout=None):
    """inputs and constants: name -> (array, layout). answer: its axes in the order of answer_layout."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["weft: 1", f"name: {name}", "inputs:"]
    for key, (array, layout) in inputs.items():
        np.save(folder / f"{key}.npy", array)
        tail = f", layout: {layout}" if layout else ""
        lines.append(f"  {key}: {{dtype: f32, shape: {list(array.shape)}{tail}}}")
    if constants:
        lines.append("constants:")
    for key, (array, layout) in constants.items():
        np.save(folder / f"{key}.npy", array)
        tail = f", layout: {layout}" if layout else ""
        lines.append(f"  {key}: {{file: {key}.npy{tail}}}")
    lines += ["nodes:"] + [f"  - {{{node}}}" for node in nodes] 
    lines.append(f"outputs: {{y: {{layout: {answer_layout}}}}}" if answer_layout else "outputs: [y]")
    (folder / "model.yaml").write_text("\n".join(lines) + "\n")
    np.save(folder / "y.npy", answer.numpy().astype(np.float32))


SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def permuted(array, roles, layout):
    """The array with axes in the order of layout's letters."""
    return np.ascontiguousarray(array.transpose([roles.index(c) for c in layout]))


def contraction(name, x, k, *, transposed, bias=False, stride=1, padding=0, dilation=1, groups=1, output_padding=0,
                data_layout=None, kernel_layout=None):
    """x and k: logical shapes. Attributes: one number, one per axis, or (padding) begins then ends."""
    d = len(x) - 2

    def each(v, n):
        return [v] * n if isinstance(v, int) else list(v)

    stride, dilation, output_padding = each(stride, d), each(dilation, d), each(output_padding, d)
    padding = each(padding, 2 * d)
    padding = padding if len(padding) == 2 * d else padding + padding
    xa, ka = draw(*x), draw(*k)
    channels = k[1] * groups if transposed else k[0]
    ba = draw(channels) if bias else None
    if transposed:
        y = conv_transpose(xa, ka, ba, stride, padding, output_padding, dilation, groups)
    else:
        y = conv(xa, ka, ba, stride, padding, dilation, groups)
    data_roles, kernel_roles = "NC" + SPATIAL[d], ("IO" if transposed else "OI") + SPATIAL[d]
    data_layout, kernel_layout = data_layout or data_roles, kernel_layout or kernel_roles
    constants = {"k": (permuted(ka, kernel_roles, kernel_layout), kernel_layout)}
    if bias:
        constants["b"] = (ba, None)
    attrs = f"strides: {stride}, padding: {padding}, dilation: {dilation}, groups: {groups}"
    if transposed:
        attrs += f", output_padding: {output_padding}"
    op = f"conv{d}d_transpose" if transposed else f"conv{d}d"
    node = f"op: {op}, inputs: [x, k{', b' if bias else ''}], output: y, {attrs}"
    write(name, {"x": (permuted(xa, data_roles, data_layout), data_layout)}, constants, [node],
          torch.from_numpy(permuted(y.numpy(), data_roles, data_layout)), data_layout)


def elementwise(name, node, arrays, answer, layouts=None, constants=()):
    layouts = layouts or {}
    named = {key: (a, layouts.get(key, "plain" if 3 <= a.ndim <= 5 else None)) for key, a in arrays.items()}
    write(name, {k: v for k, v in named.items() if k not in constants},
          {k: v for k, v in named.items() if k in constants}, [node], answer)


def convolutions():
    c = lambda name, x, k, **kw: contraction("conv" + name, x, k, transposed=False, **kw)
    c("1d", (2, 3, 11), (4, 3, 3), padding=1)
    c("1d_dilated_groups", (1, 4, 13), (6, 2, 3), stride=2, padding=[3, 1], dilation=3, groups=2, bias=True)
    c("1d_crop", (1, 2, 12), (3, 2, 4), padding=[-2, -1])
    c("2d", (1, 3, 6, 7), (5, 3, 3, 3), padding=1, bias=True)
    c("2d_asymmetric", (2, 3, 6, 5), (4, 3, 3, 2), stride=[2, 1], padding=[0, 2, 1, 1])
    c("2d_depthwise", (1, 6, 7, 7), (6, 1, 3, 3), padding=1, groups=6, bias=True)
    c("2d_groups", (1, 6, 5, 6), (9, 2, 3, 3), stride=2, padding=1, groups=3)
    c("2d_dilated", (1, 2, 9, 9), (3, 2, 3, 3), padding=2, dilation=[2, 3])
    c("2d_stride_over_kernel", (1, 3, 9, 8), (2, 3, 2, 1), stride=[3, 4])
    c("2d_pointwise_nhwc", (1, 9, 4, 5), (11, 9, 1, 1), bias=True, data_layout="NHWC", kernel_layout="HWIO")
    c("2d_crop", (1, 2, 8, 9), (3, 2, 3, 3), stride=2, padding=[-1, 2, 1, -2])
    c("3d", (1, 2, 4, 5, 4), (3, 2, 3, 2, 3), padding=1, bias=True)
    c("3d_all", (1, 4, 6, 5, 7), (4, 2, 2, 3, 2), stride=[2, 1, 3], padding=[1, 0, 2, 0, 2, 1], dilation=[3, 2, 1], groups=2)


def transposed_convolutions():
    t = lambda name, x, k, **kw: contraction("conv" + name, x, k, transposed=True, **kw)
    t("1d_transpose", (2, 3, 5), (3, 4, 3), stride=2, padding=1)
    t("1d_transpose_output_padding", (1, 3, 5), (3, 2, 3), stride=4, padding=1, output_padding=3, bias=True)
    t("1d_transpose_dilation_over_stride", (1, 2, 6), (2, 3, 4), stride=2, dilation=5, padding=3, output_padding=4)
    t("1d_transpose_stride_over_kernel", (1, 3, 4), (3, 2, 2), stride=5, padding=[0, 1], bias=True)
    t("1d_transpose_negative", (1, 2, 4), (2, 3, 3), stride=2, padding=[-2, -3], bias=True)
    t("2d_transpose", (1, 4, 4, 5), (4, 3, 4, 4), stride=2, padding=1, bias=True)
    t("2d_transpose_same", (1, 8, 6, 6), (8, 3, 3, 3), padding=1)
    t("2d_transpose_ends", (1, 3, 4, 4), (3, 5, 3, 3), stride=2, padding=[0, 1, 1, 0])
    t("2d_transpose_kernel_is_stride", (1, 3, 3, 4), (3, 4, 2, 3), stride=[2, 3], bias=True)
    t("2d_transpose_groups", (2, 6, 3, 4), (6, 2, 3, 3), stride=2, padding=1, output_padding=1, groups=3, bias=True)
    t("2d_transpose_depthwise", (1, 9, 4, 4), (9, 1, 4, 4), stride=2, padding=1, groups=9)
    t("2d_transpose_dilated", (1, 3, 5, 4), (3, 2, 3, 3), stride=[3, 2], padding=2, dilation=2, output_padding=[2, 1])
    t("2d_transpose_common_factor", (1, 2, 4, 5), (2, 3, 3, 4), stride=[4, 6], dilation=[6, 4], padding=[3, 1, 0, 2])
    t("2d_transpose_wide_padding", (1, 3, 6, 6), (3, 2, 2, 3), padding=[3, 4, 3, 4], dilation=2)
    t("2d_transpose_nhwc", (1, 9, 4, 3), (9, 19, 3, 3), stride=2, padding=1, output_padding=1, bias=True, data_layout="NHWC",
      kernel_layout="HWOI")
    t("2d_transpose_one_pixel", (1, 12, 1, 1), (12, 5, 4, 4), bias=True)
    t("3d_transpose", (1, 2, 3, 3, 2), (2, 3, 3, 2, 3), stride=2, padding=1, bias=True)
    t("3d_transpose_all", (1, 4, 2, 3, 3), (4, 2, 3, 2, 3), stride=[2, 3, 1], padding=[1, 0, 2, 0, -1, 1],
      dilation=[3, 1, 2], output_padding=[2, 2, 1], groups=2)


def elementwise_ops():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 88, -88, 120, -120, 0.6, -0.6], np.float32)
    x = np.concatenate([draw(50) * 4, special])
    unary = [("relu", "", torch.relu), ("leaky_relu", ", alpha: 0.2", lambda v: F.leaky_relu(v, float(np.float32(0.2)))),
             ("clip", ", min: -1.5, max: 0.75", lambda v: torch.clamp(v, -1.5, 0.75)), ("tanh", "", torch.tanh),
             ("sigmoid", "", torch.sigmoid)]
    for op, attrs, fn in unary:
        elementwise(op, f"op: {op}, inputs: [x], output: y{attrs}", {"x": x}, fn(wide(x)))
    a, b = draw(2, 3, 4, 5), draw(2, 3, 4, 5)
    elementwise("add", "op: add, inputs: [x, b], output: y", {"x": a, "b": b}, wide(a) + wide(b))
    elementwise("div", "op: div, inputs: [x, b], output: y", {"x": a, "b": b}, wide(a) / wide(b))
    row = draw(5)
    elementwise("sub_rank", "op: sub, inputs: [x, b], output: y", {"x": row, "b": a}, wide(row) - wide(a))
    left, right = draw(4, 1, 5), draw(2, 1, 3, 1)
    elementwise("mul_both_stretch", "op: mul, inputs: [x, b], output: y", {"x": left, "b": right},
                wide(left) * wide(right), constants=("b",))
    slope = draw(3)
    elementwise("prelu", "op: prelu, inputs: [x, k], output: y, axis: 1", {"x": a, "k": slope}, F.prelu(wide(a), wide(slope)),
                constants=("k",))
    perm = [2, 0, 3, 1]
    elementwise("transpose", f"op: transpose, inputs: [x], output: y, perm: {perm}", {"x": a}, wide(a).permute(perm).contiguous())


def windows():
    def pool(name, node, x, answer):
        write(name, {"x": (permuted(x, "NCHW", "NHWC"), "NHWC")}, {}, [f"inputs: [x], output: y, {node}"],
              answer.permute(0, 2, 3, 1).contiguous(), "NHWC")

    x = draw(2, 5, 6, 7)
    pool("max_pool2d", "op: max_pool2d, kernel: [2, 3], strides: [2, 1], padding: [0, 1, 1, 2]", x,
         F.max_pool2d(F.pad(wide(x), (1, 2, 0, 1), value=-torch.inf), (2, 3), (2, 1)))
    pool("avg_pool2d", "op: avg_pool2d, kernel: [3, 2], strides: [2, 2], padding: [1, 1, 1, 1]", x,
         F.avg_pool2d(wide(x), (3, 2), 2, 1, count_include_pad=False))
    pool("avg_pool2d_padding", "op: avg_pool2d, kernel: [3, 3], strides: [1, 2], padding: [1, 1, 1, 1], count_include_pad: 1",
         x, F.avg_pool2d(wide(x), 3, (1, 2), 1))


def taps(extent, scale):
    """The table of linear interpolation between pixel centres: indices and weights [extent * scale, 2]."""
    at = np.clip((np.arange(extent * scale) + 0.5) / scale - 0.5, 0, extent - 1)
    base = np.floor(at).astype(np.int64)
    part = (at - base).astype(np.float32)
    return np.stack([base, np.minimum(base + 1, extent - 1)], 1), np.stack([1 - part, part], 1)


def moves():
    def move(name, nodes, arrays, constants, answer):
        write(name, {k: (v, "plain") for k, v in arrays.items()}, {k: (v, "plain" if v.ndim > 2 else None) for k, v in constants.items()}, nodes, answer)

    a, b = draw(2, 3, 4, 5), draw(2, 5, 4, 5)
    move("concat", ["op: concat, inputs: [x, b], output: y, axis: 1"], {"x": a, "b": b}, {}, torch.cat([wide(a), wide(b)], 1))
    x = draw(2, 7, 4, 6)
    move("slice", ["op: slice, inputs: [x], output: y, begins: [2, -1], ends: [7, -7], axes: [1, 3], steps: [2, -2]"], {"x": x},
         {}, wide(x)[:, 2:7:2].flip(3)[..., ::2].contiguous())
    padding = "padding: [0, 1, 2, 0, 0, 0, 1, 2]"
    move("pad", [f"op: pad, inputs: [x], output: y, {padding}, value: 0.5"], {"x": x}, {},
         F.pad(wide(x), (0, 2, 2, 1, 1, 0), value=0.5))
    for mode, name in ("reflect", "reflect"), ("edge", "replicate"):
        move(f"pad_{mode}", [f"op: pad, inputs: [x], output: y, padding: [0, 0, 2, 1, 0, 0, 1, 3], mode: {mode}"], {"x": x}, {},
             F.pad(wide(x), (1, 3, 2, 1), mode=name))
    rows, row_weights = taps(4, 2)
    columns, column_weights = taps(6, 4)
    move("resample", ["op: resample, inputs: [x, i, v], output: t, axis: 2", "op: resample, inputs: [t, j, w], output: y, axis: 3"],
         {"x": x}, {"i": rows, "v": row_weights, "j": columns, "w": column_weights},
         F.interpolate(wide(x), scale_factor=(2, 4), mode="bilinear", align_corners=False))
    nearest = (np.arange(18) // 3).astype(np.int64).reshape(18, 1)
    move("resample_nearest", ["op: resample, inputs: [x, i], output: y, axis: 3"], {"x": x}, {"i": nearest},
         F.interpolate(wide(x), scale_factor=(1, 3), mode="nearest"))
    k, m = draw(6, 7, 1, 1), draw(2, 3, 2, 2)
    move("reshape_between", ["op: conv2d, inputs: [x, k], output: t", "op: reshape, inputs: [t], output: u, shape: [2, 3, 6, 8]",
                             "op: conv2d, inputs: [u, m], output: y"], {"x": x},
         {"k": k, "m": m}, F.conv2d(F.conv2d(wide(x), wide(k)).reshape(2, 3, 6, 8), wide(m)))


def reductions():
    x, scale, bias = draw(2, 6, 4, 5), draw(6), draw(6)
    w = wide(x)

    def reduction(name, node, answer):
        elementwise(name, f"{node}, output: y", {"x": x}, answer)

    reduction("reduce_sum", "op: reduce_sum, inputs: [x], axes: [1]", w.sum(1, keepdim=True))
    reduction("reduce_mean", "op: reduce_mean, inputs: [x], axes: [2, 3], keepdims: 0", w.mean((2, 3)))
    reduction("reduce_max", "op: reduce_max, inputs: [x], axes: [0, 2]", w.amax((0, 2), keepdim=True))
    reduction("reduce_min", "op: reduce_min, inputs: [x], axes: [1], keepdims: 0", w.amin(1))
    reduction("reduce_prod", "op: reduce_prod, inputs: [x], axes: [3]", w.prod(3, keepdim=True))
    reduction("softmax", "op: softmax, inputs: [x], axis: 1", w.softmax(1))
    reduction("log_softmax", "op: log_softmax, inputs: [x], axis: -1", w.log_softmax(3))
    vectors = {"x": x, "k": scale, "b": bias}
    elementwise("instance_norm", "op: instance_norm, inputs: [x, k, b], output: y", vectors,
                F.instance_norm(w, weight=wide(scale), bias=wide(bias)), constants=("k", "b"))
    elementwise("group_norm", "op: group_norm, inputs: [x, k, b], output: y, groups: 2", vectors,
                F.group_norm(w, 2, wide(scale), wide(bias)), constants=("k", "b"))


convolutions()
transposed_convolutions()
elementwise_ops()
windows()
moves()
reductions()
files = [p for p in HERE.rglob("*") if p.is_file()]
print(f"{len(list(HERE.iterdir()))} models, {sum(p.stat().st_size for p in files)} bytes")
