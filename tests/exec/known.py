"""known/*: models with the answers of an independent engine, run in memory: known.py WEFT [few]

Every CPU level that this machine runs, in three layouts, and the reference evaluation. Tolerance: |a-b| <= 1e-6 +
1e-5*|b| (float32 sums of at most a few hundred products of numbers below 2, in another order than the answer's). few: each model in each layout on one CPU level only, all levels in turn."""

import sys

import harness

LAYOUTS = ["keep", "*=NHWC", "*=NCHW8c"]


def main():
    weft = sys.argv[1]
    checks = harness.Checks()
    folders = sorted(p.parent for p in (harness.HERE / "known").glob("*/model.yaml"))
    levels, lacking = harness.cpus(weft)
    print(f"{len(folders)} models; CPUs: {' '.join(levels)}; not on this machine: {' '.join(lacking) or 'none'}")
    checks.check(len(folders) > 0 and "x86-64-v2" in levels, "models and a CPU to run them")
    few = sys.argv[2:] == ["few"]
    cases = []
    for k, folder in enumerate(folders):
        for j, layout in enumerate(LAYOUTS):
            chosen = [levels[(k + j) % len(levels)]] if few else levels
            cases += [(folder, ["--cpu", cpu, "--layout", layout]) for cpu in chosen]
        cases.append((folder, ["--target", "interp"]))

    def case(folder_and_way):
        folder, way = folder_and_way
        model = folder / "model.yaml"
        args = [weft, "run", model, "--expect", folder / "y.npy", "--rtol", "1e-5", "--atol", "1e-6", *way]
        for name in input_names(model):
            args += ["--input", f"{name}={folder / name}.npy"]
        r = harness.run(args)
        checks.check(r.status == 0, f"{folder.name} {' '.join(way)}", r)

    harness.parallel(case, cases)
    return checks.finish()


def input_names(model):
    """The keys under `inputs:`; these files are generated, one input a line."""
    names, inside = [], False
    for line in model.read_text().splitlines():
        if line.startswith("  ") and inside:
            names.append(line.split(":")[0].strip())
        elif not line.startswith("  "):
            inside = line == "inputs:"
    return names


sys.exit(main())
