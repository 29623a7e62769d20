"""Sequences of different lengths, padded and packed, against PyTorch's."""

import inspect

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = pytest.mark.torch


def present(packed):
    return [one for one in packed if one is not None]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(("lengths", "sorted"), [([4, 4, 2], True), ([4, 1, 3], False), ([2, 4, 2], False)])
@pytest.mark.parametrize("rest", [(), (3,), (2, 2)])
def test_there_and_back(lengths, sorted, batch_first, rest):
    def program(m, x):
        rnn = m.nn.utils.rnn
        if batch_first:
            x = x.transpose(0, 1)
        packed = rnn.pack_padded_sequence(x, m.tensor(lengths), batch_first, sorted)
        padded = rnn.pad_packed_sequence(packed, batch_first, 1.5, 6)
        return [*present(packed), *padded, *rnn.pad_packed_sequence(packed), *rnn.unpack_sequence(packed)]

    assert_same(program, *randoms((5, 3, *rest)), graph=False)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_sequences_in_one_tensor(side, batch_first):
    def program(m, *sequences):
        rnn = m.nn.utils.rnn
        padded = rnn.pad_sequence(list(sequences), batch_first, -1.0, side)
        back = rnn.unpad_sequence(padded.clone(), m.tensor([3, 1, 4]), batch_first)
        return [padded, *back, *present(rnn.pack_sequence(sequences, enforce_sorted=False)),
                rnn.pad_sequence(iter(sequences[:1]))]

    assert_same(program, *randoms((3, 2), (1, 2), (4, 2)), graph=False)


def test_the_graph():
    def program(m, x):
        rnn = m.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, [4, 2])
        padded = rnn.pad_packed_sequence(packed)[0], rnn.pad_packed_sequence(packed, True)[0], rnn.pad_sequence([x, x])
        names.append([tensor.grad_fn.name() for tensor in (packed.data, *padded)])
        return packed.data

    names = []
    assert_same(program, *randoms((5, 2, 3)), graph=False)
    assert names[0] == names[1]


def test_dtypes():
    def program(m):
        rnn, ones = m.nn.utils.rnn, [m.ones(2, dtype=m.int64), m.ones(3)]
        packed = rnn.pack_sequence([m.arange(3), m.arange(2)])
        kinds = [packed.double(), packed.float(), packed.int(), packed.short(), packed.char(), packed.byte()]
        assert packed.long() is packed
        assert packed.cpu() is packed
        assert not packed.is_cuda
        assert not packed.is_pinned()
        converted = rnn.pack_sequence(ones[::-1], False).to(m.float64)
        return [rnn.pad_sequence(ones, padding_value=1.5), rnn.pad_sequence(ones[::-1]), *present(converted),
                *[kind.data for kind in kinds]]

    assert_same(program)


def test_the_class():
    def program(m):
        rnn = m.nn.utils.rnn
        data, sizes = m.ones(3, 2), m.tensor([2, 1])
        packed = rnn.PackedSequence(data, sizes, m.tensor([1, 0]))
        texts.append(repr(rnn.PackedSequence((data, sizes))))
        assert isinstance(packed, tuple)
        return [*packed, *rnn.pad_packed_sequence(packed), rnn.invert_permutation(m.tensor([2, 0, 1]))]

    texts = []
    assert_same(program)
    assert texts[0] == texts[1]
    assert numgrad.nn.utils.rnn.invert_permutation(None) is None


def test_names_and_parameters():
    import torch

    theirs, ours = torch.nn.utils.rnn, numgrad.nn.utils.rnn
    assert set(ours.__all__) == set(theirs.__all__)
    for name in ours.__all__:
        own, expected = [inspect.signature(getattr(m, name)).parameters.values() for m in (ours, theirs)]
        assert [(one.name, one.default) for one in own] == [(one.name, one.default) for one in expected]


@pytest.mark.parametrize("program", [
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(5, 2, 3), [3, 4]),
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(5, 2, 3), [4, 0]),
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(5, 2, 3), [4]),
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(5, 2, 3), [[4, 3]]),
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(0, 2, 3), [4, 3]),
    lambda rnn, m: rnn.pack_padded_sequence(m.ones(5), [4]),
    lambda rnn, m: rnn.pack_sequence([m.ones(2), m.ones(3)]),
    lambda rnn, m: rnn.pad_sequence([m.ones(3, 2), m.ones(2, 3)]), lambda rnn, m: rnn.pad_sequence([]),
    lambda rnn, m: rnn.pad_sequence([m.ones(2)], padding_side="top"), lambda rnn, m: rnn.pad_sequence(3),
    lambda rnn, m: rnn.PackedSequence(m.ones(2, 3)),
    lambda rnn, m: rnn.pad_packed_sequence(rnn.pack_sequence([m.ones(4)]), total_length=3),
    lambda rnn, m: rnn.unpad_sequence(m.ones(3, 2), m.tensor([1, 2, 3])),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(lambda m: program(m.nn.utils.rnn, m))
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected)[:40])


def test_a_length_beyond_the_steps():
    """PyTorch reads whatever is there."""
    with pytest.raises(RuntimeError, match="an element of 'lengths' is 8, but there are 5 steps"):
        numgrad.nn.utils.rnn.pack_padded_sequence(numgrad.ones(5, 2, 3), [8, 3])


def test_second_derivatives():
    def through(x):
        rnn = numgrad.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False)
        return rnn.pad_packed_sequence(packed._replace(data=packed.data**2), batch_first=True)[0]

    x = numgrad.from_numpy(np.ascontiguousarray(randoms((4, 2, 2))[0])).requires_grad_()
    assert numgrad.autograd.gradcheck(through, x)
    assert numgrad.autograd.gradgradcheck(through, x)
