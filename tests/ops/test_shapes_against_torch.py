"""Views, parts, joins and rearrangements against PyTorch: values, strides, shared memory, gradients, nodes, errors.

Programs are expressions in ``m``, the module, ``F``, and the tensors ``x``, ``y`` and ``z``.
"""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = pytest.mark.torch

LAYOUTS = ("contiguous", "transposed", "stepped")


def program(expression):
    """The expression as a function of the module and up to three tensors."""

    def run(m, x, y=None, z=None):
        return eval(expression, {"m": m, "F": m.nn.functional, "x": x, "y": y, "z": z})

    return run


def shares(expression):
    """Return the outputs that lie in the memory of ``x``, with the elements at which they begin."""

    def run(m, x):
        outputs = eval(expression, {"m": m, "x": x})
        outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
        row = x.detach().numpy()
        places = [
            (o.data_ptr() - x.data_ptr()) // 8 if np.shares_memory(o.detach().numpy(), row) else -1 for o in outputs
        ]
        return m.tensor(places + [o.storage_offset() if p >= 0 else -1 for o, p in zip(outputs, places, strict=True)])

    return run


def expressions(text):
    return [line.strip() for line in text.split(";") if line.strip()]


VIEWS = expressions(
    "x.flatten(); x.flatten(1); x.flatten(0, 1); x.flatten(1, -1); x.flatten(2, 2); m.flatten(x, start_dim=1); "
    "x.unflatten(1, (3, 1)); x.unflatten(-1, (2, -1)); x.unflatten(2, (1, 2, 2)); m.unflatten(x, 1, (1, -1)); "
    "x.unflatten(dim=0, sizes=[2]); x.swapaxes(0, 1); x.swapdims(-1, 0); m.swapaxes(x, axis0=0, axis1=1); "
    "x.movedim(0, 1); x.movedim((0, 1), (2, 0)); x.moveaxis(0, -1); m.movedim(x, source=2, destination=0); "
    "x.movedim((), ()); x.permute(2, 0, 1); x.permute((0, 2, 1)); x.permute(dims=(1, 0, 2)); m.permute(x, (2, 1, 0)); "
    "x.T; x.mT; x.mH; x.adjoint(); x[0].H; x[0].t(); x[0, 0].t(); x[0].T; x.squeeze(); x[:1].squeeze((0, 1)); "
    "x[:, :1].squeeze(dim=1); x[:1].squeeze(()); x.unsqueeze(1); x.unsqueeze(-1); x.unsqueeze(dim=0); "
    "x.expand(5, 2, 3, 4); x[:, :1].expand(-1, 3, -1); x.expand(size=(2, 3, 4)); x.expand_as(x[None]); "
    "x.broadcast_to(2, 2, 3, 4); x.broadcast_to((1, 2, 3, 4)); m.broadcast_to(x, (2, 3, 4)); "
    "m.broadcast_tensors(x, x[:1]); m.broadcast_tensors(x[0], x[:, :1]); m.atleast_1d(x[0, 0, 0]); "
    "m.atleast_1d(x[0, 0]); m.atleast_2d(x[0, 0, 0]); m.atleast_2d(x[0, 0]); m.atleast_2d(x); "
    "m.atleast_3d(x[0, 0, 0]); m.atleast_3d(x[0, 0]); m.atleast_3d(x[0]); m.atleast_3d(x, x[0]); "
    "m.atleast_2d([x, x[0, 0]]); x.narrow(1, 1, 2); x.narrow(-1, -2, 1); x.narrow(1, m.tensor(1), 2); "
    "x.narrow(dim=0, start=0, length=0); x.select(1, -1); m.select(x, dim=0, index=1); x.split(2, 1); x.split(4, 2); "
    "x.split([1, 2], 1); x.split((1, 0, 2), dim=1); x.split(3, -1); m.split(x, 1); m.split(x, [1, 1]); "
    "m.split(tensor=x, split_size_or_sections=2, dim=2); x.split_with_sizes([2, 1], 1); x.tensor_split(2, 1); "
    "x.tensor_split(3, 2); x.tensor_split((1,), 1); x.tensor_split((1, 5), 2); x.tensor_split((-1,), 2); "
    "x.tensor_split(m.tensor([1, 2]), 2); x.tensor_split(m.tensor(2), 2); m.tensor_split(x, (2, 1), dim=2); "
    "x.chunk(2, 1); x.chunk(3, 2); x.chunk(9, 2); m.chunk(x, chunks=2, dim=-1); x.unbind(1); x.unbind(-1); "
    "m.unbind(x); "
    "x.unsafe_chunk(2, 1); x.unsafe_split(2, 1); x.unsafe_split_with_sizes([1, 2], 1); x.hsplit(3); x[0, 0].hsplit(2); "
    "x.hsplit([1, 2]); x.vsplit(2); x.dsplit([1]); m.dsplit(x, 2); x.diagonal(); x.diagonal(1, 1, 2); "
    "x.diagonal(-1, 0, -1); x.diagonal(9); x.diagonal(offset=1, dim1=2, dim2=0); m.diagonal(x[0]); "
    "x.unfold(2, 2, 1); x.unfold(1, 3, 1); x.unfold(2, 2, 3); x.unfold(-1, 4, 1); x.unfold(0, 0, 1); "
    "x.unfold(dimension=2, size=1, step=2); x[0, 0, 0].unfold(0, 1, 1); x.view_as(x); x[:]; x.real"
)


