"""weft inspect --dot and --html: picture.py WEFT. What is drawn is held against the graph and the numbers of `weft inspect`."""

import html.parser
import re
import shutil
import subprocess
import sys
import time

import harness

EXAMPLES = harness.HERE.parent.parent / "docs" / "examples"
VOID = {"meta"}
CHAIN = 700


class Page(html.parser.HTMLParser):
    """The elements of a page; `faults` has what does not nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.tags, self.rects, self.paths, self.texts, self.titles = [], [], set(), [], [], [], []
        self.feed(text)
        self.close()
        self.faults += self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "rect":
            self.rects.append(dict(attrs))
        if tag == "path" and "marker" not in self.open:
            self.paths.append([float(v) for v in re.findall(r"-?\d+", dict(attrs)["d"])])
        if any(name.startswith("on") for name, _ in attrs):
            self.faults.append(f"a handler in {tag}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "text":
            self.texts.append(data)
        if self.open and self.open[-1] == "title":
            self.titles.append(data)


def dot_parse(text):
    """({node: attributes}, [edge]) of what weft writes; an error where a line is something else."""
    string = r'"((?:[^"\\]|\\.)*)"'
    assert re.match(rf"digraph {string} \{{\n", text) and text.endswith("}\n"), "no digraph"
    nodes, edges = {}, []
    for line in text.splitlines()[1:-1]:
        edge = re.fullmatch(r"  (n\d+) -> (n\d+);", line)
        node = re.fullmatch(rf"  (\w+) \[((?:\w+=(?:{string}|[\w.]+) ?)+)\];", line)
        assert edge or node, line
        if edge:
            edges.append(edge.groups())
        elif node[1] != "node":
            nodes[node[1]] = {m[1]: m[2] if m[2] is not None else m[3]
                              for m in re.finditer(rf"(\w+)=(?:{string}|([\w.]+))", node[2])}
    return nodes, edges


class Pictures:
    def __init__(self, weft, scratch):
        self.weft, self.scratch, self.checks = weft, scratch, harness.Checks()

    def draw(self, model, what, *options):
        """(nodes, edges, page, what inspect says)."""
        dot, page = self.scratch / "p.dot", self.scratch / "p.html"
        r = harness.run([self.weft, "inspect", model, "--dot", dot, "--html", page, *options])
        if not self.checks.check(r.status == 0, f"{what}: drawn", r):
            return {}, [], Page(""), r.out
        if shutil.which("dot"):
            d = subprocess.run(["dot", "-Tplain", dot], capture_output=True, text=True, timeout=100)
            self.checks.check(d.returncode == 0 and not d.stderr, f"{what}: dot takes it", d.stderr)
        nodes, edges = dot_parse(dot.read_text(encoding="utf-8"))
        p = Page(page.read_text(encoding="utf-8"))
        self.checks.equal(p.faults, [], f"{what}: elements nest")
        self.checks.check(not p.tags & {"script", "link", "img", "iframe", "a"}, f"{what}: nothing but the picture", p.tags)
        self.boxes(p, what, len([n for n in nodes if n.startswith("n")]), edges)
        return nodes, edges, p, r.out

    def boxes(self, page, what, count, edges):
        """Every node has a box, no two touch, and every edge goes down."""
        boxes = [tuple(float(r[k]) for k in ("x", "y", "width", "height")) for r in page.rects]
        self.checks.equal(len(boxes), count, f"{what}: a box for each node")
        rows = {}
        for x, y, w, h in boxes:
            rows.setdefault(y, []).append((x, w))
        near = [(y, a, b) for y, row in rows.items() for a, b in zip(sorted(row), sorted(row)[1:]) if a[0] + a[1] >= b[0]]
        self.checks.equal(near, [], f"{what}: boxes apart")
        self.checks.check(len(page.paths) == len(edges) and all(p[1] < p[-1] for p in page.paths), f"{what}: edges go down")

    def example(self):
        model = EXAMPLES / "digits_gan" / "model.yaml"
        nodes, edges, page, said = self.draw(model, "digits_gan", "--layout", "*=NHWC")
        drawn = {n: a["label"].split("\\n") for n, a in nodes.items() if n.startswith("n")}
        self.checks.equal([lines[0] for lines in drawn.values()],
                          ["input", "relayout"] + 3 * ["conv2d_transpose+relu"] + ["conv2d_transpose+tanh", "output"], "its nodes")
        self.checks.equal(edges, [(f"n{k}", f"n{k + 1}") for k in range(6)], "its edges")
        relayout = nodes["n1"]
        self.checks.check("penwidth" in relayout and "color" in relayout, "the relayout stands out", relayout)
        self.checks.check(relayout["fillcolor"] != nodes["n0"]["fillcolor"] and
                          relayout["fillcolor"] == nodes["l1"]["fillcolor"], "colours are layouts")
        self.checks.equal(drawn["n1"][2:], ["f32[10,74,1,1] NHWC", "5.92 kB"], "type, letters and bytes of the relayout")
        # The numbers are those of the nests, in the order of `weft inspect`: flop, read, written, name.
        nests = [line.split() for line in said.splitlines() if re.match(r" +\d+ +\d+ +\d+ ", line)]
        for node in ("n2", "n3", "n4", "n5"):
            name = drawn[node][1]
            own = [n for n in nests if n[3] == name or n[3].startswith(name + ".")]
            flops, moved = sum(int(n[0]) for n in own), sum(int(n[1]) + int(n[2]) for n in own)
            self.checks.check(any(f"{flops} FLOP, {moved} bytes" in t and name in t for t in page.titles), f"numbers of {name}",
                              page.titles)
        self.checks.equal(len([r for r in page.rects if r.get("class") == "relayout"]), 1, "the relayout on the page")

    def onnx(self):
        nodes, _, _, said = self.draw(EXAMPLES / "fsrcnn_x3" / "model.onnx", "fsrcnn_x3", "--layout", "*=NCHW8c")
        relayouts = [n for n in nodes.values() if "penwidth" in n]
        count = re.search(r"^ +\d+ +(\d+)  relayout$", said, re.MULTILINE)
        self.checks.equal(len(relayouts), int(count[1]) if count else 0, "as many relayouts as in the graph")

    def hostile(self):
        names = ["</title><script>alert(1)</script>", "\\\"]; x -> y; \\\\", "a&amp;b", "tab\\there\\x01\\x7f", "\\xff\\xfe",
                 "x" * 5000, "\u00e9\u4e2d", "' onload='x"]
        shown = ["</title><script>alert(1)</script>", "\"]; x -> y; \\", "a&amp;b", "tab?here??", "??", "x" * 60 + "...",
                 "\u00e9\u4e2d", "' onload='x"]
        text = 'weft 1 model "</h1><script>&\\"\\\\"\nfunc @f(%x: f32[4]) -> (' + ", ".join(
            f'"{n}": f32[4]' for n in names) + ") {\n"
        for k, n in enumerate(names):
            text += f'  %"{n}" = leaky_relu(%x) {{alpha = {k + 2}.0}} : f32[4] loc("<b>\\"":{k + 1}:1 "{n}")\n'
        text += "  return " + ", ".join(f'%"{n}"' for n in names) + "\n}\n"
        (self.scratch / "hostile.weft").write_text(text, encoding="utf-8")
        nodes, _, page, _ = self.draw(self.scratch / "hostile.weft", "hostile names")
        labels = [re.sub(r"\\(.)", r"\1", a["label"].split("\\n", 1)[1].rsplit("\\nf32", 1)[0]) for n, a in nodes.items()
                  if n.startswith("n")]
        for name in shown:
            self.checks.equal(labels.count(name), 2, f"{name[:40]!r} in the labels: the op's and the output's")
            self.checks.check(any(t.split("\n")[1].startswith(name + " : f32[4]") for t in page.titles[1:]), f"{name[:40]!r} on the page",
                              page.titles)

    def long_and_wide(self):
        """A chain with a branch at every step, and a row of many."""
        lines = ["weft 1 model \"big\"", "func @f(%x: f32[2,3]) -> (y: f32[2,3]) {", "  %v0 = transpose(%x) {perm = [1, 0]} : f32[3,2]"]
        for k in range(CHAIN):
            lines.append(f"  %r{k} = reduce_sum(%v{k}) {{axes = [0]}} : f32[1,2]")
            lines.append(f"  %b{k} = broadcast(%r{k}) {{axes = [0, 1], shape = [3, 2]}} : f32[3,2]")
            lines.append(f"  %v{k + 1} = add(%v{k}, %b{k}) : f32[3,2]")
        lines += [f"  %w = transpose(%v{CHAIN}) {{perm = [1, 0]}} : f32[2,3]"]
        lines += [f"  %p{k} = reduce_sum(%w) {{axes = [1]}} : f32[2,1]" for k in range(3)]
        lines += ["  %y = concat(%p0, %p1, %p2) {axis = 1} : f32[2,3]", "  return %y", "}"]
        (self.scratch / "big.weft").write_text("\n".join(lines) + "\n")
        start = time.monotonic()
        r = harness.run([self.weft, "inspect", self.scratch / "big.weft", "--html", self.scratch / "big.html"])
        took = time.monotonic() - start
        if self.checks.check(r.status == 0, "a graph of thousands of nodes", r):
            page = Page((self.scratch / "big.html").read_text())
            self.checks.equal(page.faults, [], "its elements nest")
            self.checks.check(len(page.rects) > 3 * CHAIN - 10, f"{len(page.rects)} boxes in {took:.1f} s", r)
            self.boxes(page, "many nodes", len(page.rects), page.paths)

    def refused(self):
        model = EXAMPLES / "digits_gan" / "model.yaml"
        so = self.scratch / "m.so"
        self.checks.check(harness.run([self.weft, "compile", model, "-o", so]).status == 0, "compiled")
        for option in "--dot", "--html":
            r = harness.run([self.weft, "inspect", so, option, self.scratch / "none"])
            self.checks.check(r.status == 2 and "no graph left" in r.err, f"a shared object with {option}", r)
            r = harness.run([self.weft, "inspect", model, option, self.scratch / "absent" / "p"])
            self.checks.check(r.status != 0 and r.err.count("error:") == 1, f"{option} to a folder that is not there", r)
        (self.scratch / "kept.html").write_text("kept")
        r = harness.run([self.weft, "inspect", model, "--layout", "*=NQ", "--html", self.scratch / "kept.html"])
        self.checks.check(r.status == 2 and (self.scratch / "kept.html").read_text() == "kept", "a fault leaves the file", r)
        self.checks.equal([p.name for p in self.scratch.iterdir() if p.name.startswith(("none", ".", "absent"))], [], "files left")


def main():
    with harness.Scratch() as scratch:
        p = Pictures(sys.argv[1], scratch)
        p.example()
        p.onnx()
        p.hostile()
        p.long_and_wide()
        p.refused()
        return p.checks.finish()


if __name__ == "__main__":
    sys.exit(main())
