"""known/*: models with the answers of an independent engine, run in memory: known.py WEFT

Every CPU level that this machine runs, in three layouts, and the reference evaluation. Tolerance: |a-b| <= 1e-6 +
1e-5*|b| (float32 sums of at most a few hundred products of numbers below 2, in another order than the answer's)."""

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
    ways = [["--cpu", cpu, "--layout", layout] for cpu in levels for layout in LAYOUTS] + [["--target", "interp"]]

    def case(folder_and_way):
        folder, way = folder_and_way
        model = folder / "model.yaml"
        args = [weft, "run", model, "--expect", folder / "y.npy", "--rtol", "1e-5", "--atol", "1e-6", *way]
        for name in input_names(model):
            args += ["--input", f"{name}={folder / name}.npy"]
        r = harness.run(args)
        checks.check(r.status == 0, f"{folder.name} {' '.join(way)}", r)

    harness.parallel(case, [(f, w) for f in folders for w in ways])
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