@pytest.mark.parametrize("expression", VIEWS)
def test_views(expression):
    for layout in LAYOUTS:
        arrays = randoms((2, 3, 4), layout=layout)
        assert_same(program(expression), *arrays)
        if "unsafe" not in expression:
            assert_same(shares(expression), *arrays)
    assert_same(program(expression), *randoms((2, 3, 4), dtype="float32"))


RESHAPES = expressions(
    "x.reshape(24); x.reshape(-1, 4); x.reshape(shape=(4, 6)); m.reshape(x, (2, 12)); x.reshape(6, 4); "
    "x.reshape(2, 3, 2, 2); x.reshape(2, 3, 4); x.reshape(2, 1, 3, 4); x.ravel(); m.ravel(x); x.reshape_as(x[0]); "
    "x.reshape(3, 2, 4); x.view(2, 3, 4); x.view(-1); x.view(size=(2, 12)); x.view([6, 4]); x.view(2, 3, 2, 2)"
)


@pytest.mark.parametrize("expression", RESHAPES)
def test_reshapes(expression):
    for layout in LAYOUTS:
        for order in ("x", "x.transpose(0, 1)", "x.permute(2, 0, 1)", "x[:, 1:]", "x[:, :1].expand(2, 3, 4)"):
            assert_same(program(expression.replace("x.", f"{order}.")), *randoms((2, 3, 4), layout=layout))


