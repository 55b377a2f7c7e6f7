"""`--layout auto` moves no more bytes by relayouts than each op's own choice: relayouts.py WEFT [few | table]

Every model at hand is compiled (to the graph that is lowered) with `auto`, and with `greedy`, in which each op takes its own
cheapest layout and relayouts stand wherever two differ; the bytes are those that `--explain-layout` counts in the graph. table:
prints the table of docs/layout.md instead, with `keep` and two wishes. few: docs/examples only."""

import re
import sys

import harness
from models_at_hand import example_models, shared_models, with_shapes

TABLE = ["keep", "*=NHWC", "*=NCHW8c", "greedy", "auto"]


def relayouts(weft, model, shapes, layout):
    """(relayouts, bytes they read and write in a run), or a Result where the model does not compile."""
    r = with_shapes([weft, "compile", model, "--layout", layout, "--emit", "graph", "--explain-layout", "-o", "/dev/null"],
                    shapes)
    found = re.search(r"^relayouts: (\d+)(?:, (\d+) bytes moved per run)?$", r.err, re.MULTILINE)
    return (int(found[1]), int(found[2] or 0)) if r.status == 0 and found else r


def main():
    weft, how = sys.argv[1], sys.argv[2:]
    models = list(example_models()) + (list(shared_models()) if how != ["few"] else [])
    if how == ["table"]:
        print(f"| model | {' | '.join(f'`{layout}`' for layout in TABLE)} |\n|{' --- |' * (len(TABLE) + 1)}")
        for model, shapes in models:
            row = [relayouts(weft, model, shapes, layout) for layout in TABLE]
            if all(isinstance(r, tuple) for r in row):
                print(f"| {model.parent.parent.name}/{model.parent.name}/{model.name} | "
                      f"{' | '.join(f'{n}, {moved:,}' for n, moved in row)} |")
        return 0
    checks = harness.Checks()
    totals = [0, 0]

    def case(model_and_shapes):
        model, shapes = model_and_shapes
        name = f"{model.parent.name}/{model.name}"
        auto, greedy = (relayouts(weft, model, shapes, layout) for layout in ("auto", "greedy"))
        if not all(checks.check(isinstance(r, tuple), f"{name}: compiled", r) for r in (auto, greedy)):
            return
        checks.check(auto[1] <= greedy[1], f"{name}: auto moves {auto[1]} bytes, greedy {greedy[1]}")
        with checks.lock:
            totals[0] += auto[1]
            totals[1] += greedy[1]

    harness.parallel(case, models)
    print(f"{len(models)} models: auto moves {totals[0]} bytes, greedy {totals[1]}")
    checks.check(totals[0] < totals[1] or how == ["few"], "somewhere auto moves less, or this shows nothing")
    return checks.finish()


sys.exit(main())
