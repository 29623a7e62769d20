"""Arguments other than tensors, and changes of tensor arguments."""

# ruff: noqa: B007 - functions defined before the loops read their variables

import collections
import math

import numpy as np
from programs.comparison import compared_with_eager, ramp

import numgrad
import numgrad.nn.functional as F  # noqa: N812


@compared_with_eager
def test_the_class_of_a_named_tuple_changes(compiled, see):
    Pair = collections.namedtuple("Pair", "one other")
    f = compiled(lambda x, pair: x * pair.one)
    see(f(ramp(3), Pair(2.0, 3.0)), f(ramp(3), Pair(2.0, 3.0)))
    Pair.one = property(lambda self: self.other)
    see(f(ramp(3), Pair(2.0, 3.0)))


@compared_with_eager(falls_back=True)
def test_an_argument_with_a_graph_that_is_kept(compiled, see):
    held = {}
    f = compiled(lambda x: held.update(last=x))
    for _ in range(6):
        x = ramp(3).requires_grad_()[:2]
        f(x)
        see(held["last"] is x)


@compared_with_eager
def test_an_argument_with_a_graph_that_the_function_finds_too(compiled, see):
    f = compiled(lambda x: x * y)
    for factor in (2, 3, 4):
        x = ramp(3).requires_grad_()
        y = x * factor
        f(y).sum().backward()
        see(x.grad)


@compared_with_eager
def test_arguments_get_other_memory_before_backward(compiled, see):
    for make in (lambda x: x, lambda x: x * 1):
        f = compiled(lambda x: x * 2)
        for number, has_backward in enumerate((True, False, False, True)):
            x = (ramp(3) + number).requires_grad_()
            y = make(x)
            result = f(y)
            y.data = ramp(4)[1:]
            see(result)
            if has_backward:
                result.sum().backward()
                see(x.grad)


@compared_with_eager(falls_back=True)
def test_a_view_of_an_argument_with_a_graph_changes_after_a_call_that_ends_the_program(compiled, see):
    for part in (slice(None), slice(1, None)):
        f = compiled(lambda x: x.view(-1) if x.sum() > -9 else x)
        x = ramp(4).requires_grad_()
        y = x * 2
        f(y[part]).mul_(3)
        y.sum().backward()
        see(x.grad, y)


@compared_with_eager
def test_sizes_clash(compiled, see):
    f = compiled(lambda x, s, n=7: x * len(s) * n)
    see(
        f(ramp(3), numgrad.Size([2]), 3),
        f(ramp(3), numgrad.Size([2, 3])),
        f(ramp(3), numgrad.Size([2]), 3),
        f(ramp(3), numgrad.Size([2, 3])),
    )


@compared_with_eager
def test_values_clash(compiled, see):
    f = compiled(lambda x, k: x * k)
    for k in (1, True, 1.0, 1, 0.0, -0.0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11):
        see(f(ramp(3), k))
    for k in (complex(1, 0.0), complex(1, -0.0), complex(1, 0.0)):
        see(numgrad.angle(f(-numgrad.ones(3), k)))


@compared_with_eager
def test_keys_clash(compiled, see):

    def g(x, items):
        (key,) = items
        one = key[0] if isinstance(key, tuple) else key
        return x * (math.copysign(5, one) if isinstance(one, float) else 3 if isinstance(one, bool) else 2)

    f = compiled(g)
    for key in (1, True, 1.0, 0, 0.0, -0.0, False, (1,), (True,), (-0.0,), (0.0,)):
        see(f(ramp(3), {key: 1}))


@compared_with_eager
def test_np_scalars(compiled, see):
    f = compiled(lambda x, k: x * k)
    for k in (np.float32(1), np.float64(2), np.int64(3), np.float64(2)):
        see(f(ramp(3), k))


@compared_with_eager(falls_back=True)
def test_np_array_argument(compiled, see):
    f = compiled(lambda x, k: x * numgrad.from_numpy(k))
    for k in range(4):
        see(f(ramp(3), np.full(3, k, np.float32)))


@compared_with_eager
def test_arg_name_attr(compiled, see):
    f = compiled(lambda x: x * 2 if x.is_leaf else x * 3)
    for k in range(6):
        x = ramp(3).requires_grad_()
        x = x * 1 if k % 2 else x
        see(f(x))


@compared_with_eager(falls_back=True)
def test_backward_inside_into_graph(compiled, see):

    def g(b):
        (b * b).sum().backward()

    f = compiled(g)
    a = numgrad.ones(3, requires_grad=True)
    for i in range(6):
        b = a * i
        f(b)
        see(a.grad)


