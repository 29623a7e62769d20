"""The forms of a picture: SVG, files, Mermaid, and text without Graphviz."""

import sys
from xml.etree import ElementTree

import pytest
from drawings import SVG, boxes, part

import numgrad
from numgrad import nn
from numgrad.viz import draw
from numgrad.viz.graph.drawing import node_mimebundle


@pytest.fixture
def drawing():
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    return draw((x * x).sum(), names={'<"x" & y>': x})


def numbers(svg):
    """Return the positions of the boxes of an SVG, in order."""
    names = ("x", "y", "width", "height")
    return [[element.find(f"{SVG}rect").get(name) for name in names] for element in part(svg, "node")]


def test_svg_is_well_formed_and_stands_alone(drawing):
    root = ElementTree.fromstring(drawing.svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'The graph of output: 2 operations and 1 leaf (<"x" & y>)'
    assert root.find(f"{SVG}title").text == root.get("aria-label")
    assert "max-width:100%" in root.get("style")
    assert [element for element in root.iter() if element.get("id") is not None] == []
    assert list(boxes(drawing.svg)) == ["output", "SumBackward0", "MulBackward0", '<"x" & y>']


def test_arrows_of_the_svg(drawing):
    paths = list(ElementTree.fromstring(drawing.svg).iter(f"{SVG}path"))
    assert len(paths) == 2 * 4  # a way and a head each: two from x, one to the sum, one to the output
    words = ["".join(text.itertext()) for text in ElementTree.fromstring(drawing.svg).findall(f"{SVG}text")]
    assert words == ["[2]"]


def test_the_same_graph_is_drawn_the_same_way(drawing):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    again = draw((x * x).sum(), names={'<"x" & y>': x})
    assert numbers(again.svg) == numbers(drawing.svg)


@pytest.mark.parametrize("direction", ["down", "up", "left", "right"])
def test_directions(direction):
    x = numgrad.tensor([1.0], requires_grad=True)
    last, first = numbers(draw(x.exp(), direction=direction).svg)[:: 2]
    across, down = float(last[0]) - float(first[0]), float(last[1]) - float(first[1])
    far = {"down": down, "up": -down, "right": across, "left": -across}[direction]
    assert far > 40
    assert abs(down if direction in ("left", "right") else across) < 40


def test_arrows_may_go_the_way_of_the_gradients():
    x = numgrad.tensor([1.0], requires_grad=True)
    y = x.exp()
    n, leaf = y.grad_fn.sequence, y.grad_fn.next_functions[0][0].sequence
    assert f"n{leaf} --> n{n}" in draw(y).mermaid
    assert f"n{n} --> n{leaf}" in draw(y, arrows="backward").mermaid
    assert "dir=back" in draw(y, arrows="backward").dot
    assert draw(y, arrows="backward").svg != draw(y).svg


# -- lighting up ------------------------------------------------------------------------------------------------------


def test_lit_boxes_leave_all_in_its_place():
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    drawing = draw(y)
    product = y.grad_fn.next_functions[0][0]
    lit = drawing.highlighted({product: "gradient\n<1, 1>", x: None})
    assert numbers(lit.svg) == numbers(drawing.svg)
    (note,) = part(lit.svg, "note")
    assert [text.text for text in note.iter(f"{SVG}text")] == ["gradient", "<1, 1>"]
    assert "note" not in drawing.svg  # which stays as it was
    assert "MulBackward0 → [2]: saved other = x [2], self = x [2]  <== gradient, <1, 1>" in lit.text
    assert lit.mermaid.count(":::lit") == 2
    assert "xlabel" in lit.dot
    assert part(lit.highlighted({}).svg, "note") == []


def test_nodes_of_a_folded_module_light_its_box():
    line = nn.Linear(1, 1)
    y = line(numgrad.ones(1, 1)).exp()
    below = y.grad_fn.next_functions[0][0]
    lit = draw(y, line, fold=0).highlighted({below: "here", line.weight: "and here"})
    (note,) = part(lit.svg, "note")
    assert [text.text for text in note.iter(f"{SVG}text")] == ["here", "and here"]


def test_only_what_was_drawn_can_be_lit(drawing):
    other = numgrad.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match=r"a tensor of shape \[3\] is not part of the graph that was drawn"):
        drawing.highlighted({other: "x"})
    with pytest.raises(ValueError, match=r"<ExpBackward0 object at .*> is not part"):
        drawing.highlighted({other.exp().grad_fn: "x"})
    with pytest.raises(TypeError, match=r"highlighted\(\) takes nodes and tensors, not str"):
        drawing.highlighted({"x": "x"})
    with pytest.raises(ValueError, match=r"part\(\): a tensor of shape \[3\] is not part"):
        drawing.part(other, 100, 100)
    with pytest.raises(TypeError, match=r"part\(\) takes nodes and tensors, not str"):
        drawing.part("x", 100, 100)
    with pytest.raises(ValueError, match="greater than 0, not 100 and 0"):
        drawing.part(other, 100, 0)


