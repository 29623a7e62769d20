"""Tutorials in miniature: short programs written for PyTorch, and their exact output.

Each is a function of the module it runs on.  The text above it is PyTorch's output, which the tests marked ``torch``
check, with addresses as ``0x...``.
"""

import re
from textwrap import dedent

import pytest

import numgrad

PROGRAMS = []
OLDER = []  # which today's PyTorch refuses


def prints(text, programs=PROGRAMS):
    """Register a program that prints ``text``."""

    def register(program):
        programs.append(pytest.param(program, dedent(text).removeprefix("\n"), id=program.__name__))
        return program

    return register


def output(program, module, capsys):
    """Return the output of a program that imports ``module`` as torch."""
    program(module)
    return re.sub(r"0x[0-9a-f]+", "0x...", capsys.readouterr().out)


@prints("""
    tensor([[0.4963, 0.7682],
            [0.0885, 0.1320]], requires_grad=True)
    tensor([[0.3074, 0.6341],
            [0.4901, 0.8964]], requires_grad=True)
    tensor(3.8130, grad_fn=<SumBackward0>)
    tensor([[1., 1.],
            [1., 1.]]) tensor([[1., 1.],
            [1., 1.]])
    """)
def first_gradients(torch):
    torch.manual_seed(0)
    x = torch.rand(2, 2, requires_grad=True)
    y = torch.rand(2, 2, requires_grad=True)
    print(x)
    print(y)
    total = torch.sum(x + y)
    print(total)
    total.backward()
    print(x.grad, y.grad)


@prints("""
    tensor([ 2., 31.], grad_fn=<AddBackward0>)
    tensor([2., 4.])
    tensor([ 3., 27.])
    tensor([True, True])
    False
    True
    """)