OTHERS = expressions(
    "m.stack((x, x)); m.stack([x, x * 2], -1); m.cat((x, x)); m.cat([x, x, x], dim=-1); m.concat([x, x]); "
    "m.concatenate([x, x], 1); m.cat((x,)); m.stack((x,)); m.hstack((x, x)); m.hstack((x[0, 0], x[0, 0])); "
    "m.hstack((x[0, 0, 0], x[0, 0])); m.vstack((x, x)); m.vstack((x[0, 0], x[0])); m.row_stack((x[0, 0], x[0, 0])); "
    "m.dstack((x, x)); m.dstack((x[0], x[0])); m.dstack((x[0, 0], x[0, 0])); m.column_stack((x[0, 0], x[0, 0])); "
    "m.column_stack((x[0], x[0])); m.column_stack((x[0, 0], x[0].t())); x.flip(0); x.flip(0, 2); x.flip((1,)); "
    "x.flip(dims=(-1,)); x.flip(()); m.flip(x, [1, 2]); x.fliplr(); x.flipud(); m.fliplr(x); x.roll(1); x.roll(-5); "
    "x.roll(1, 0); x.roll((1, 2), (0, 2)); x.roll(shifts=(1, 2), dims=(1, 1)); x.roll(0, 0); x.roll(7, -1); "
    "m.roll(x, 2, 2); x.rot90(); x.rot90(2); x.rot90(3); x.rot90(0); x.rot90(-1); x.rot90(1, (2, 0)); "
    "m.rot90(x, k=1, dims=[1, 2]); x.repeat(2, 1, 1); x.repeat(2, 1, 3, 2); x.repeat(1, 1, 1); x.repeat((1, 0, 2)); "
    "x.repeat(repeats=(1, 2, 1)); x.tile(2); x.tile((2, 2, 1, 1)); m.tile(x, (2,)); x.tile(dims=(2, 1)); "
    "x.repeat_interleave(2); x.repeat_interleave(2, dim=0); x.repeat_interleave(3, -1); x.repeat_interleave(0, 1); "
    "m.repeat_interleave(x, 2, dim=1, output_size=6); x[0].diag(); x[0, 0].diag(); x[0, 0].diag(1); x[0].diag(-1); "
    "x[0].diag(diagonal=9); x.diag_embed(); x.diag_embed(1, 0, -1); x.diag_embed(-2, 3, 1); m.diag_embed(x, offset=1); "
    "x.diagflat(); x[0].diagflat(1); m.diagflat(x[0, 0], offset=-1); x[0, 0, 0].diagflat(); x[0].trace(); "
    "m.trace(x[:, :, 0]); x.tril(); x.triu(1); x.tril(-1); x.triu(diagonal=-1); x.tril(9); x.triu(9); m.tril(x[0]); "
    "x.contiguous(); x.clone(); x.clone(memory_format=m.contiguous_format)"
    "; m.meshgrid(x[0, 0], x[0, :, 0], indexing='ij'); m.meshgrid(x[0, 0], x[0, :, 0], indexing='xy'); "
    "m.meshgrid([x[0, 0]], indexing='xy'); m.meshgrid(x[0, 0], x[0, 0, 0], x[0, :, 0], indexing='xy'); "
    "m.meshgrid(x[0, 0], x[0, 0, 0], x[0, :, 0], indexing='ij'); m.cartesian_prod(x[0, 0], x[0, :, 0]); "
    "m.cartesian_prod(x[0, 0]); m.block_diag(x[0], x[0, 0], x[0, 0, 0]); m.block_diag(x[0, :0], x[0])"
)
PADS = expressions(
    "F.pad(x, (1, 2)); F.pad(x, (1, 2), value=3.5); F.pad(x, [0, 0, 1, 1]); F.pad(x, (-1, 1)); F.pad(x, (-1, -2)); "
    "F.pad(x, (0, 0)); F.pad(x, (1, 1, 1, 1, 1, 1), 'constant', 1); F.pad(x, (2, 0, -1, 1)); F.pad(x, ())"
)
OWN_NODES = expressions(
    "F.pad(x, (1, 2), 'reflect'); F.pad(x, (2, 0), 'replicate'); F.pad(x, (3, 4), mode='circular'); "
    "F.pad(x, (1, 2, 2, 1), 'reflect'); F.pad(x, (1, 2, 3, 4), 'replicate'); F.pad(x, (1, 2, 3, 0), 'circular'); "
    "F.pad(x, (-1, 2), 'reflect'); F.pad(x, (3, -2, -1, 1), 'replicate'); F.pad(x, (-1, 2, 1, -1), 'circular'); "
    "F.pad(x[None, None], (1, 1, 1, 0, 1, 1), 'reflect'); m.combinations(x[0, 0]); m.combinations(x[0, 0], 3); "
    "m.combinations(x[0, 0], with_replacement=True); m.combinations(x[0, 0], 0); m.combinations(x[0, 0], 5)"
)


@pytest.mark.parametrize("expression", OTHERS + PADS)
def test_rearrangements(expression):
    for layout in LAYOUTS:
        assert_same(program(expression), *randoms((2, 3, 4), layout=layout))
    assert_same(program(expression), *randoms((2, 3, 4), dtype="float32"))
    for dtype in ("int64", "bool", "uint8"):
        assert_same(program(expression), np.arange(24).reshape(2, 3, 4).astype(dtype))


@pytest.mark.parametrize("expression", OWN_NODES)
def test_functions_with_other_nodes_in_pytorch(expression):
    for layout in LAYOUTS:
        assert_same(program(expression), *randoms((2, 3, 4), layout=layout), graph=False)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_repeats_counted_by_a_tensor(dim):
    for counts in ([1, 2, 0], [3], 2, [0, 0, 0]):
        (x,) = randoms((3, 3))
        if dim is None and isinstance(counts, list) and len(counts) == 3:
            counts = counts * 3
        for kind in ("int64", "int32"):
            assert_same(program(f"x.repeat_interleave(y, dim={dim})"), x, np.asarray(counts, kind))
            if isinstance(counts, list):
                assert_same(program("m.repeat_interleave(y)"), x, np.asarray(counts, kind))


