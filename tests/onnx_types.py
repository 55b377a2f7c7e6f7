#!/usr/bin/env python3
"""Writes tests/onnx_types.txt: which element types ONNX allows each operator that weft imports.

    python3 tests/onnx_types.py CASES > tests/onnx_types.txt

Needs the package onnx and its operator cases as ../shared/tools/onnx_node_suite.py dumps them to CASES, and reads
frontend/onnx_ops.def beside it. For every operator and every span of opsets in which it allows types of its own, one
line is a model of one node, taken from one of those cases:

    OPERATOR OPSET OUTPUTS  @attribute:kind=value..  input:TYPE:extents[=numbers]..  !NAME=types..

kind: i int, f float, s text, l list of ints. TYPE is an element type, or the NAME of a list of types behind `!`: the
operator is to be taken with each of them. Numbers are the content of an input that must be known; `-` is an omitted
input. tests/unit/test_onnx_types.c reads it.
"""

import collections
import json
import pathlib
import re
import sys

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
         **{f"{u}int{b}": f"{u or 'i'}{b}" for u in ("", "u") for b in (8, 16, 32, 64)}}
KNOWN_AT_MOST = 16  # numbers
NEWEST = 28
BY_HAND = ["GlobalLpPool 28 1 @p:i=3 x:T:1,3,5,5 !T=bf16,f16,f32,f64"]  # of which there is no case
KNOWN_FIRST = ("Range", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix")  # their first input
# Two types of one size each: written here, since each allows a list that depends on the other.
BIT_CASTS = [("f32,i32,u32", 6), ("f64,i64,u64", 7), ("f16,bf16,i16,u16", 5), ("bool,i8,u8", 3)]


def rows():
    table = collections.defaultdict(list)
    text = (ROOT / "frontend/onnx_ops.def").read_text()
    for name, since, until in re.findall(r'^(?:OP|VIA|MAP)\("(\w+)", (\d+), (\d+)', text, re.M):
        table[name].append((int(since), int(until) or NEWEST))
    return table


def cases(folder):
    found = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*/case.json")):
        info = json.loads(path.read_text())
        if info["class"] != "plain" or len(info["ops"]) != 1 or "_expanded" in path.parent.name:
            continue
        model = onnx.load(path.parent / "model.onnx")
        if readable(path.parent, model):
            found[info["ops"][0]].append((path.parent, model))
    return found


def schemas(name):
    """Newest first, each with the newest opset in which it holds."""
    all_of = sorted((s for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == ""),
                    key=lambda s: -s.since_version)
    last = NEWEST
    for s in all_of:
        if not s.deprecated:
            yield s, last
        last = s.since_version - 1


def readable(folder, model):
    """bf16 has no type of its own in numpy's files."""
    return all(np.load(folder / f"input_{k}.npy").dtype.kind in "iubf" for k in range(len(model.graph.input)))


def fits(schema, node):
    given = {a.name for a in node.attribute}
    required = {k for k, a in schema.attributes.items() if a.required}
    return (schema.min_input <= len(node.input) <= schema.max_input and given <= set(schema.attributes) and
            required <= given and all(a.type in (1, 2, 3, 7) for a in node.attribute))


def attribute(a):
    value = {1: lambda: f"f={a.f:.9g}", 2: lambda: f"i={a.i}", 3: lambda: f"s={a.s.decode()}",
             7: lambda: "l=" + ",".join(map(str, a.ints))}[a.type]()
    return f"@{a.name}:{value}"


def numbers(array, types):
    """types: a list of those that must all hold the numbers, or None for the array's own."""
    if array.size > KNOWN_AT_MOST:
        return ""
    largest = 100 if types and "i8" in types else 10000  # what all of them hold
    values = [max(-largest, min(largest, v.item())) for v in array.ravel()]
    if types or array.dtype.kind != "f":
        values = [abs(int(v)) if types and "u8" in types else int(v) for v in values]
    return "=" + ",".join(f"{v:.9g}" for v in values)


def line(schema, opset, folder, model, seen):
    """None where all types have been seen."""
    node = model.graph.node[0]
    lists = {c.type_param_str: [NAMES[t[7:-1]] for t in c.allowed_type_strs if t[7:-1] in NAMES]
             for c in schema.type_constraints}
    names = [i.name for i in model.graph.input]
    words, used = [schema.name, str(opset), str(len(node.output))] + [attribute(a) for a in node.attribute], []
    for k, name in enumerate(node.input):
        if not name:
            words.append("-")
            continue
        given = model.graph.input[names.index(name)].type.tensor_type
        extents = ",".join(str(d.dim_value) for d in given.shape.dim)
        type_name = schema.inputs[min(k, len(schema.inputs) - 1)].type_str
        if type_name in lists:
            used.append(type_name)
        else:
            type_name = NAMES[type_name[7:-1]]
        content = ""
        if k > 0 or schema.name in KNOWN_FIRST:
            content = numbers(np.load(folder / f"input_{names.index(name)}.npy"), lists.get(type_name))
        words.append(f"{name}:{type_name}:{extents}{content}")
    fresh = False
    for name in dict.fromkeys(used):
        mine = [t for t in lists[name] if (name, t) not in seen]
        fresh = fresh or mine
        words.append(f"!{name}={','.join(lists[name])}")
        seen.update((name, t) for t in mine)
    return " ".join(words) if fresh else None


def main():
    found, lines = cases(sys.argv[1]), []
    for name, spans in sorted(rows().items()):
        seen = set()
        for schema, last in schemas(name):
            opset = max((min(until, last) for since, until in spans if since <= last and until >= schema.since_version),
                        default=0)
            template = next(((d, m) for d, m in found[name] if fits(schema, m.graph.node[0])), None)
            if opset >= 1 and template and name != "BitCast":
                lines.append(line(schema, opset, *template, seen))
    for types, to in BIT_CASTS:
        lines.append(f"BitCast 26 1 @to:i={to} x:T:2,3 !T={types}")
    lines += BY_HAND
    print("# Written by tests/onnx_types.py, which says what the words are.")
    print("\n".join(sorted(x for x in lines if x)))


main()
