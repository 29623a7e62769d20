"""Programs with ``vmap``, ``jacrev``, ``jacfwd`` and ``hessian``: with PyTorch and with numgrad they give the same."""

import importlib
import warnings

import numpy as np
import pytest

import numgrad

pytestmark = pytest.mark.torch


def transforms(torch):
    return importlib.import_module(f"{torch.__name__}.func")


def numbers(torch, *shape):
    return ((torch.arange(float(np.prod(shape))) * 0.37 + 0.1).sin() + 0.1).reshape(shape)


def set_parameters(torch, module, shift=0.0):
    for parameter in module.parameters():
        parameter.data.copy_(numbers(torch, *parameter.shape) + shift)
    return {name: parameter.detach() for name, parameter in module.named_parameters()}


# -- gradients of each example ------------------------------------------------------------------------------------


def layers_for_each_example(torch):
    f, nn = transforms(torch), torch.nn
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3))
    parameters = set_parameters(torch, model)
    x, y = numbers(torch, 6, 4), torch.tensor([0, 1, 2, 0, 1, 2])

    def loss(parameters, x, y):
        return nn.functional.cross_entropy(f.functional_call(model, parameters, (x,)), y)

    def loss_of_batch(parameters, x, y):
        return loss(parameters, x.unsqueeze(0), y.unsqueeze(0))

    return [
        f.vmap(f.grad_and_value(loss), in_dims=(None, 0, 0))(parameters, x, y),
        f.vmap(f.grad(loss_of_batch), in_dims=(None, 0, 0), randomness="different")(parameters, x, y),
        f.vmap(f.grad(loss), in_dims=(None, 0, 0), chunk_size=4)(parameters, x, y),
    ]


def embedding_and_attention(torch):
    f, nn = transforms(torch), torch.nn
    words = nn.Embedding(7, 8, padding_idx=0)
    table = set_parameters(torch, words)
    weights = numbers(torch, 3, 8, 8)
    tokens = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 1], [2, 2, 0, 0]])

    def loss(table, weights, tokens):
        h = f.functional_call(words, table, (tokens,)).unsqueeze(0)
        q, k, v = [(h @ weights[i]).reshape(1, 4, 2, 4).transpose(1, 2) for i in range(3)]
        return (nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2).sum()

    return f.vmap(f.grad(loss, argnums=(0, 1)), in_dims=(None, None, 0))(table, weights, tokens)


def an_ensemble(torch):
    f, nn = transforms(torch), torch.nn
    models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
    for number, model in enumerate(models):
        set_parameters(torch, model, number / 10)
    parameters, buffers = f.stack_module_state(models)

    def run(parameters, buffers, x):
        return f.functional_call(models[0], (parameters, buffers), (x,))

    same = f.vmap(run, in_dims=(0, 0, None))(parameters, buffers, numbers(torch, 5, 3))
    own = f.vmap(run)(parameters, buffers, numbers(torch, 3, 5, 3))
    (same.sum() + (own**2).sum()).backward()
    return [same, own, [parameter.grad for parameter in parameters.values()]]


# -- composition --------------------------------------------------------------------------------------------------


def jacobians(torch):
    f = transforms(torch)
    x, w = numbers(torch, 3), numbers(torch, 4, 3)

    def layer(w, x):
        return torch.tanh(w @ x) * x.sum()

    return [
        f.jacrev(layer, argnums=(0, 1))(w, x), f.jacfwd(layer, argnums=(0, 1))(w, x), f.jacrev(layer)(w, x),
        f.jacfwd(f.jacrev(layer))(w, x), f.jacrev(f.jacfwd(layer))(w, x), f.jacrev(f.jacrev(layer))(w, x),
        f.jacfwd(f.jacfwd(layer))(w, x), f.hessian(lambda x: (torch.sigmoid(x) * x).prod())(x),
        f.vmap(f.hessian(lambda x: (x**3).prod()))(w), f.jacrev(layer, argnums=1, chunk_size=1)(w, x),
        f.jacrev(layer, argnums=1, chunk_size=3)(w, x), f.vmap(f.jacrev(layer), in_dims=(None, 0))(w, w),
        f.vmap(f.jacfwd(layer), in_dims=(None, 0), out_dims=1)(w, w),
        f.jacrev(lambda x: (x**2, x.sum()), has_aux=True)(x), f.jacfwd(lambda x: (x**2, x.sum()), has_aux=True)(x),
        f.jacrev(lambda d: {"u": d["a"] * 2, "v": d["b"].sum()})({"a": x, "b": x[:1]}),
        f.jacfwd(lambda d: {"u": d["a"] * 2, "v": d["b"].sum()})({"a": x, "b": x[:1]}),
    ]


