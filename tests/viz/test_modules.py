"""Attribution of nodes to the modules whose calls recorded them, and the folding of modules in a picture."""

import pytest
from drawings import SVG, boxes, part

import numgrad
from numgrad import nn
from numgrad.viz import draw
from numgrad.viz.rendering.graphviz import caption_size


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.layers(self.norm(x))


class Model(nn.Module):
    """A small model of language: an embedding that is also the output layer, and blocks in a list."""

    def __init__(self, depth, width=4, vocabulary=8):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, indices):
        x = self.embedding(indices)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def captions(drawing):
    return ["".join(group.find(f"{SVG}text").itertext()) for group in part(drawing.svg, "group")]


def folded(drawing):
    return [title for title, (category, _) in boxes(drawing.svg).items() if category == "module"]


def small():
    model = nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1))
    return model, model(numgrad.ones(3, 1))


def test_calls_are_frames_around_what_they_recorded():
    model, y = small()
    drawing = draw(y.sum(), model)
    assert captions(drawing) == ["model Sequential", "0 Linear", "1 Tanh", "2 Linear"]
    assert folded(drawing) == []
    assert 'subgraph m' in drawing.mermaid
    assert captions(draw(y.sum())) == []  # no module was given


@pytest.mark.parametrize("direction", ["down", "up", "right"])
def test_no_arrow_crosses_the_title_of_a_call(direction):
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    drawing = draw(layer(numgrad.ones(2, 3, 8)).sum(), layer, fold=None, max_nodes=None, direction=direction)
    layout = drawing._layout
    for group in drawing.picture.groups:
        left, middle = layout.captions[group.key]
        width, height = caption_size(group)
        for curve in layout.curves:
            crossings = curve.places_near(middle, height / 2)
            assert not any(left < x < left + width - 6 for x in crossings), group.caption


def test_calls_with_hooks_are_known_too():
    model, _ = small()
    model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    model[2].register_full_backward_hook(lambda *arguments: None)
    text = draw(model(numgrad.ones(3, 1)), model, fold=1).text
    assert "0 → [3, 2]: Linear, 3 operations" in text  # with the product that the hook recorded
    assert "2: Linear" in text


def test_folding_to_a_depth():
    model = Model(2)
    loss = model(numgrad.tensor([[1, 2, 3]])).sum()
    assert folded(draw(loss, model, fold=0)) == ["model"]
    assert folded(draw(loss, model, fold=1)) == ["head", "blocks.1", "blocks.0", "embedding"]
    drawing = draw(loss, model, fold=2)
    assert captions(drawing) == ["model Model", "blocks.0 Block", "blocks.1 Block"]
    assert folded(drawing) == ["head", "layers", "norm", "embedding"]  # those of the blocks have the same names


def test_folding_by_name():
    model = Model(2)
    loss = model(numgrad.tensor([[1, 2, 3]])).sum()
    assert folded(draw(loss, model, fold="blocks.1")) == ["blocks.1"]
    assert folded(draw(loss, model, fold=["blocks.*", "head"])) == ["head", "blocks.1", "blocks.0"]


def test_what_a_folded_module_says():
    model = Model(1)
    indices = numgrad.tensor([[1, 2, 3]])
    loss = model(indices).sum()
    found = boxes(draw(loss, model, fold=1).svg)
    assert found["blocks.0"] == ("module", ["Block", "11 operations", "6 parameters, 48 elements"])
    assert found["embedding.weight"][0] == "leaf"  # two modules use it
    assert found["indices"] == ("data", ["[1, 3] int64", "no gradient"])
    loss.backward()
    assert boxes(draw(loss, model, fold=1).svg)["blocks.0"][1][-2:] == ["all have a gradient", "all freed"]


def test_large_graphs_are_folded_as_far_as_they_must():
    indices = numgrad.tensor([[1, 2, 3]])
    model = Model(3)
    assert folded(draw(model(indices), model)) != []
    assert folded(draw(model(indices), model, fold=None)) == []
    deep = Model(16)
    drawing = draw(deep(indices), deep)
    assert folded(drawing) == ["head", *[f"blocks.{n}" for n in reversed(range(16))], "embedding"]
    assert len(boxes(drawing.svg)) < 40


def test_calls_of_the_same_module_are_numbered():
    line = nn.Linear(2, 2)
    y = line(line(numgrad.ones(1, 2)))
    assert captions(draw(y, line)) == ["line (call 1) Linear", "line (call 2) Linear"]
    y = line(numgrad.ones(1, 2))
    assert captions(draw(y, line)) == ["line Linear"]  # the calls of other graphs do not count


def test_calls_that_are_forgotten():
    model, y = small()
    other = nn.Identity()
    for _ in range(4096):
        other(1)
    assert captions(draw(y, model)) == []


def test_a_call_that_failed_leaves_nothing():
    class Failing(nn.Module):
        def forward(self, x):
            self.kept = x.exp()
            raise ValueError("on purpose")

    failing = Failing()
    with pytest.raises(ValueError, match="on purpose"):
        failing(numgrad.ones(1, requires_grad=True))
    assert draw(failing.kept, failing).text.splitlines()[1].startswith("ExpBackward0")


@pytest.mark.parametrize(
    ("fold", "error", "message"),
    [
        (-1, ValueError, "fold must be a depth of at least 0, not -1"),
        ("nothing", ValueError, "Sequential has no module 'nothing'; it has 0, 1, 2"),
        ([1, 2], TypeError, r"fold must be .* names of modules, not \[1, 2\]"),
        (1.5, TypeError, "fold must be .*, not 1.5"),
    ],
)
def test_folds_that_are_refused(fold, error, message):
    model, y = small()
    with pytest.raises(error, match=message):
        draw(y, model, fold=fold)


def test_folding_needs_a_module():
    with pytest.raises(ValueError, match=r"fold=1 needs the module to fold by: draw\(tensor, module, fold=...\)"):
        draw(numgrad.ones(1, requires_grad=True), fold=1)
