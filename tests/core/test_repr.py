"""The text of tensors and related objects, through the public names; each text is PyTorch's own."""

from textwrap import dedent

import pytest

import numgrad

# Python text, and the ``repr`` of its value in PyTorch as in numgrad.
TEXTS = {
    # numbers and dtypes
    "torch.tensor(2.5)": "tensor(2.5000)",
    "torch.tensor(7)": "tensor(7)",
    "torch.tensor(True)": "tensor(True)",
    "torch.tensor([1.0, 2.0])": "tensor([1., 2.])",
    "torch.tensor([1, -100])": "tensor([   1, -100])",
    "torch.tensor([True, False])": "tensor([ True, False])",
    "torch.tensor([1.5, 2.0], dtype=torch.float64)": "tensor([1.5000, 2.0000], dtype=torch.float64)",
    "torch.tensor([0.1, 1000.0, float('nan')])": "tensor([1.0000e-01, 1.0000e+03,        nan])",
    "torch.tensor([1e-5, 1.0])": "tensor([1.0000e-05, 1.0000e+00])",
    "torch.tensor([float('inf'), -1.0])": "tensor([inf, -1.])",
    # shapes
    "torch.zeros(0)": "tensor([])",
    "torch.zeros(0, 3)": "tensor([], size=(0, 3))",
    "torch.zeros(0, dtype=torch.int64)": "tensor([], dtype=torch.int64)",
    "torch.zeros(0, dtype=torch.bool)": "tensor([], dtype=torch.bool)",
    "torch.zeros(2, 0, dtype=torch.float64)": "tensor([], size=(2, 0), dtype=torch.float64)",
    "torch.tensor([[1.0, 2.0], [3.0, 4.0]])": "tensor([[1., 2.],\n        [3., 4.]])",
    "torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()": "tensor([[1., 3.],\n        [2., 4.]])",
    "torch.arange(6.0).reshape(2, 3)[:, ::2]": "tensor([[0., 2.],\n        [3., 5.]])",
    "torch.tensor([1.0, 2.0]).expand(2, 2)": "tensor([[1., 2.],\n        [1., 2.]])",
    "torch.ones(2, 1, 2)": "tensor([[[1., 1.]],\n\n        [[1., 1.]]])",
    "torch.arange(1001)": "tensor([   0,    1,    2,  ...,  998,  999, 1000])",
    "torch.arange(2000.0)": "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
    "        1.9990e+03])",
    "torch.full((40, 40), 0.5)": dedent("""\
        tensor([[0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000],
                ...,
                [0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000]])"""),
    # the graph
    "torch.tensor([1.0], requires_grad=True)": "tensor([1.], requires_grad=True)",
    "torch.zeros(0, requires_grad=True)": "tensor([], requires_grad=True)",
    "torch.tensor([1.0], dtype=torch.float64, requires_grad=True)": (
        "tensor([1.], dtype=torch.float64, requires_grad=True)"
    ),
    "torch.tensor([1.0], dtype=torch.float64, requires_grad=True) * 2": (
        "tensor([2.], dtype=torch.float64, grad_fn=<MulBackward0>)"
    ),
    "x": "tensor([1., 4.], requires_grad=True)",
    "x.detach()": "tensor([1., 4.])",
    "x.data": "tensor([1., 4.])",
    "x + 1": "tensor([2., 5.], grad_fn=<AddBackward0>)",
    "1 - x": "tensor([ 0., -3.], grad_fn=<RsubBackward1>)",
    "x - 1": "tensor([0., 3.], grad_fn=<SubBackward0>)",
    "x * x": "tensor([ 1., 16.], grad_fn=<MulBackward0>)",
    "x / 2": "tensor([0.5000, 2.0000], grad_fn=<DivBackward0>)",
    "x**2": "tensor([ 1., 16.], grad_fn=<PowBackward0>)",
    "x**x": "tensor([  1., 256.], grad_fn=<PowBackward1>)",
    "-x": "tensor([-1., -4.], grad_fn=<NegBackward0>)",
    "x.sqrt()": "tensor([1., 2.], grad_fn=<SqrtBackward0>)",
    "x.log()": "tensor([0.0000, 1.3863], grad_fn=<LogBackward0>)",
    "x.sum()": "tensor(5., grad_fn=<SumBackward0>)",
    "x.sum(0)": "tensor(5., grad_fn=<SumBackward1>)",
    "x.mean()": "tensor(2.5000, grad_fn=<MeanBackward0>)",
    "x.max()": "tensor(4., grad_fn=<MaxBackward1>)",
    "x[0]": "tensor(1., grad_fn=<SelectBackward0>)",
    "x[1:]": "tensor([4.], grad_fn=<SliceBackward0>)",
    "x[:]": "tensor([1., 4.], grad_fn=<SliceBackward0>)",
    "x[...]": "tensor([1., 4.], grad_fn=<AliasBackward0>)",
    "x[None]": "tensor([[1., 4.]], grad_fn=<UnsqueezeBackward0>)",
    "x.view(2, 1)": "tensor([[1.],\n        [4.]], grad_fn=<ViewBackward0>)",
    "x.expand(2, 2)": "tensor([[1., 4.],\n        [1., 4.]], grad_fn=<ExpandBackward0>)",
    "x.clone()": "tensor([1., 4.], grad_fn=<CloneBackward0>)",
    "x.double()": "tensor([1., 4.], dtype=torch.float64, grad_fn=<ToCopyBackward0>)",
    "x.long()": "tensor([1, 4])",
    "x > 2": "tensor([False,  True])",
    "torch.cat([x, x])": "tensor([1., 4., 1., 4.], grad_fn=<CatBackward0>)",
    "torch.stack([x, x])": "tensor([[1., 4.],\n        [1., 4.]], grad_fn=<StackBackward0>)",
    "x.unbind()": "(tensor(1., grad_fn=<UnbindBackward0>), tensor(4., grad_fn=<UnbindBackward0>))",
    "x.reshape(1, 2) @ x.reshape(2, 1)": "tensor([[17.]], grad_fn=<MmBackward0>)",
    "x.reshape(1, 2) @ x": "tensor([17.], grad_fn=<MvBackward0>)",
    "x @ x.reshape(2, 1)": "tensor([17.], grad_fn=<SqueezeBackward4>)",
    "x @ x": "tensor(17., grad_fn=<DotBackward0>)",
    "x.clone().mul_(2)": "tensor([2., 8.], grad_fn=<MulBackward0>)",
    "x.clone().zero_()": "tensor([0., 0.], grad_fn=<ZeroBackward0>)",
    "written(x.clone())": "tensor([7., 4.], grad_fn=<CopySlices>)",
    "x.expand(8, 2).clone().view(16) / 8": dedent("""\
        tensor([0.1250, 0.5000, 0.1250, 0.5000, 0.1250, 0.5000, 0.1250, 0.5000, 0.1250,
                0.5000, 0.1250, 0.5000, 0.1250, 0.5000, 0.1250, 0.5000],
               grad_fn=<DivBackward0>)"""),
    # pairs
    "torch.max(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), 1)": dedent("""\
        torch.return_types.max(
        values=tensor([5., 7.]),
        indices=tensor([1, 0]))"""),
    "torch.min(torch.tensor([[1, 5], [7, 2]]), dim=0, keepdim=True)": dedent("""\
        torch.return_types.min(
        values=tensor([[1, 2]]),
        indices=tensor([[0, 1]]))"""),
    "x.max(0)": dedent("""\
        torch.return_types.max(
        values=tensor(4., grad_fn=<MaxBackward0>),
        indices=tensor(1))"""),
    # related objects
    "x.shape": "torch.Size([2])",
    "torch.zeros(2, 3).size()": "torch.Size([2, 3])",
    "torch.tensor(1.0).shape": "torch.Size([])",
    "x.dtype": "torch.float32",
    "[torch.float64, torch.int64, torch.bool, torch.double]": (
        "[torch.float64, torch.int64, torch.bool, torch.float64]"
    ),
    "x.device": "device(type='cpu')",
    "torch.device('cpu', 0)": "device(type='cpu', index=0)",
    "x.type()": "'torch.FloatTensor'",
    # other ways to text
    "str(x)": "'tensor([1., 4.], requires_grad=True)'",
    "f'{x[0]} and {x}'": "'1.0 and tensor([1., 4.], requires_grad=True)'",
    "'%s' % x.sum()": "'tensor(5., grad_fn=<SumBackward0>)'",
    "f'{x.sum():.1f}'": "'5.0'",
    "[x.detach()[0], {'a': x.detach()}]": "[tensor(1.), {'a': tensor([1., 4.])}]",
}