OF_NONE = expressions(
    "x.flatten(); x.flatten(0, 1); x.unflatten(0, (0, 3)); x.unflatten(0, (-1, 3)); x.movedim(0, 1); x.split(2, 1); "
    "x.split(0); x.split(2); x.chunk(3); x.unsafe_chunk(2); x.tensor_split(3); x.unbind(); x.unbind(1); x.roll(1); "
    "x.roll(1, 0); x.detach().rot90(); x.repeat(2, 2); x.repeat_interleave(2); x.repeat_interleave(2, 1); x.tril(); "
    "x.diag(); "
    "x.diagonal(); x.diag_embed(); x.unfold(1, 2, 1); x.unfold(0, 0, 1); x.trace(); m.cat((x, x)); m.stack((x, x)); "
    "m.hstack((x, x)); x.flip(0); x.expand(2, 0, 3); x.as_strided((0,), (1,)); x.reshape(3, 0); x.T; x.squeeze(); "
    "m.meshgrid(x[:, 0], x[:, 1], indexing='ij'); m.cartesian_prod(x[:, 0], x[:, 1]); m.block_diag(x, x); "
    "F.pad(x, (1, 1)); "
    "F.pad(x, (0, 0, 1, 1)); m.atleast_3d(x); x.diagflat(); x.contiguous()"
)


@pytest.mark.parametrize("expression", OF_NONE)
def test_empty_tensors(expression):
    assert_same(program(expression), *randoms((0, 3)))


ERRORS = expressions(
    "x.flatten(2, 1); x.flatten(5); x.unflatten(1, ()); x.unflatten(1, (2, 2)); x.unflatten(1, (-1, -1)); "
    "x.unflatten(1, (-1, 2)); x.movedim((0, 1), (0,)); x.movedim((0, 0), (0, 1)); x.movedim((0, 1), (1, 1)); "
    "x.movedim(0, 5); x.permute(0, 1); x.permute(0, 0, 1); x.permute(0, 1, 5); x.permute('a'); x[0, 0].mT; "
    "x[0, 0].H; x.H; "
    "x[0, 0].mH; x[0, 0].adjoint(); x.t(); m.broadcast_shapes((2, 3), (4,)); m.broadcast_shapes((-1,)); "
    "m.broadcast_tensors(x, x[:, :2]); x.split(-1); x.split(0); x.split([1, 2, 3]); x.split([-1, 3]); "
    "x[0, 0, 0].split(1); x[0, 0, 0].chunk(1); x.chunk(0); x.split(1.5); x[0, 0, 0].unbind(); x.unbind(7); "
    "x.tensor_split(0); x[0, 0, 0].tensor_split(1); x.tensor_split(m.tensor([1.5])); x[0, 0, 0].hsplit(1); "
    "x[0, 0].vsplit(1); x[0].dsplit(2); x[0, 0].hsplit(3); x[0, 0].hsplit(0); m.stack(()); m.stack((x, x[0])); "
    "m.stack((x, 1)); m.stack(x); m.cat(x); m.hstack(()); m.hstack((x, x[0, 0])); m.cat((x, x[0])); "
    "m.cat((x, x[:, :2])); m.cat((x[0, 0, 0], x[0, 0, 0])); m.cat((x, x), dim=4); m.cat((1, 2)); m.cat(()); "
    "x.roll(1, 5); "
    "x.roll((1, 2), 0); x.roll((1, 2)); x.roll(()); x.rot90(1, (0,)); x[0, 0].rot90(); x.rot90(1, (0, 0)); "
    "x.rot90(1, (0, 5)); x.rot90(1, (0, -3)); x.repeat(2); x.repeat(-1, 1, 1); x.repeat('a'); x.tile(-1); "
    "x.repeat_interleave(-1); x.repeat_interleave(m.tensor([1, 2, 3]), dim=0); "
    "x.repeat_interleave(m.tensor([1., 2]), dim=0); x.repeat_interleave(m.tensor([[1, 2]]), dim=0); "
    "x.repeat_interleave(m.tensor([-1, 2]), dim=0); x.repeat_interleave(2, dim=0, output_size=7); "
    "x.repeat_interleave(m.tensor([1, 2]), dim=0, output_size=7); x.unfold(0, 5, 1); x.unfold(0, -1, 1); "
    "x.unfold(0, 2, 0); "
    "x.unfold(3, 2, 1); x[0, 0].diagonal(); x.diagonal(0, 0, 0); x.diagonal(0, 0, 5); x[0, 0, 0].diag(); x.diag(); "
    "x.diag_embed(0, 0, 0); x[0, 0, 0].diag_embed(); x.trace(); (x[0] > 0).trace(); x[0, 0].tril(); x.tril(1.5); "
    "x.as_strided((2, 2), (99, 9)); x.as_strided((2, 2), (1,)); x.as_strided((2, 2), (-1, 1)); "
    "x.as_strided((2, 2), (1, 1), -1); x.as_strided((2,), (1,), 24); x.view(5); x.view(-1, -1); x.view(-2, 12); "
    "x.view(0, -1); "
    "x.view('a'); x.view(2.5); x.permute(2, 1, 0).view(24); x.view(()); x.reshape('a'); x.reshape(5, -1); "
    "x.reshape(-1, 0); x.expand(3); "
    "x.expand(-1, 2, 3, 4); x.expand(2, 3, 5); x.expand(2, 3, -2); x.expand('a'); x.unsqueeze(5); x.squeeze(5); "
    "x.squeeze((0, 0)); x.transpose(0, 5); x.narrow(0, 1, 5); x.narrow(0, -5, 1); x.narrow(0, 5, 1); "
    "x.narrow(0, 1, -1); "
    "x[0, 0, 0].narrow(0, 0, 0); x.narrow(0, m.tensor([1]), 1); x.narrow(0, m.tensor(1.), 1); x.narrow(5, 0, 1); "
    "x.select(0, 5); x.select(5, 0); x[0, 0, 0].select(0, 0); x.flip(5); x.flip(0, 0); x.flip('a'); x[0, 0].fliplr(); "
    "x[0, 0, 0].flipud(); m.meshgrid(x, x); m.meshgrid(x[0, 0], indexing='zz'); m.meshgrid(x[0, 0], x[0, 0].float()); "
    "m.cartesian_prod(x, x); m.combinations(x); m.combinations(x[0, 0], -1); F.pad(x, (1,)); "
    "F.pad(x, (1, 1, 1, 1, 1, 1, 1, 1)); F.pad(x, (-5, 0)); F.pad(x, (-3, -2)); F.pad(x, (4, 0), 'reflect'); "
    "F.pad(x[0, 0], (1, 1), 'reflect'); F.pad(x[0], (1, 1, 1, 1), 'reflect'); F.pad(x, (1, 1), 'zzz'); "
    "F.pad(x, (1, 1), 'reflect', 1.0); F.pad(x, (1.5, 1)); F.pad(x, (5, 0), 'circular'); "
    "F.pad(x, (-3, -2), 'reflect'); F.pad(x, (-2, -2), 'replicate'); F.pad(x, (-3, -2), 'circular'); "
    "F.pad(x[:, :0], (1, 1), 'replicate'); m.block_diag(x); "
    "x.is_nonzero(); x[:0].is_nonzero(); m.numel(3); m.flatten(3); m.roll(3, 1); m.unbind(3)"
)


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression):
    import torch

    import numgrad

    messages = []
    for m in (torch, numgrad):
        x = m.arange(24, dtype=m.float64).reshape(2, 3, 4)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - of any kind, as long as both are the same
            program(expression)(m, x)
        messages.append(caught)
    assert messages[1].type is messages[0].type
    known = str(messages[0].value).split("\n")[0].split(" (position")[0].rstrip(".")
    if "invalid combination" not in known and "unexpected error" not in known:
        assert words(known)[:3] == words(str(messages[1].value))[:3]