def a_gradient_for_each_element(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([1.0, 3.0], requires_grad=True)
    z = x**2 + y**3
    print(z)
    z.backward(torch.ones_like(x))
    print(x.grad)
    print(y.grad)
    print(3 * y**2 == y.grad)
    with torch.no_grad():
        print((x + y * 2).requires_grad)
    print((x + y * 2).requires_grad)


@prints("""
    x.is_leaf=True
    z.is_leaf=False
    <AddBackward0 object at 0x...>
    AddBackward0
    ((<PowBackward0 object at 0x...>, 0), (<MulBackward0 object at 0x...>, 0))
    ((<AccumulateGrad object at 0x...>, 0),)
    ((<AccumulateGrad object at 0x...>, 0), (None, 0))
    AccumulateGrad
    tensor([1., 2.], requires_grad=True)
    True
    True
    ['metadata', 'name', 'next_functions', 'register_hook', 'requires_grad']
    """)
def looking_into_the_graph(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x**2 + x * 3
    print("x.is_leaf=" + str(x.is_leaf))
    print("z.is_leaf=" + str(z.is_leaf))
    print(z.grad_fn)
    print(z.grad_fn.name())
    print(z.grad_fn.next_functions)
    power, product = [node for node, _ in z.grad_fn.next_functions]
    print(power.next_functions)
    print(product.next_functions)
    leaf = power.next_functions[0][0]
    print(type(leaf).__name__)
    print(leaf.variable)
    print(id(leaf.variable) == id(x))
    print(leaf is product.next_functions[0][0])
    wanted = ["metadata", "name", "next_functions", "register_hook", "requires_grad"]
    print([name for name in wanted if name in dir(z.grad_fn)])


@prints("""
    a: tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    b: tensor([[ 5., 10.],
            [15., 20.]], grad_fn=<TimesConstantBackward>)
    TimesConstantBackward
    tensor([[5., 5.],
            [5., 5.]])
    """)
def a_function_of_ones_own(torch):
    class TimesConstant(torch.autograd.function.Function):
        @staticmethod
        def forward(ctx, tensor, constant):
            ctx.constant = constant
            return tensor * constant

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.constant, None

    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = TimesConstant.apply(a, 5)
    print("a: " + str(a))
    print("b: " + str(b))
    print(b.grad_fn.name())
    b.backward(torch.ones_like(a))
    print(a.grad)


@prints("""
    tensor([[ 1.5410],
            [-0.2934],
            [-2.1788]], requires_grad=True)
    tensor([[ 2.5410],
            [ 0.7066],
            [-1.1788]], grad_fn=<AddBackward0>)
    True
    <AddBackward0 object at 0x...>
    tensor([[9.4567],
            [3.4992],
            [4.3895]], grad_fn=<AddBackward0>)
    ((<PowBackward0 object at 0x...>, 0), (None, 0))
    ((<AddBackward0 object at 0x...>, 0),)
    Does the sum of two plain tensors require gradients? : False
    Does it with one that is tracked? : True
    False
    False
    """)
def what_is_tracked(torch):
    torch.manual_seed(0)
    x = torch.randn((3, 1), requires_grad=True)
    print(x)
    y = x + 1
    print(y)
    print(y.requires_grad)
    print(y.grad_fn)
    z = y**2 + 3
    print(z)
    print(z.grad_fn.next_functions)
    print(z.grad_fn.next_functions[0][0].next_functions)
    plain, tracked = torch.rand(5, 5), torch.rand((5, 5), requires_grad=True)
    print(f"Does the sum of two plain tensors require gradients? : {(plain + plain).requires_grad}")
    print(f"Does it with one that is tracked? : {(plain + tracked).requires_grad}")
    with torch.no_grad():
        print((plain + tracked).requires_grad)
    print((plain + tracked).detach().requires_grad)


@prints("""
    tensor([[0., 1., 2.],
            [3., 4., 5.]])
    None
    tensor([[ 3.],
            [12.]], grad_fn=<MmBackward0>)
    tensor(41., grad_fn=<MeanBackward0>)
    tensor([[27.],
            [37.],
            [47.]])
    tensor([[0.7300],
            [0.6300],
            [0.5300]], requires_grad=True)
    tensor([[0.],
            [0.],
            [0.]])
    """)
def a_step_of_gradient_descent(torch):
    x = torch.arange(2 * 3).reshape(2, 3) * 1.0
    print(x)
    target = torch.arange(2, 4).reshape(2, 1) * 1.0
    w = torch.ones((3, 1), requires_grad=True)
    print(w.grad)
    output = x.matmul(w)
    print(output)
    loss = ((output - target) ** 2).mean()
    print(loss)
    loss.backward()
    print(w.grad)

    def update(w, learning_rate):
        with torch.no_grad():
            w.add_(w.grad, alpha=-1 * learning_rate)

    update(w, 0.01)
    print(w)
    print(w.grad.zero_())


@prints("""
    tensor([[1., 2., 3.],
            [4., 5., 6.]], requires_grad=True)
    torch.Size([2, 3])
    x gradient None
    x gradient tensor([[ 24.,  96., 216.],
            [384., 600., 864.]])
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    x gradient tensor([[12., 48.,  0.],
            [ 0.,  0.,  0.]])
    Trying to backward through the graph a second time
    """)
def variables(torch):
    variable = torch.autograd.Variable
    x = variable(torch.FloatTensor([[1, 2, 3], [4, 5, 6]]), requires_grad=True)
    print(x)
    y = 2 * x
    z = y**3
    print(z.shape)
    print("x gradient", x.grad)
    z.backward(torch.FloatTensor([[1, 1, 1], [1, 1, 1]]), retain_graph=True)
    print("x gradient", x.grad)
    print(x.grad.data.zero_())
    z.backward(torch.FloatTensor([[0.5, 0.5, 0], [0, 0, 0]]))
    print("x gradient", x.grad)
    try:
        z.backward(torch.ones(2, 3))
    except RuntimeError as error:
        print(str(error).split(" (")[0])


@prints("""
    tensor(0.8127, grad_fn=<BinaryCrossEntropyWithLogitsBackward0>)
    grad of w is tensor([[0.2687, 0.2872],
            [0.2687, 0.2872],
            [0.2687, 0.2872]])
    grad of b is tensor([0.2687, 0.2872])
    <AddBackward0 object at 0x...>
    ((<SqueezeBackward4 object at 0x...>, 0), (<AccumulateGrad object at 0x...>, 0))
    True
    False
    False
    """)
def a_layer_and_its_loss(torch):
    x, y = torch.ones(3), torch.zeros(2)
    w = torch.tensor([[0.1, 0.2], [0.3, -0.4], [-0.5, 0.0]], requires_grad=True)
    b = torch.tensor([0.25, 0.5], requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    print(loss)
    loss.backward()
    print(f"grad of w is {w.grad}")
    print(f"grad of b is {b.grad}")
    print(z.grad_fn)
    print(z.grad_fn.next_functions)
    print(z.requires_grad)
    with torch.no_grad():
        print((torch.matmul(x, w) + b).requires_grad)
    print((torch.matmul(x, w.detach()) + b.detach()).requires_grad)


@prints("""
    tensor([[-0.5000],
            [-0.5000],
            [-0.5000]], grad_fn=<LinearBackward>)
    (False, True, True)
    tensor([[ 9., 12.]]) tensor([3.]) None
    (True, True)
    tensor([[ 9., 12.]])
    tensor([[ 1., -1.],
            [ 1., -1.],
            [ 1., -1.]])
    """)
def a_linear_layer_as_a_function(torch):
    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, weight, bias=None):
            ctx.save_for_backward(input, weight, bias)
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            print(ctx.needs_input_grad)
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0)
            return grad_input, grad_weight, grad_bias

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    weight = torch.tensor([[1.0, -1.0]], requires_grad=True)
    bias = torch.tensor([0.5], requires_grad=True)
    out = Linear.apply(x, weight, bias)
    print(out)
    out.sum().backward()
    print(weight.grad, bias.grad, x.grad)
    weight.grad = None
    Linear.apply(x.requires_grad_(), weight).sum().backward()
    print(weight.grad)
    print(x.grad)


@prints("""
    x : tensor([[2., 1., 1.]])
    one of the variables needed for gradient computation has been modified by an inplace operation
    [torch.FloatTensor [1, 3]] is at version 1; expected version 0 instead
    None
    tensor([[70.],
            [14.],
            [14.]])
    """)
def a_saved_tensor_that_was_changed(torch):
    x = torch.ones(1, 3)
    w = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    loss = (torch.matmul(x, w) ** 2).sum()
    alias = x.detach()
    alias[0, 0] = 2
    print(f"x : {x}")
    try:
        loss.backward()
    except RuntimeError as error:
        what, where = str(error).split(". Hint")[0].split(": ")
        print(what)
        print(where)
    print(w.grad)
    loss = (torch.matmul(x, w) ** 2).sum()
    x.data[0, 0] = 5
    loss.backward()
    print(w.grad)


@prints("""
    tensor([[ 6.,  6.],
            [ 3., 10.]], grad_fn=<CopySlices>)
    tensor([6., 6.])
    2 2 0
    tensor([[6., 6.],
            [3., 0.]])
    a leaf Variable that requires grad is being used in an in-place operation.
    Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([]).
    grad can be implicitly created only for scalar outputs
    """)
def views_and_changes_in_place(torch):
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 3
    row = y[0]
    row *= 2
    y[1, 1] = 10
    print(y)
    print(row.detach())
    print(y._version, row._version, x._version)
    y.sum().backward()
    print(x.grad)
    try:
        x += 1
    except RuntimeError as error:
        print(error)
    try:
        x.sum().backward(torch.ones(3))
    except RuntimeError as error:
        print(error)
    try:
        (x * 2).backward()
    except RuntimeError as error:
        print(str(error).split(",")[0])


@prints("""
    x gradient tensor([[96.]])
    x gradient tensor([[48.]])
    tensor([[ 24.,   0.],
            [216.,   0.]])
    tensor([[ 6., 24.],
            [54., 96.]])
    """, OLDER)
def gradients_of_other_shapes(torch):
    variable = torch.autograd.Variable
    x = variable(torch.FloatTensor([[2]]), requires_grad=True)
    z = (2 * x) ** 3
    z.backward(torch.FloatTensor([1]), retain_graph=True)
    print("x gradient", x.grad)
    x.grad.data.zero_()
    z.backward(torch.FloatTensor([0.5]))
    print("x gradient", x.grad)
    x = variable(torch.FloatTensor([[1, 2], [3, 4]]), requires_grad=True)
    z = (2 * x) ** 3
    z.backward(torch.FloatTensor([1, 0]), retain_graph=True)
    print(x.grad)
    x.grad.data.zero_()
    out = z.mean()
    out.backward(torch.FloatTensor([1]))
    print(x.grad)


@prints("""
    tensor([3.+4.j, 1.-2.j], requires_grad=True)
    tensor([0.6000+0.8000j, 0.4472-0.8944j])
    tensor([-7.+24.j, -3.-4.j], grad_fn=<PowBackward0>)
    tensor([6.-8.j, 2.+4.j])
    tensor(0.7500+0.2500j, requires_grad=True)
    tensor(0.3750+0.6250j, requires_grad=True)
    tensor(0.1875+0.8125j, requires_grad=True)
    grad can be implicitly created only for real scalar outputs but got torch.complex64
    tensor([2.2361, 5.0000])
    """)
def complex_numbers(torch):
    z = torch.tensor([3 + 4j, 1 - 2j], requires_grad=True)
    print(z)
    z.abs().sum().backward()
    print(z.grad)  # the direction of steepest ascent
    w = z**2
    print(w)
    print(torch.autograd.grad(w.real.sum(), z)[0])  # the conjugate of the derivative
    point = torch.tensor(1.5 - 0.5j, requires_grad=True)
    for _ in range(3):
        (slope,) = torch.autograd.grad((point - 1j).abs() ** 2, point)
        with torch.no_grad():
            point -= 0.25 * slope
        print(point)
    try:
        z.sum().backward()
    except RuntimeError as error:
        print(error)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * torch.tensor([2 + 1j, 3 + 4j])).abs().sum().backward()
    print(x.grad)


@pytest.mark.parametrize(("program", "text"), PROGRAMS)
def test_programs(program, text, capsys):
    assert output(program, numgrad, capsys) == text


@pytest.mark.parametrize(("program", "text"), OLDER)
def test_older_programs(program, text, capsys):
    with pytest.warns(DeprecationWarning, match=r"gradient of shape \[\d\] for an output of shape") as caught:
        assert output(program, numgrad, capsys) == text
    assert len(caught) == 4  # one for each such backward


@pytest.mark.torch
@pytest.mark.parametrize(("program", "text"), PROGRAMS)
def test_the_texts_are_pytorchs(program, text, capsys):
    import torch

    assert output(program, torch, capsys) == text
