"""HTML in notebooks: tensors, sizes, modules, optimizers, profiles and explanations."""

import time

import numpy as np
import pytest
from html_pages import Page, page_of

import numgrad
from numgrad import nn, tensor
from numgrad.autograd import forward_ad
from numgrad.autograd.profiler import profile
from numgrad.core.display import number_of_bytes
from numgrad.func import vmap
from numgrad.tensors.printing import printoptions
from numgrad.viz.html import Html, element, table


@pytest.mark.parametrize(
    ("made", "caption"),
    [
        (lambda: tensor([1.0, 2.0]), "Tensor [2] float32"),
        (lambda: tensor([[True]]), "Tensor [1, 1] bool"),
        (lambda: numgrad.zeros(0, 3, dtype=numgrad.int64), "Tensor [0, 3] int64"),
        (lambda: tensor([1.0, 2.0], requires_grad=True), "Tensor [2] float32 requires_grad=True"),
        (lambda: tensor([1.0, 2.0], requires_grad=True) * 2, "Tensor [2] float32 grad_fn=<MulBackward0>"),
        (lambda: nn.Parameter(numgrad.ones(3)), "Parameter [3] float32 requires_grad=True"),
    ],
)
def test_the_first_line_says_what_it_is(made, caption):
    assert page_of(made()).all("p") == [caption]


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (3.14159, ["3.1416"]),
        (7, ["7"]),
        ([1.0, -2.0, float("inf")], ["1.", "-2.", "inf"]),
        ([0.001, 1000.0, 0.0], ["1.0000e-03", "1.0000e+03", "0.0000e+00"]),
        ([1 + 2j, -0.5j], ["1.+2.0000j", "-0.-0.5000j"]),
        ([True, False], ["True", "False"]),
        (range(2000), ["0", "1", "2", "…", "1997", "1998", "1999"]),
    ],
)
def test_a_row_of_numbers_reads_as_in_the_text(data, numbers):
    made = tensor(data if np.isscalar(data) else list(data))
    assert page_of(made).all("div")[0].split() == numbers


def test_a_matrix_is_a_table_with_its_indices():
    assert page_of(tensor([[1.0, 2.5], [-3.0, 0.0]])).rows() == [
        ["", "0", "1"], ["0", "1.0000", "2.5000"], ["1", "-3.0000", "0.0000"],
    ]  # fmt: skip


def test_of_a_large_matrix_the_corners_are_shown():
    rows = page_of(numgrad.arange(200 * 300).reshape(200, 300)).rows()
    assert [row[0] for row in rows] == ["", "0", "1", "2", "⋮", "197", "198", "199"]
    assert rows[0] == ["", "0", "1", "2", "…", "297", "298", "299"]
    assert rows[-1] == ["199", "59700", "59701", "59702", "…", "59997", "59998", "59999"]


def test_more_dimensions_are_rows_with_all_indices_but_the_last():
    page = page_of(numgrad.arange(12).reshape(2, 3, 2))
    assert [row[0] for row in page.rows()] == ["", "0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"]
    assert [text for name, given, text in page.elements if given.get("class") == "next"] == ["1, 067"]
    indices = [row[0] for row in page_of(numgrad.zeros(8, 1, 9, 20)).rows()]
    assert indices[1:9] == ["0, 0, 0", "0, 0, 1", "0, 0, 2", "⋮", "0, 0, 6", "0, 0, 7", "0, 0, 8", "1, 0, 0"]
    assert indices.count("⋮") == 7


def test_what_has_no_elements_says_so():
    assert "no elements" in page_of(numgrad.zeros(2, 0)).text


@pytest.mark.parametrize("make", [
    lambda x: x.t(), lambda x: x[::2, 1:], lambda x: x[0, 0], lambda x: x.expand(2, 3, 4), lambda x: x.detach(),
    lambda x: x.to(numgrad.uint8), lambda x: x.to(numgrad.complex128),
])  # fmt: skip
def test_views_and_other_dtypes_show_their_own_elements(make):
    shown = make(numgrad.arange(12.0).reshape(3, 4))
    page = page_of(shown)
    texts = page.all("td") or page.all("div")[0].split()
    assert [complex(text) for text in texts] == shown.flatten().tolist()


def test_print_options_count():
    with printoptions(precision=1, threshold=4, edgeitems=1):
        assert page_of(tensor([0.25, 1, 2, 3, 4])).all("div")[0].split() == ["0.2", "…", "4.0"]
    with printoptions(edgeitems=0, threshold=0):
        assert numgrad.ones(3)._repr_html_() is None
    with printoptions(profile="full"):
        assert numgrad.ones(10_001)._repr_html_() is None


def test_the_text_stands_alone_where_only_it_is_complete():
    seen = []
    vmap(lambda x: (seen.append(x._repr_html_()), x)[1])(numgrad.ones(2, 3))
    with forward_ad.dual_level():
        seen.append(forward_ad.make_dual(numgrad.ones(2), numgrad.ones(2))._repr_html_())
    assert seen == [None, None]


def test_a_class_with_a_text_of_its_own_keeps_it():
    class Own(numgrad.Tensor):
        def __repr__(self):
            return "mine"

    class Plain(numgrad.Tensor):
        pass

    own, plain = numgrad.ones(2), numgrad.ones(2)
    own.__class__, plain.__class__ = Own, Plain
    assert own._repr_html_() is None
    assert page_of(plain).all("p") == ["Plain [2] float32"]


def test_odd_tensors_are_shown():
    freed = tensor([1.0], requires_grad=True) * 2
    freed.backward()
    assert "MulBackward0" in page_of(freed).text
    base = numgrad.ones(2)
    left, right = base.split(1)
    base.mul_(tensor([2.0, 2.0], requires_grad=True))
    assert "Tensor [1] float32" in page_of(left).text
    with numgrad.inference_mode():
        assert "2." in page_of(numgrad.ones(2) * 2).text
    assert right.shape == (1,)


def test_large_tensors_are_as_quick_as_small_ones():
    large = numgrad.zeros(1).expand(50_000, 50_000)
    begun = time.process_time()
    page_of(large)
    assert time.process_time() - begun < 0.5


def test_the_text_is_pytorchs_still():
    assert repr(tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"


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
        "Network(name=<script>, depth=2) 17 parameters, 15 of them trainable, 68 bytes, in evaluation mode"
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
