"""The models under docs/examples, on the inputs and answers beside them: models.py WEFT [few]

Every CPU level that this machine runs, in five layouts: compiled to a .so, which is run with 1, 2 and 3 threads, and in
memory; all four outputs must be the same bytes. Tolerance against the answer (PyTorch, float32): |a-b| <= 1e-4 +
1e-3*|b|, outputs being about 1 in magnitude. Once more with the workspace full of signalling NaN, once without. few: each
layout on one CPU level only, all levels in turn, and the reference evaluation on the smaller model."""

import itertools
import sys

import harness

MODELS = ["digits_gan", "fsrcnn_x3"]
LAYOUTS = ["keep", "*=NHWC", "*=NCHW8c", "conv2d_transpose=NHWC:HWIO", "*=NCHW8c:OIHW8i8o"]
TOLERANCE = ["--rtol", "1e-3", "--atol", "1e-4"]


def main():
    weft = sys.argv[1]
    checks = harness.Checks()
    examples = harness.HERE.parent.parent / "docs" / "examples"
    levels, lacking = harness.cpus(weft)
    print(f"CPUs: {' '.join(levels)}; not on this machine: {' '.join(lacking) or 'none'}")
    checks.check("x86-64-v2" in levels, "a CPU to run the models")

    def run(what, folder, program, out, *options, env=None):
        """The bytes of the output, or None after a failed check."""
        r = harness.run([weft, "run", program, "--input", folder / "input_0.npy", "--expect", folder / "output_0.npy",
                         *TOLERANCE, "--output-dir", out, *options], env=env)
        if not checks.check(r.status == 0, what, r):
            return None
        return (out / "output_0.npy").read_bytes()

    def case(where):
        number, name, cpu, layout = where
        folder, what = examples / name, f"{name}, {cpu}, {layout}"
        poison = {"WEFT_POISON": str(number % 2)}
        so = scratch / f"{number}.so"
        r = harness.run([weft, "compile", folder / "model.yaml", "-o", so, "--cpu", cpu, "--layout", layout], env=poison)
        if not checks.check(r.status == 0, what + ", compiled", r):
            return
        first = None
        for threads in 1, 2, 3:
            env = {"WEFT_NUM_THREADS": str(threads)} if threads < 3 else {"WEFT_NUM_THREADS": None}
            options = ["--threads", "3"] if threads == 3 else []
            got = run(f"{what}, .so, {threads} threads", folder, so, scratch / f"{number}-{threads}", *options, env=env)
            first = first or got
            checks.check(got is not None and got == first, f"{what}, .so, {threads} threads: the same bytes")
        so.unlink()
        if cpu == levels[LAYOUTS.index(layout) % len(levels)]:
            memory = run(f"{what}, in memory", folder, folder / "model.yaml", scratch / f"{number}-memory", "--cpu", cpu,
                         "--layout", layout, "--threads", "2", env=poison)
            checks.check(memory is not None and memory == first, f"{what}, in memory: the same bytes as the .so")

    with harness.Scratch() as scratch:
        cases = list(itertools.product(MODELS, levels, LAYOUTS))
        few = sys.argv[2:] == ["few"]
        if few:
            cases = [c for c in cases if c[1] == levels[LAYOUTS.index(c[2]) % len(levels)]]
        harness.parallel(case, [(number, *where) for number, where in enumerate(cases)])
        for name in MODELS[:1] if few else MODELS:
            folder = examples / name
            run(f"{name}, reference evaluation", folder, folder / "model.yaml", scratch / name, "--target", "interp")
            run(f"{name}, from ONNX", folder, folder / "model.onnx", scratch / f"{name}-onnx")
    return checks.finish()


sys.exit(main())
