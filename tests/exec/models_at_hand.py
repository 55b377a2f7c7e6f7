"""The models at hand: those of docs/examples and, where that folder lies beside the checkout, all of ../shared/models, YAML
and ONNX, with the shapes of their stored inputs."""

import json
import re

import harness

ROOT = harness.HERE.parent.parent


def example_models():
    """(model, shapes of its stored inputs by name)."""
    for model in sorted((ROOT / "docs" / "examples").glob("*/model.*")):
        if model.suffix in (".yaml", ".onnx"):
            yield model, {}


def shared_models():
    folder = ROOT.parent / "shared" / "models"
    if not (folder / "manifest.json").is_file():
        return
    for row in json.loads((folder / "manifest.json").read_text()):
        for name in row["files"]:
            if name.endswith((".yaml", ".onnx")):
                case = next(c for c in row["cases"] if c.get("only", name) == name and c.get("not") != name)
                yield folder / row["dir"] / name, {i.get("name"): i["shape"] for i in case["inputs"]}


def with_shapes(args, shapes):
    """Runs the command, with the stored inputs' shapes for those whose sizes the model leaves open."""
    args = list(args)
    r = harness.run(args)
    for _ in shapes:
        open_size = re.search(r"input '([^']*)' is .* is open; give it by --shape", r.err)
        if not open_size:
            break
        shape = shapes.get(open_size[1]) or next(iter(shapes.values()))
        args += ["--shape", f"{open_size[1]}={'x'.join(map(str, shape))}"]
        r = harness.run(args)
    return r