def vmap_in_vmap(torch):
    f = transforms(torch)
    a, b = numbers(torch, 3, 4), numbers(torch, 2, 4)

    def products(a):
        return f.vmap(f.vmap(torch.dot, (None, 0)), (0, None))(a, b)

    return [
        products(a), f.grad(lambda a: products(a).sin().sum())(a), f.jacfwd(products)(a),
        f.vmap(f.vmap(lambda x, y: x * y, (0, None)), (None, 0), out_dims=2)(a, b[:, 0]),
        f.vmap(f.vmap(f.grad(lambda x, y: (x * y).sin().sum()), (0, None)), (None, 0))(a, b[:, 0]),
        f.vmap(f.vmap(lambda x: x.argmax(), 1), 0)(a.reshape(3, 2, 2)),
        f.vmap(f.vmap(lambda x: x.median().sort()[0]))(a),
    ]


def derivatives_around_vmap(torch):
    f = transforms(torch)
    x, w = numbers(torch, 3, 4), numbers(torch, 4, 4)

    def value(w, x):
        return torch.tanh(w @ x).sum()

    slopes = f.vmap(f.grad(value), (None, 0))
    results = [
        f.grad(lambda w: (slopes(w, x) ** 2).sum())(w), f.jvp(lambda w: slopes(w, x), (w,), (w * 2,)),
        f.vmap(lambda x: f.jvp(f.grad(lambda x: value(w, x)), (x,), (x * 2,)))(x),
        f.vmap(lambda x: f.jvp(lambda w: f.grad(lambda x: value(w, x))(x), (w,), (w * 2,)))(x),
        f.vjp(lambda w: f.vmap(value, (None, 0))(w, x), w)[1](x[:, 0]),
    ]
    leaf = w.clone().requires_grad_()
    f.vmap(f.grad(lambda x: value(leaf, x)))(x).pow(2).sum().backward()
    with torch.no_grad():
        results += [leaf.grad, slopes(leaf, x)]
    slope = slopes(leaf, x)
    return [*results, slope, torch.autograd.grad(slope.sum(), leaf)]


# -- in place, at indices, in several types ------------------------------------------------------------------------


def changes_in_place(torch):
    f = transforms(torch)
    x = numbers(torch, 3, 4)

    def views(x):
        y = x.clone()
        y[0] = y[1] * 2
        y[2:].mul_(x[0])
        z = y.view(2, 2)
        z[0] += 1
        z.t_()
        z[1, 0] = 5.0
        return (z * y.sum()).sum()

    def copies(x):
        y = x * 1
        part = y[1:3]
        part.copy_(x[:2] ** 2)
        part.unsqueeze(0).add_(x[3])
        return (y * y).sum()

    def new(x):
        y = torch.zeros_like(x)
        y[1] = x[0] * x[2]
        y.index_add_(0, torch.tensor([0, 1]), x[:2])
        y.masked_fill_(torch.tensor([True, False, False, False]), 3.0)
        return (y**2).sum()

    def columns(x):
        y = x.new_zeros(4, 2)
        y[:, 0] = x
        y[1:3, 1] = x[:2] * x[1]
        return y.prod(1).sum() + (y**2).sum()

    results = []
    for function in (views, copies, new, columns):
        mapped = f.vmap(function)
        results += [
            mapped(x), f.vmap(f.grad(function))(x), f.grad(lambda x: mapped(x).sum())(x),  # noqa: B023 - called at once
            f.vmap(f.jacfwd(function))(x), f.jacrev(mapped)(x), f.vmap(f.hessian(function))(x),
        ]
    z = x.clone()
    f.vmap(lambda x: x.mul_(2))(z)
    f.vmap(lambda x: x[1].zero_(), in_dims=1)(z)
    return [*results, z]


def indices(torch):
    f = transforms(torch)
    x, i = numbers(torch, 3, 4, 5), torch.tensor([[0, 2], [1, -1], [3, 0]])
    j = torch.tensor([[1, 1], [2, 0], [4, 3]])
    results = [f.vmap(lambda x, i: x[i])(x, i[:, 0])]
    for function in (
        lambda x, i, j: x[i], lambda x, i, j: x[:, j], lambda x, i, j: x[i, j], lambda x, i, j: x[i[:, None], j],
        lambda x, i, j: x[None, i, None, j], lambda x, i, j: x.index_select(1, j), lambda x, i, j: x.take(i),
        lambda x, i, j: x.gather(0, i[:, None].abs().expand(2, 5)), lambda x, i, j: torch.cat([x, x[i]]),
        lambda x, i, j: x.scatter(0, i[:, None].abs(), 2.0), lambda x, i, j: x.index_add(0, i.abs(), x[:2]),
        lambda x, i, j: x.index_put((i, j), x[0, :2]), lambda x, i, j: x.take_along_dim(i[:, None].abs(), 0),
    ):
        def squares(x, i, j, function=function):
            return function(x, i, j).pow(2).sum()

        results += [
            f.vmap(function)(x, i, j), f.vmap(function, (0, None, None))(x, i[0], j[0]),
            f.vmap(function, (None, 0, 0))(x[0], i, j), f.vmap(f.grad(squares))(x, i, j),
            f.vmap(f.grad(squares), (None, 0, 0))(x[0], i, j),
        ]
    return results