def written(x):
    """The tensor after a write to one of its elements."""
    x[0] = 7
    return x


def text(module, source):
    names = {"torch": module, "x": module.tensor([1.0, 4.0], requires_grad=True), "written": written}
    return repr(eval(source, names))


@pytest.fixture(autouse=True)
def default_options():
    yield
    numgrad.set_printoptions(profile="default")


@pytest.mark.parametrize("source", TEXTS)
def test_texts(source):
    assert text(numgrad, source) == TEXTS[source]


@pytest.mark.torch
@pytest.mark.parametrize("source", TEXTS)
def test_the_texts_are_pytorchs(source):
    import torch

    assert text(torch, source) == TEXTS[source]


def test_print_options():
    x = numgrad.tensor([1 / 3, 2 / 3, 1e-6])
    numgrad.set_printoptions(precision=2)
    assert repr(x) == "tensor([3.33e-01, 6.67e-01, 1.00e-06])"
    numgrad.set_printoptions(precision=2, sci_mode=False)
    assert repr(x) == "tensor([0.33, 0.67, 0.00])"
    numgrad.set_printoptions(profile="default")
    assert repr(numgrad.arange(2.5)) == "tensor([0., 1., 2.])"
    numgrad.set_printoptions(threshold=4, edgeitems=1)
    assert repr(numgrad.arange(5)) == "tensor([0,  ..., 4])"
    assert repr(numgrad.arange(4)) == "tensor([0, 1, 2, 3])"
    numgrad.set_printoptions(profile="full")
    assert "..." not in repr(numgrad.arange(2000))
    numgrad.set_printoptions(profile="default", linewidth=30)
    assert repr(numgrad.ones(6, requires_grad=True)) == (
        "tensor([1., 1., 1., 1., 1.,\n        1.],\n       requires_grad=True)"
    )


def test_changing_a_tensor_changes_its_text():
    x = numgrad.zeros(2)
    assert repr(x) == "tensor([0., 0.])"
    x[1] = 0.5
    assert repr(x) == "tensor([0.0000, 0.5000])"
    x.requires_grad_()
    assert repr(x) == "tensor([0.0000, 0.5000], requires_grad=True)"


def test_nodes_print_their_names():
    x = numgrad.tensor([1.0], requires_grad=True)
    node = (x * 2).exp().grad_fn
    assert repr(node) == f"<ExpBackward0 object at {id(node):#x}>"
    (inner, _), = node.next_functions
    assert repr(inner).startswith("<MulBackward0 object at 0x")
    assert repr(inner.next_functions).startswith("((<AccumulateGrad object at 0x")
    assert repr(inner.next_functions).endswith(">, 0), (None, 0))")
