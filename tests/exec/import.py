"""weft import: the text form and its weights compute what the model does: import.py WEFT

Every example, and a model with constants of every element type and layout: the same bytes as the model itself gives, in
memory and as .so; importing twice gives the same files, and importing the text again the same text. What is refused
leaves nothing behind."""

import sys

import harness

MODEL = """weft: 1
name: typed
inputs:
  x: {dtype: f32, shape: [1, 3, 4, 5], layout: NCHW}
  h: {dtype: f16, shape: [3]}
  u: {dtype: u8, shape: [3]}
constants:
  k: {dtype: f32, shape: [2, 3, 3, 2], data: [%s], layout: HWIO}
  half: {dtype: f16, shape: [3], data: [0.5, -1.5, 65504]}
  byte: {dtype: u8, shape: [3], data: [0, 7, 255]}
nodes:
  - {op: conv2d, inputs: [x, k], output: y}
  - {op: mul, inputs: [h, half], output: g}
  - {op: add, inputs: [u, byte], output: b}
outputs: [y, g, b]
""" % ", ".join(str(k * 5 % 13 - 6) for k in range(36))


def main():
    weft = sys.argv[1]
    checks = harness.Checks()

    def outputs(scratch, name, model, *options):
        r = harness.run([weft, "run", model, "--random", "5", "--output-dir", scratch / name, *options])
        if not checks.check(r.status == 0, f"{model} runs", r):
            return None
        return [(p.name, p.read_bytes()) for p in sorted((scratch / name).iterdir())]

    def succeed(what, *args, **how):
        r = harness.run([weft, *args], **how)
        checks.check(r.status == 0 and r.out == "" and r.err == "", what, r)

    def files(folder):
        return {p.name: p.read_bytes() for p in folder.iterdir()}

    with harness.Scratch() as scratch:
        (scratch / "typed.v1.yaml").write_text(MODEL)
        examples = harness.HERE.parent.parent / "docs" / "examples"
        models = sorted(examples.glob("*/model.yaml")) + sorted(examples.glob("*/model.onnx")) + [scratch / "typed.v1.yaml"]
        checks.check(len(models) >= 3, "models to import")
        for k, model in enumerate(models):
            stem = model.name[:model.name.rindex(".")]
            first, second, third = (scratch / f"{k}-{n}" for n in (1, 2, 3))
            succeed(f"import {model}", "import", model, "-o", first)
            checks.equal(sorted(files(first)), [f"{stem}.safetensors", f"{stem}.weft"], f"{model}: the files")
            succeed(f"import {model} again", "import", model, "-o", second)
            checks.check(files(first) == files(second), f"{model}: the same bytes again")
            text = first / f"{stem}.weft"
            checks.check(str(model.parent) not in text.read_text(), f"{model}: the text does not name the folder")
            checks.check(f'file("{stem}.safetensors", ' in text.read_text() and " hex " not in text.read_text(),
                         f"{model}: constants are in the file")
            succeed(f"import {text}", "import", text, "-o", third)
            checks.check(files(first) == files(third), f"{model}: its text imported is the same")
            want = outputs(scratch, "want", model)
            checks.check(want is not None and want == outputs(scratch, "got", text), f"{model}: the same numbers")
            succeed(f"compile {text}", "compile", text, "-o", scratch / "text.so")
            checks.check(want == outputs(scratch, "so", scratch / "text.so"), f"{model}: the same numbers as .so")

        def refuse(status, words, *args):
            before = sorted(scratch.rglob("*"))
            r = harness.run([weft, "import", *args], cwd=scratch)
            first = r.err.split("\n")[0]
            checks.check(r.status == status and r.out == "" and all(word in first for word in words),
                         f"import {' '.join(map(str, args))}: status {status}, {words}", r)
            checks.equal(sorted(scratch.rglob("*")), before, f"import {args}: files left")

        text = "0-1/model.weft"
        kept = files(scratch / "0-1")
        refuse(2, ["-o DIR"], "typed.v1.yaml")
        refuse(2, ["model itself"], text, "-o", "0-1")
        refuse(2, ["absent/deep"], "typed.v1.yaml", "-o", "absent/deep")
        refuse(2, ["typed.v1.yaml"], "typed.v1.yaml", "-o", "typed.v1.yaml")
        refuse(3, ["absent.onnx"], "absent.onnx", "-o", "new")
        (scratch / "blocked").mkdir()
        (scratch / "blocked" / "typed.v1.weft").mkdir()
        refuse(2, ["typed.v1.weft"], "typed.v1.yaml", "-o", "blocked")
        (scratch / "blocked" / "typed.v1.weft").rmdir()
        (scratch / "blocked" / "typed.v1.safetensors").mkdir()
        refuse(2, ["typed.v1.safetensors"], "typed.v1.yaml", "-o", "blocked")
        (scratch / "alias.yaml").write_text(MODEL.replace("{dtype: f32, shape: [2, 3, 3, 2], data: [%s], layout: HWIO}" % MODEL.split(
            "data: [")[1].split("]")[0], "{file: alias.safetensors, tensor: k, layout: HWIO}"))
        (scratch / "alias.safetensors").write_bytes(files(scratch / f"{len(models) - 1}-1")["typed.v1.safetensors"])
        refuse(2, ["model itself"], "alias.yaml", "-o", ".")
        checks.check(kept == files(scratch / "0-1"), "a refused import leaves older files as they were")
    return checks.finish()


sys.exit(main())