def types(torch):
    f = transforms(torch)
    x, s, v = torch.arange(3), torch.tensor([1.5, 2.5, 3.5], dtype=torch.float64), numbers(torch, 3, 2)
    return [
        f.vmap(lambda a, b: a * b)(v, s), f.vmap(lambda a, b: a + b)(x, s), f.vmap(lambda a: a / 2)(x),
        f.vmap(lambda a, b: a > b)(v, s), f.vmap(lambda a: a.to(torch.float64).sum())(v),
    ]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    compare(lambda torch: losses(torch, reduction))


def losses(torch, r):
    f, nn = transforms(torch), torch.nn.functional
    x, w = numbers(torch, 3, 4, 5), numbers(torch, 5).abs()
    y = torch.tensor([[0, 1, 2, 4], [3, 3, -100, 0], [1, 2, 3, 4]])
    t = numbers(torch, 3, 4, 5).abs().clamp(0, 1)
    results = []
    for loss in (
        lambda x, y, t: nn.cross_entropy(x, y, reduction=r), lambda x, y, t: nn.cross_entropy(x, y, w, reduction=r),
        lambda x, y, t: nn.cross_entropy(x, y, label_smoothing=0.1, reduction=r),
        lambda x, y, t: nn.mse_loss(x, t, reduction=r), lambda x, y, t: nn.smooth_l1_loss(x, t, reduction=r),
        lambda x, y, t: nn.binary_cross_entropy_with_logits(x, t, reduction=r),
        lambda x, y, t: nn.binary_cross_entropy(torch.sigmoid(x), t, reduction=r),
    ):
        def total(x, y, t, loss=loss):
            return loss(x, y, t).sum()

        results += [
            f.vmap(loss)(x, y, t), f.vmap(f.grad(total))(x, y, t), f.vmap(loss, (0, None, None))(x, y[0], t[0]),
            f.jacrev(loss)(x[0], y[0], t[0]),
        ]
    return results


# -- Functions ----------------------------------------------------------------------------------------------------


def functions(torch):
    f = transforms(torch)
    x = numbers(torch, 2, 3)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 20 * x  # not the derivative, to see that it is called

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * 30 * x

    class Derived(Square):
        generate_vmap_rule = True

    class Own(Square):
        @staticmethod
        def vmap(info, in_dims, x):
            assert (info.batch_size, info.randomness) == (x.shape[in_dims[0]], "error")
            return Own.apply(x), in_dims[0]

    class Two(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w, k):
            return x * w * k, x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, w, ctx.k = inputs
            ctx.save_for_backward(x, w)

        @staticmethod
        def backward(ctx, a, b):
            x, w = ctx.saved_tensors
            return a * w * ctx.k + b, a * x * ctx.k, None

    results = []
    for function in (Derived.apply, Own.apply):
        def total(x, function=function):
            return function(x).sum()

        results += [
            f.vmap(function)(x), f.vmap(function, in_dims=1, out_dims=1)(x), f.vmap(f.vmap(function))(x),
            f.vmap(f.grad(total))(x), f.jacrev(f.vmap(function))(x), f.hessian(total)(x[0]),
            f.grad(lambda x: f.vmap(f.grad(total))(x).sum())(x),
            f.vmap(lambda x: f.jvp(function, (x,), (x,)))(x),  # noqa: B023
        ]

    def sums(x, w):
        return sum([part.sum() for part in Two.apply(x, w, 2.0)])

    leaf = x.clone().requires_grad_()
    f.vmap(Derived.apply)(leaf).sum().backward()
    return [
        *results, leaf.grad, f.vmap(Two.apply, in_dims=(0, None, None))(x, x[0], 2.0),
        f.vmap(f.grad(sums, argnums=(0, 1)), in_dims=(0, None))(x, x[0]),
        f.grad(lambda w: f.vmap(sums, (0, None))(x, w).sum())(x[0]),
    ]


# -- comparison ---------------------------------------------------------------------------------------------------


def flat(results):
    if isinstance(results, dict):
        results = list(results.values())
    return [one for part in results for one in flat(part)] if isinstance(results, list | tuple) else [results]


def compare(function):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of missing batching rules, and of its own functions
        expected = flat(function(torch))
    found = flat(function(numgrad))
    assert len(found) == len(expected)
    for tensor, wanted in zip(found, expected, strict=True):
        assert (tuple(tensor.shape), str(tensor.dtype)) == (tuple(wanted.shape), str(wanted.dtype))
        np.testing.assert_allclose(tensor.detach().numpy(), wanted.detach().numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize(
    "function",
    [
        layers_for_each_example, embedding_and_attention, an_ensemble, jacobians, vmap_in_vmap,
        derivatives_around_vmap, changes_in_place, indices, types, functions,
    ],
)
def test_programs(function):
    compare(function)
