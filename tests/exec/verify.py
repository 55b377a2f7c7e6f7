"""`weft verify` finds nothing wrong: verify.py WEFT [few]

The example models and every model of known/, in the layouts that weft chooses, as they lie, and in two that are wished
for, their inputs random. few: each in
one layout, all in turn."""

import re
import sys

import harness

LAYOUTS = ["auto", "keep", "*=NHWC", "*=NCHW8c"]
EXAMPLES = harness.HERE.parent.parent / "docs" / "examples"


def main():
    weft = sys.argv[1]
    few = sys.argv[2:] == ["few"]
    checks = harness.Checks()
    models = sorted(EXAMPLES.glob("*/model.yaml")) + sorted((harness.HERE / "known").glob("*/model.yaml"))
    checks.check(len(models) > 40, "models to verify")
    cases = [(model, layout) for k, model in enumerate(models) for j, layout in enumerate(LAYOUTS)
             if not few or (k + j) % len(LAYOUTS) == 0]

    def case(model_and_layout):
        model, layout = model_and_layout
        r = harness.run([weft, "verify", model, "--layout", layout], timeout=300)
        name = f"{model.parent.name} --layout {layout}"
        if not checks.check(r.status == 0 and "FAILED" not in r.out, name, r):
            return
        checks.check(re.search(r"^code generation +(\d+) of \1 nests ", r.out, re.MULTILINE), f"{name}: to the end", r)

    harness.parallel(case, cases)
    return checks.finish()


sys.exit(main())