def words(message):
    return [word.strip(".,:`'()") for word in message.split()]


FACTS = expressions(
    "m.numel(x); m.is_tensor(x); m.is_tensor(3); x.ndimension(); x.is_contiguous(); x.T.is_contiguous(); "
    "x[0, 0, 1].is_nonzero(); m.is_nonzero(x[0, 0, 0] * 0); x.is_same_size(x); m.is_same_size(x, x[0]); "
    "tuple(m.broadcast_shapes((2, 1), (3,), 1)); m.broadcast_shapes() == (); x.flatten(2, 2) is x; "
    "m.atleast_1d(x) is x; m.broadcast_tensors(x, x)[0] is x; x.contiguous() is x; m.cartesian_prod(x[0, 0]).dim(); "
    "type(x.split(1)).__name__; type(m.meshgrid(x[0, 0], indexing='ij')).__name__; x.diagonal(9).storage_offset()"
)


@pytest.mark.parametrize("expression", FACTS)
def test_facts(expression):
    import torch

    import numgrad

    found, expected = [program(expression)(m, m.ones(2, 3, 4)) for m in (numgrad, torch)]
    assert found == expected


# -- views that overlap ---------------------------------------------------------------------------------------------

STRIDED = expressions(
    "(2, 2), (1, 1); (3, 4), (4, 1); (4, 3), (1, 4); (2, 3, 2), (3, 1, 1); (5,), (0,); (3, 2), (0, 2); "
    "(2, 2), (2, 3), 5; "
    "(), (), 7; (2, 2, 2), (4, 2, 1); (1, 5), (100, 2)"
)


