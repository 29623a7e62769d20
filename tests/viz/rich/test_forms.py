"""Sizes, modules, optimizers, profiles and explanations in notebooks."""

import pytest
from html_pages import Page, page_of

import numgrad
from numgrad import nn
from numgrad.autograd.profiler import profile
from numgrad.core.display import number_of_bytes
from numgrad.viz.html import Html, element, table


def test_what_is_not_html_is_escaped():
    assert element("b", "a < b", Html("<i>c</i>"), class_='"') == '<b class="&quot;">a &lt; b<i>c</i></b>'
    assert Page(table([["<x>", "&"]], ["<td"])).rows() == [["<td"], ["<x>", "&"]]


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (9640, "9.64 kB"), (2.5e6, "2.5 MB"), (3e12, "3e+03 GB")]
)
def test_bytes(size, text):
    assert number_of_bytes(size) == text


def test_sizes():
    assert page_of(numgrad.Size([2, 3])).text == "torch.Size([2, 3]) 6 elements"
    assert page_of(numgrad.Size([])).text == "torch.Size([]) 1 element"


class Network(nn.Module):
    def __init__(self, name="<script>"):
        super().__init__()
        self.scale = nn.Parameter(numgrad.ones(2))
        self.register_buffer("mask", numgrad.ones(3, dtype=numgrad.bool))
        self.body = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        self.again = self.body[0]
        self.nothing = None
        self.register_module("empty", None)
        self.name = name

    def extra_repr(self):
        return f"name={self.name},\ndepth=2"


def test_a_module_is_a_tree_with_its_parameters():
    network = Network()
    network.scale.requires_grad_(False)
    page = page_of(network.eval())
    assert page.all("summary")[0] == (
        "Network(name=<script>, depth=2) 17 parameters, 15 of them to be learnt, 68 bytes, in evaluation mode"
    )
    assert page.rows()[:2] == [["scale", "[2]", "float32", "requires_grad=False"], ["mask", "[3]", "bool", "buffer"]]
    linear = "Linear(in_features=4, out_features=3, bias=True) 15 parameters"
    assert page.all("summary")[1:] == ["body: Sequential 15 parameters", f"0: {linear}", f"again: {linear}"]
    assert "1: ReLU" in page.all("div")
    opened = [text.partition(" ")[0] for name, given, text in page.elements if name == "details" and "open" in given]
    assert [text.partition(":")[0] for text in opened] == ["body", "Network(name=<script>,"]


def test_a_module_without_parameters_is_its_text():
    assert page_of(nn.ReLU()).text == "ReLU"
    assert page_of(nn.Dropout(0.2)).text == "Dropout(p=0.2, inplace=False)"


def test_a_large_module_is_folded_and_cut():
    page = page_of(nn.Sequential(*[nn.Sequential(nn.Identity()) for _ in range(1500)]))
    assert len(page.all("summary")) == 1001
    assert sum("open" in given for name, given, _ in page.elements if name == "details") == 1
    assert page.text.endswith("the first 2,000 of 3,001 modules")


def test_a_module_with_a_text_of_its_own_keeps_it():
    class Own(nn.Module):
        def __repr__(self):
            return "mine"

    assert Own()._repr_html_() is None


def test_an_optimizer_is_a_table_of_its_options():
    groups = [{"params": [numgrad.ones(2, 3, requires_grad=True)]}, {"params": [numgrad.ones(4)], "lr": 0.5}]
    page = page_of(numgrad.optim.SGD(groups, lr=0.1))
    rows = {row[0]: row[1:] for row in page.rows()}
    assert rows[""] == ["group 0", "group 1"]
    assert rows["parameters"] == ["1 tensor of 6 elements", "1 tensor of 4 elements"]
    assert rows["lr"] == ["0.1", "0.5"]
    assert page.all("b") == ["SGD"]


def test_an_explanation_is_a_table_of_its_topics():
    explanation = numgrad.explain(numgrad.ones(2, requires_grad=True) * 2)
    page = page_of(explanation)
    assert page.all("p") == [explanation.summary]
    assert page.rows() == [list(item) for item in explanation.topics.items()]


@pytest.fixture(scope="module")
def profiled():
    x = numgrad.ones(2, 2, requires_grad=True)
    with profile(record_shapes=True) as prof:
        unfinished = prof._repr_html_()
        for _ in range(60):
            (x * x).sum().backward()
    assert unfinished is None
    return prof


def test_a_profile_shows_its_averages(profiled):
    page = page_of(profiled)
    names = [row[0] for row in page.rows()]
    assert names[0] == "Name"
    assert sorted(names[1:]) == sorted(row.key for row in profiled.key_averages())
    shares = [float(row[1].removesuffix("%")) for row in page.rows()[1:]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=1)
    bars = [(given["style"], text) for name, given, text in page.elements if name == "td" and "style" in given]
    assert all(f") {text}," in style for style, text in bars)
    assert "to compile or load kernels" in page.all("p")[0]


def test_events_are_shown_in_their_own_order(profiled):
    assert [row[0] for row in page_of(profiled.function_events).rows()[1:3]] == ["aten::mul", "aten::sum"]
    assert "the first 100 of" in page_of(profiled.function_events).text
    averages = profiled.key_averages(group_by_input_shape=True)
    assert [row[0] for row in page_of(averages).rows()[1:]] == [row.key for row in averages]


def test_a_profile_with_a_schedule_shows_its_last_cycle():
    prof = numgrad.profiler.profile()
    assert prof._repr_html_() is None
    with prof:
        numgrad.ones(2).sin()
    assert "aten::sin" in page_of(prof).text
    with profile(enabled=False) as nothing:
        pass
    assert nothing._repr_html_() is None