@compared_with_eager(falls_back=True)
def test_backward_inside_param_unreached(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    w2 = w * 2

    def g(x):
        (x * w2).sum().backward(retain_graph=True)

    f = compiled(g)
    for i in range(6):
        f(ramp(3) + i)
        see(w.grad)


@compared_with_eager
def test_setattr_on_tensor_grad(compiled, see):

    def g(x, q):
        x.grad = q * 2

    f = compiled(g)
    for i in range(4):
        x = ramp(3).requires_grad_()
        f(x, ramp(3) + i)
        see(x.grad)


@compared_with_eager
def test_requires_grad_inside(compiled, see):

    def g(x):
        x.requires_grad_()
        return x * 2

    f = compiled(g)
    for i in range(4):
        x = ramp(3) + i
        y = f(x)
        see(x.requires_grad, y)
        y.sum().backward()
        see(x.grad)


@compared_with_eager
def test_detach_inplace(compiled, see):

    def g(x):
        x.detach().mul_(2)
        return x * 1

    f = compiled(g)
    for i in range(4):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        see(x, y, x._version)
        y.sum().backward()
        see(x.grad)


@compared_with_eager
def test_data_inplace(compiled, see):

    def g(x):
        x.data.mul_(2)
        return x * x

    f = compiled(g)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        see(x, y, x._version)
        y.sum().backward()
        see(x.grad)


@compared_with_eager(falls_back=True)
def test_resize_inside(compiled, see):

    def g(x):
        x.unsqueeze_(0)
        return x * 1

    f = compiled(g)
    for i in range(4):
        x = ramp(3) + i
        y = f(x)
        see(x, y)


@compared_with_eager
def test_kwargs(compiled, see):
    f = compiled(lambda x, *a, k=1, **q: x * k + sum(a) + q.get("z", 0))
    for r in range(3):
        see(
            f(ramp(3)),
            f(ramp(3), k=2),
            f(ramp(3), ramp(3)),
            f(ramp(3), z=ramp(3)),
            f(x=ramp(3), z=ramp(3)),
            f(ramp(3), k=ramp(3)),
            f(k=ramp(3), x=ramp(3) + 1),
        )


@compared_with_eager
def test_empty_inputs(compiled, see):
    f = compiled(lambda x: (x * 2, x.sum(), x + 1))
    for i in range(3):
        see(f(numgrad.empty(0, 3)), f(numgrad.tensor(2.0)))


@compared_with_eager(falls_back=True)
def test_inplace_on_graph_arg(compiled, see):
    f = compiled(lambda x: F.relu(x, inplace=True))
    for i in range(3):
        a = (ramp(6) + i - 1).requires_grad_()
        x = a * 2
        y = f(x)
        see(y is x)
        (y * y).sum().backward()
        see(a.grad)


@compared_with_eager(falls_back=True)
def test_inplace_on_graph_arg_unreturned(compiled, see):

    def g(x):
        x.mul_(3)
        x.unsqueeze_(0)

    f = compiled(g)
    for i in range(3):
        a = (ramp(6) + i - 1).requires_grad_()
        x = a * 2
        f(x)
        see(x)
        (x * x).sum().backward()
        see(a.grad)


@compared_with_eager(falls_back=True)
def test_detach_arg(compiled, see):

    def g(x):
        x.detach_()

    f = compiled(g)
    for i in range(3):
        a = (ramp(6) + i - 1).requires_grad_()
        x = a * 2
        f(x)
        see(x)


@compared_with_eager
def test_saved_tensors_changed_before_backward(compiled, see):
    scaled = compiled(lambda x, buffer: (buffer.add_(1), (x * buffer).sum())[1])
    buffer = numgrad.ones(3)
    for _ in range(5):
        x = numgrad.ones(3, requires_grad=True)
        scaled(x, buffer).backward()
        see(x.grad, buffer, buffer._version)


@compared_with_eager
def test_a_weight_is_renormalised_and_used(compiled, see):
    embedding = numgrad.nn.Embedding(5, 3, max_norm=0.5)
    looked_up = compiled(lambda indices: (embedding(indices) * embedding.weight.sum()).sum())
    for number in range(5):
        embedding.weight.grad = None
        looked_up(numgrad.tensor([number, 1])).backward()
        see(embedding.weight, embedding.weight.grad, embedding.weight._version)
