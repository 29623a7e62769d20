"""Displays of objects in Jupyter: text, and in addition a picture of a node or HTML."""

import pytest
from html_pages import Page

import numgrad
from numgrad import nn

formatters = pytest.importorskip("IPython.core.formatters")


@pytest.fixture(scope="module")
def shown():
    """Return the display data of an object, by media type."""
    formatter = formatters.DisplayFormatter()
    return lambda thing: formatter.format(thing)[0]


def test_html_is_shown_with_the_text(shown):
    x = numgrad.ones(2, requires_grad=True)
    for thing in (x, x.shape, nn.Parameter(x.detach()), nn.Linear(2, 3), numgrad.optim.SGD([x], lr=0.1)):
        forms = shown(thing)
        assert set(forms) == {"text/plain", "text/html"}
        assert forms["text/plain"] == repr(thing)
        assert Page(forms["text/html"]).text


def test_a_node_is_drawn(shown):
    class Double(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = numgrad.ones(2, requires_grad=True)
    loss = Double.apply(x).sum()
    loss.backward()
    for node in (loss.grad_fn, *[edge[0] for edge in loss.grad_fn.next_functions], loss.grad_fn):
        forms = shown(node)
        assert set(forms) <= {"text/plain", "image/svg+xml", "text/vnd.mermaid"}
        assert forms["text/plain"] == f"<{type(node).__name__} at {id(node):#x}>"
        picture = next(form for mimetype, form in forms.items() if mimetype != "text/plain")
        assert node.name().rpartition("::")[2] in picture


def test_where_there_is_only_text_there_is_only_text(shown):
    assert set(shown([numgrad.ones(2)])) == {"text/plain"}
    assert set(shown(numgrad.float32)) == {"text/plain"}
    assert set(shown(numgrad.Tensor)) == {"text/plain"}