@pytest.mark.parametrize("arguments", STRIDED)
def test_any_strides(arguments):
    assert_same(program(f"x.as_strided({arguments})"), *randoms((3, 4)))
    assert_same(program(f"m.as_strided(x, {arguments}) * 2"), *randoms((3, 4), layout="transposed"))
    for part in ("x[1:]", "x[:, 1:]", "x.t()", "x[::2]", "x[:, :1].expand(4, 4)", "x[0].unfold(0, 2, 1)"):
        if arguments != "(2, 2), (2, 3), 5":
            view = program(f"({part}).as_strided({arguments})")
            assert_same(view, *randoms((4, 4)), requires_grad=not _leads_beyond(part, arguments))


def _leads_beyond(part, arguments):
    """Return True if the view has elements outside of the part, whose gradients PyTorch loses."""
    numbers = numgrad.arange(16).reshape(4, 4)
    own, shown = [
        set(program(text)(numgrad, numbers).flatten().tolist()) for text in (part, f"({part}).as_strided({arguments})")
    ]
    return not shown <= own


def test_second_derivatives_of_overlapping_views():
    def second(view):
        def run(m, x, y):
            out = view(x) ** 3
            (first,) = m.autograd.grad(out, x, y.expand(out.shape), create_graph=True)
            return m.autograd.grad((first * first).sum(), (x, y))

        return run

    x, y = randoms((3, 4), ())
    for view in (lambda x: x.as_strided((3, 3), (1, 2)), lambda x: x.unfold(1, 3, 1), lambda x: x.diagonal(1),
                 lambda x: x[:, :1].expand(3, 4).as_strided((2, 3), (4, 0)), lambda x: x.unfold(1, 2, 2)):
        assert_same(second(view), x, y, graph=False)


IN_PLACE = expressions(
    "x.as_strided((2, 2), (1, 4)); x.as_strided((3,), (4,), 1); x.unfold(1, 2, 2); x.diagonal(); x.movedim(0, 1); "
    "x.flatten(); x.unflatten(1, (2, 2)); x.t().reshape(4, 3, 1); x.narrow(0, 1, 1); x.mT; x.squeeze(); x[1:].ravel()"
)


@pytest.mark.parametrize("expression", IN_PLACE)
def test_writing_through_views(expression):
    def changed(m, x):
        x = x * 1
        part = eval(expression, {"m": m, "x": x})
        part.mul_(3)
        return x, part, x * 2, part * part

    def stale(m, x):
        x = x * 1
        part = eval(expression, {"m": m, "x": x})
        x.mul_(x.detach().clone())
        return part * 2, x

    assert_same(changed, *randoms((3, 4)))
    assert_same(stale, *randoms((3, 4)))


TRIANGLES = expressions("x.tril_(); x.triu_(1); x.t().tril_(-1); x[1:].triu_(); x.tril_(9)")


@pytest.mark.parametrize("expression", TRIANGLES)
def test_triangles_in_place(expression):
    def changed(m, x):
        x = x * 1
        part = eval(expression, {"m": m, "x": x})
        return x, part * 2

    for layout in LAYOUTS:
        assert_same(changed, *randoms((3, 4), layout=layout))
    assert_same(program(expression), *randoms((3, 4)))  # of a leaf that requires a gradient: an error


VIEWED = [
    "x", "x.t()", "x[:, 1:]", "x[:, 1:3]", "x[1:, 2:]", "x[:, ::2]", "x[:, :5]", "x[0, 0]", "x[:0]", "x[:, :0]",
    "x.expand(2, 4, 6)", "x[:, :1].expand(4, 6)", "x.requires_grad_()", "x.requires_grad_() * 2",
]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "int16", "uint8", "bool"])
@pytest.mark.parametrize("expression", VIEWED)
def test_views_as_another_dtype(expression, dtype):
    found = []
    for m in (numgrad, __import__("torch")):
        x = eval(expression, {"x": m.arange(24.0).reshape(4, 6)})
        try:
            view = x.view(getattr(m, dtype))
        except RuntimeError as error:
            found.append(str(error))
            continue
        facts = view.requires_grad, view.is_leaf, view.storage_offset(), view.stride(), view._version == x._version
        found.append((facts, str(view.dtype), view.tolist()))
    assert found[0] == found[1]
