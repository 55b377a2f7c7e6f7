"""What weft prints of whole models parses and prints as itself: roundtrip_models.py WEFT WEFT-OPT [few]

The models are those of docs/examples and, where that folder lies beside the checkout, all of ../shared/models, YAML and ONNX.
Of each: what `weft import` writes, and, compiled from that in two layouts, the text after every pass (`--dump-dir`), graphs
and loops. weft-opt with an empty pipeline must print each the same, byte for byte. A size that a model leaves open comes from its
stored inputs. A model that weft does not support is counted apart. few: docs/examples only."""

import filecmp
import hashlib
import sys

import harness
from models_at_hand import example_models, shared_models, with_shapes

LAYOUTS = ["auto", "*=NCHW8c"]
LEAST_STAGES = 12  # what the pipeline of `weft compile` writes at least
LEAST_MODELS = 4   # docs/examples


def main():
    weft, weft_opt = sys.argv[1], sys.argv[2]
    checks = harness.Checks()
    models = list(example_models())
    in_repository = len(models)
    if sys.argv[3:] != ["few"]:
        models += shared_models()
    counts = {"texts": 0, "bytes": 0}
    refused = []

    def same(text, seen, what):
        """text prints as itself; nothing to do where a stage before, whose digests are in `seen`, had the same text."""
        digest = hashlib.sha256(text.read_bytes()).digest()
        if digest not in seen:
            again = text.with_name("again")
            r = harness.run([weft_opt, text, "-o", again])
            if not (checks.check(r.status == 0, f"{what}: {text.name} parses", r) and
                    checks.check(filecmp.cmp(text, again, shallow=False), f"{what}: {text.name} prints as itself")):
                return
        seen.add(digest)
        with checks.lock:
            counts["texts"] += 1
            counts["bytes"] += text.stat().st_size

    def stages(text, layout, out, seen, what):
        r = harness.run([weft, "compile", text, "--layout", layout, "--emit", "loops", "--dump-dir", out, "-o", "/dev/null"],
                        timeout=300)
        if not checks.check(r.status == 0, f"{what}: compiled", r):
            return
        found = sorted(out.glob("[0-9]*.weft"))
        checks.check(len(found) >= LEAST_STAGES, f"{what}: {len(found)} stages were written")
        for stage in found:
            same(stage, seen, what)
            stage.unlink()

    def case(model_and_shapes):
        model, shapes = model_and_shapes
        what = f"{model.parent.name}/{model.name}"
        with harness.Scratch() as out:
            r = with_shapes([weft, "import", model, "-o", out], shapes)
            if r.status == 4:
                checks.check("not supported" in r.err, f"{what}: refused as not supported", r)
                refused.append(what)
                return
            if not checks.check(r.status == 0, f"{what}: imported", r):
                return
            text = out / f"{model.stem}.weft"
            seen = set()
            same(text, seen, what)
            for layout in LAYOUTS:
                stages(text, layout, out, seen, f"{what} {layout}")

    harness.parallel(case, models)
    print(f"{len(models)} models ({in_repository} of the repository), not supported: {', '.join(sorted(refused)) or 'none'}; "
          f"{counts['texts']} stages, {counts['bytes'] / 1e6:.0f} MB of text, print as themselves")
    checks.check(in_repository >= LEAST_MODELS, "the models of docs/examples are there")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
