"""Judges the cases of the ONNX operator suite that weft gets WRONG by the suite's tolerance.

    python3 onnx_truth.py CASES LIST LOG WEFT

CASES is the dumped suite, LIST tests/onnx_rounding.txt, LOG what the suite printed; numpy and onnx are needed. A WRONG case
that LIST names is accepted where weft is nearer to the truth than the published output, or as near:

    max |weft - truth| <= max |published - truth|, the same of the mean squares,
    and |weft - truth| <= 2 ulp(truth) in every element, ulp that of the output's 16-bit type.

The truth is the case's model in float64: its types of 16 and 32 bits are made DOUBLE (inputs, initializers, constants, targets
of casts), the inputs are taken exactly, and onnx's reference evaluator runs it. Any other WRONG or FAULT is a failure. A name of
LIST whose case is not WRONG is said, to be removed. The last line is "N accepted, N failed"; exit status 1 where one failed.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

REAL = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
MAX_ULP = 2


class Bits:
    """A 16-bit type: its bits as exact float64, and the distance of its numbers around a value."""

    def __init__(self, name, fraction, least):
        self.name, self.fraction, self.least = name, fraction, least  # bits after the point, smallest normal exponent

    def exact(self, array):
        if self.name == "f16":
            return array.astype(np.float64)
        wide = array.view(np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64)

    def ulp(self, values):
        _, exponent = np.frexp(values)  # |values| in [2^(exponent-1), 2^exponent)
        normal = np.where(values == 0, self.least, np.maximum(exponent - 1, self.least))
        return np.ldexp(1.0, normal - self.fraction)


TYPES = {TensorProto.FLOAT16: Bits("f16", 10, -14), TensorProto.BFLOAT16: Bits("bf16", 7, -126)}


def widened(tensor):
    if tensor.data_type in REAL:
        array = np.asarray(numpy_helper.to_array(tensor)).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def widen_node(node):
    for a in node.attribute:
        if a.type == AttributeProto.INT and a.name in ("to", "dtype") and a.i in REAL:
            a.i = TensorProto.DOUBLE
        elif a.type == AttributeProto.TENSOR:
            widened(a.t)
        elif a.type == AttributeProto.GRAPH:
            widen_graph(a.g)
        elif node.op_type == "Constant" and a.name in ("value_float", "value_floats"):
            array = np.array(a.f if a.name == "value_float" else list(a.floats), np.float64)
            a.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(array)))


def widen_graph(graph):
    for tensor in graph.initializer:
        widened(tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type in REAL:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        widen_node(node)


def load(path, elem_type):
    """A stored array, 16-bit types and float32 as float64; numpy knows bfloat16 as two bytes."""
    array = np.load(path)
    if elem_type in TYPES:
        return TYPES[elem_type].exact(array)
    return array.astype(np.float64) if elem_type in REAL else array


def truth_of(model, case, folder):
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    feeds = {n: load(folder / f"input_{k}.npy", types[n]) for k, n in enumerate(case["inputs"])}
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen_graph(wide.graph)
    with np.errstate(invalid="ignore"):  # rows that are masked whole: -inf minus -inf, which the graph replaces
        return ReferenceEvaluator(wide).run(None, feeds)


def weft_outputs(weft, folder, case, out):
    command = [weft, "run", folder / "model.onnx", "--output-dir", out]
    for k, name in enumerate(case["inputs"]):
        command += ["--input", f"{name}={folder / f'input_{k}.npy'}"]
    subprocess.run([str(word) for word in command], check=True, timeout=60, stdout=subprocess.DEVNULL)


def judge(weft, folder):
    """(accepted, what to say) of a case, its outputs all of a 16-bit type."""
    model = onnx.load(folder / "model.onnx")
    case = json.loads((folder / "case.json").read_text())
    said, accepted = [], True
    with tempfile.TemporaryDirectory() as out:
        weft_outputs(weft, folder, case, out)
        for k, truth in enumerate(truth_of(model, case, folder)):
            elem_type = model.graph.output[k].type.tensor_type.elem_type
            if elem_type not in TYPES or truth.dtype != np.float64:
                return False, f"output {k} is of no 16-bit type"
            published = load(folder / f"output_{k}.npy", elem_type) - truth
            ours = load(pathlib.Path(out) / f"output_{k}.npy", elem_type) - truth
            largest, square = np.abs(ours).max(), np.mean(ours**2)
            ulps = (np.abs(ours) / TYPES[elem_type].ulp(truth)).max()
            accepted &= bool(largest <= np.abs(published).max() and square <= np.mean(published**2) and ulps <= MAX_ULP)
            said.append(f"largest difference {largest:.3g}, published {np.abs(published).max():.3g}; "
                        f"root mean square {square**0.5:.3g}, published {np.mean(published**2)**0.5:.3g}; "
                        f"{ulps:.2f} ulp of {TYPES[elem_type].name}")
    return accepted, " | ".join(said)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    cases, weft = pathlib.Path(sys.argv[1]), sys.argv[4]
    lines = pathlib.Path(sys.argv[2]).read_text().splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    found = re.findall(r"^(WRONG|FAULT) +(\S+): ", pathlib.Path(sys.argv[3]).read_text(), re.MULTILINE)
    wrong = [name for verdict, name in found if verdict == "WRONG"]
    accepted = failed = 0
    for verdict, name in found:
        if verdict == "FAULT" or name not in listed:
            ok, said = False, "a fault" if verdict == "FAULT" else "a difference that tests/onnx_rounding.txt does not list"
        else:
            try:
                ok, said = judge(weft, cases / name)
            except Exception as error:  # whatever keeps a case from being judged is its failure, not the run's end
                ok, said = False, f"cannot be judged: {error}"
        accepted, failed = accepted + ok, failed + (not ok)
        print(f"{'as near to the truth' if ok else 'FAILED'}: {name}: {said}")
    for name in listed:
        if name not in wrong:
            print(f"{name}: is not WRONG: remove it from tests/onnx_rounding.txt")
    print(f"{accepted} accepted, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