def test_the_text_of_a_deep_graph_begins_at_the_left_again():
    x = y = numgrad.ones(1, requires_grad=True)
    for _ in range(100):
        y = y * 2 + x
    lines = draw(y, max_nodes=None).text.splitlines()
    assert max(map(len, lines)) < 200
    first = [line for line in lines if line.startswith("(40) ")]
    assert first[:2] == ["(40) ├─ MulBackward0 → [1]: saved other=2", "(40) │  AddBackward0 → [1]"]
    assert first[-1] == "(40) └─ #1 x, see above"
    assert "(80) └─ #1 x, see above" in lines


def test_a_part_around_a_node():
    x = y = numgrad.tensor(1.0, requires_grad=True)
    for _ in range(10):
        y = y.sin()
    drawing = draw(y)

    def view(svg):
        root = ElementTree.fromstring(svg)
        return int(root.get("width")), int(root.get("height")), *map(int, root.get("viewBox").split())

    assert drawing.part(x, 5000, 5000) == drawing.svg  # there is room for all of it
    width, height, left, top, wide, high = view(drawing.svg)
    assert view(drawing.part(x, 5000, height - 20))[:2] == (round(width * (height - 20) / height), height - 20)
    assert view(drawing.part(x, 5000, 160))[1:] == (160, left, top, wide, 200)  # x is at the top, and 0.8 the least
    assert view(drawing.part(y, 5000, 160))[3] == top + high - 200
    assert drawing.summary in drawing.part(x, 50, 50)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [
        (".svg", b"<svg"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF"), (".dot", b"digraph"), (".gv", b"digraph"),
        (".mmd", b"flowchart TB"), (".txt", b"y [2] float32\nExpBackward0"),
    ],
)  # fmt: skip
def test_files_by_their_ending(tmp_path, ending, beginning):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    path = tmp_path / f"graph{ending}"
    draw(y, file=path)
    assert path.read_bytes().startswith(beginning)


def test_an_ending_that_is_unknown(tmp_path, drawing):
    with pytest.raises(ValueError, match=r"its name must end in .svg, .png, .pdf, .dot, .gv, .mmd or .txt"):
        drawing.save(str(tmp_path / "graph.jpg"))
    assert list(tmp_path.iterdir()) == []


def test_graphviz_reads_all_that_may_stand_in_boxes(tmp_path):
    x = numgrad.tensor([[1.0]], requires_grad=True)
    model = nn.Sequential(nn.Linear(1, 1))
    y = model(x).clamp(min=0.0).sum(dim=0, keepdim=True)
    drawing = draw(y, model, values=True, names={'a "b" \\n <i> #1': x}).highlighted({x: 'a "note" <&>\nin \tlines'})
    ElementTree.fromstring(drawing.svg)
    drawing.save(tmp_path / "graph.png")
    assert "#quot;b#quot; \\n #lt;i#gt; #35;1" in drawing.mermaid


# -- Mermaid and Jupyter ----------------------------------------------------------------------------------------------


def test_mermaid():
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    y = h.sum()
    n, h_n, x_n = [f"n{node.sequence}" for node in (y.grad_fn, h.grad_fn, h.grad_fn.next_functions[0][0])]
    lines = draw(y).mermaid.splitlines()
    assert lines[:8] == [
        "flowchart TB",
        'out0(["<b>y</b><br/>[] float32"]):::output',
        f'{n}["<b>SumBackward0</b><br/>saved self_sym_sizes=(2,)"]:::operation',
        f'{h_n}["<b>ExpBackward0</b><br/>saved result = h [2]"]:::operation',
        f'{x_n}(["<b>x</b><br/>[2] float32<br/>grad None<br/>AccumulateGrad"]):::leaf',
        f"{n} --> out0",
        f'{h_n} -->|"h [2]"| {n}',
        f"{x_n} --> {h_n}",
    ]
    assert all(line.startswith("classDef") for line in lines[8:])


def test_what_jupyter_is_given(drawing):
    bundle = drawing._repr_mimebundle_()
    assert bundle == {"image/svg+xml": drawing.svg, "text/plain": drawing.text}
    assert repr(drawing) == str(drawing) == drawing.text


def test_nodes_are_shown_as_pictures_of_what_lies_behind_them():
    x = numgrad.tensor([1.0], requires_grad=True)
    bundle = node_mimebundle(x.exp().grad_fn)
    assert list(bundle) == ["image/svg+xml"]
    assert list(boxes(bundle["image/svg+xml"])) == ["ExpBackward0", "x"]
    y = x
    for _ in range(200):
        y = y.sin()
    assert len(part(node_mimebundle(y.grad_fn)["image/svg+xml"], "node")) == 41


def test_without_graphviz(drawing, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert drawing._repr_mimebundle_() == {"text/vnd.mermaid": drawing.mermaid, "text/plain": drawing.text}
    for ending in ("svg", "png"):
        with pytest.raises(ImportError, match=r'pip install -e "\.\[notebooks\]"'):
            drawing.save(tmp_path / f"graph.{ending}")
    assert list(tmp_path.iterdir()) == []
    drawing.save(tmp_path / "graph.mmd")
    assert node_mimebundle(numgrad.ones(1, requires_grad=True).exp().grad_fn).keys() == {"text/vnd.mermaid"}
