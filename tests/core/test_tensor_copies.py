"""Tensors as Python objects: identity, copies and pickles, attributes and subclasses."""

import copy
import pickle

import pytest

import numgrad
from numgrad import Tensor, arange, tensor


@pytest.fixture
def matrix():
    return tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- identity and copies ----------------------------------------------------------------


def test_hash_is_identity(matrix):
    same = tensor(matrix.tolist())
    assert len({matrix, same, matrix}) == 2
    assert {matrix: 1}[matrix] == 1


def test_copy_shares_memory(matrix):
    matrix.note = "kept"
    copied = copy.copy(matrix.t())
    copied[0, 1] = 10
    assert matrix[1, 0].item() == 10
    assert copy.copy(matrix).note == "kept"


def test_deepcopy_copies_everything():
    x = tensor([[1.0, 2.0], [3.0, 4.0]]).t().requires_grad_()
    x.grad = numgrad.ones(2, 2)
    x.note = ["kept"]
    copied = copy.deepcopy(x)
    assert copied.requires_grad
    assert copied.is_leaf
    assert copied.stride() == (1, 2)
    assert copied.grad.tolist() == [[1, 1], [1, 1]]
    assert copied.note == ["kept"]
    with numgrad.no_grad():
        copied.zero_()
        copied.grad.zero_()
        copied.note.append("more")
    assert x.tolist() == [[1, 3], [2, 4]]
    assert x.grad.tolist() == [[1, 1], [1, 1]]
    assert x.note == ["kept"]


def test_deepcopy_keeps_what_is_shared(matrix):
    first, second, part = copy.deepcopy([matrix, matrix, matrix[0]])
    assert first is second
    part[1] = 20
    assert first[0, 1].item() == 20
    assert matrix[0, 1].item() == 2


def test_deepcopy_of_a_result_is_refused(matrix):
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user.*MulBackward0"):
        copy.deepcopy(matrix.requires_grad_() * 2)
    assert copy.deepcopy((matrix * 2).detach()).tolist() == (matrix * 2).tolist()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(matrix, protocol):
    def roundtrip(x):
        return pickle.loads(pickle.dumps(x, protocol))

    matrix.note = 7
    transposed, again, whole = roundtrip([matrix.t(), matrix, matrix])
    assert transposed.tolist() == matrix.t().tolist()
    assert transposed.stride() == (1, 3)
    assert again is whole
    assert again.note == 7
    transposed[2, 1] = 60
    assert again[1, 2].item() == 60  # they share memory as before
    assert roundtrip(arange(3)).dtype is numgrad.int64
    assert roundtrip(tensor([1.0], requires_grad=True)).requires_grad


# --- attributes and subclasses ----------------------------------------------------------


def test_any_attribute_may_be_set(matrix):
    matrix.note = "a parameter"
    assert matrix.note == "a parameter"
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'missing'"):
        _ = matrix.missing
    for name in ("shape", "dtype", "is_leaf", "grad_fn"):
        with pytest.raises(AttributeError):
            setattr(matrix, name, None)


class Parameter(Tensor):
    """A typical subclass of a user."""

    def norm(self):
        return (self * self).sum().sqrt()


def test_a_subclass_is_made_from_data_and_survives_copies():
    p = Parameter([3.0, 4.0])
    assert type(p) is Parameter
    assert isinstance(p, Tensor)
    assert p.norm().item() == 5
    for copied in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(copied) is Parameter
        assert copied.norm().item() == 5


def test_a_subclass_takes_part_in_the_graph():
    p = Parameter([3.0, 4.0]).requires_grad_()
    p.norm().backward()
    assert p.grad.tolist() == pytest.approx([0.6, 0.8])
    assert p.norm().grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0].variable is p


@pytest.mark.parametrize(("node", "copied"), [
    ("ToCopyBackward0", lambda x: x.to(numgrad.float32, copy=True)),
    ("ToCopyBackward0", lambda x: x.to("cpu", copy=True)),
    ("ToCopyBackward0", lambda x: x.t().to(x, copy=True)),
    ("ToCopyBackward0", lambda x: x.double()),
    ("CloneBackward0", lambda x: x.clone()),
    ("CloneBackward0", lambda x: x.t().contiguous()),
    ("torch::autograd::CopyBackwards", lambda x: numgrad.zeros(2, 3).copy_(x)),
])
def test_which_node_a_copy_is(matrix, node, copied):
    assert copied(matrix.requires_grad_()).grad_fn.name() == node
