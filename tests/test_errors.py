"""Bad input: PyTorch's kind of exception, a message with the shapes or dtypes in question, and nothing changed.

Every case runs while a graph is ready for its backward pass, on tensors that already have gradients: their
elements, versions, gradients and nodes must not change, nor the results of the backward pass.
"""

import pytest
from snapshots import Scene, refused, unchanged

import numgrad
from numgrad import arange, autograd, cat, ones, stack, tensor, where, zeros

functional = numgrad.nn.functional


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.check_backward()


def case(action, error, *words):
    return pytest.param(action, error, words, id=f"{error.__name__}: {words[0]}")


def check(scene, action, error, words):
    with refused(error, scene.all, *words):
        action(scene)


# --- shapes -----------------------------------------------------------------------------

MUST_MATCH = "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        case(lambda s: s.leaf + ones(2), RuntimeError, MUST_MATCH, "[2, 3]", "[2]"),
        case(lambda s: s.square * ones(3, 2), RuntimeError, "[2, 3]", "[3, 2]"),
        case(lambda s: s.root < ones(2), RuntimeError, MUST_MATCH),
        case(lambda s: numgrad.maximum(s.leaf, ones(4, 3)), RuntimeError, "dimension 0", "[2, 3]", "[4, 3]"),
        case(lambda s: where(s.leaf > 2, s.root, ones(2)), RuntimeError, "[2, 3]", "[2]"),
        case(lambda s: s.plain.add_(ones(2)), RuntimeError, MUST_MATCH),
        case(lambda s: s.plain[0].add_(s.root), RuntimeError, "output with shape [3]", "broadcast shape [2, 3]"),
        case(lambda s: s.row.mul_(s.leaf), RuntimeError, "output with shape [3]", "broadcast shape [2, 3]"),
        case(lambda s: s.square.copy_(ones(2)), RuntimeError, "[2, 3]", "[2]"),
        case(lambda s: s.plain[0].copy_(ones(2, 3)), RuntimeError, "[3]", "[2, 3]"),
        case(lambda s: s.leaf @ s.leaf, RuntimeError, "cannot be multiplied (2x3 and 2x3)"),
        case(lambda s: s.leaf @ ones(2), RuntimeError, "size mismatch", "(2x3)", "(2)"),
        case(lambda s: ones(4) @ s.leaf, RuntimeError, "(1x4 and 2x3)"),
        case(lambda s: s.row @ ones(2), RuntimeError, "[3]", "[2]"),
        case(lambda s: s.leaf @ tensor(1.0), RuntimeError, "at least 1D", "2D and 0D"),
        case(lambda s: numgrad.mm(s.leaf, s.row), RuntimeError, "[2, 3]", "[3]"),
        case(lambda s: numgrad.dot(s.leaf, s.row), RuntimeError, "[2, 3]", "[3]"),
        case(lambda s: ones(4, 2, 3) @ ones(5, 3, 2), RuntimeError, "tensor a (4)", "tensor b (5)"),
        case(lambda s: s.leaf.view(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
        case(lambda s: s.leaf.reshape(-1, 4), RuntimeError, "shape '[-1, 4]' is invalid for input of size 6"),
        case(lambda s: s.leaf.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
        case(lambda s: s.leaf.t().view(6), RuntimeError, "view size is not compatible", "[3, 2]", "Use .reshape"),
        case(lambda s: s.leaf.expand(4, 3), RuntimeError, "expanded size of the tensor (4)", "size (2)", "[4, 3]"),
        case(lambda s: s.leaf.expand(3), RuntimeError, "number of sizes provided (1)", "[2, 3]"),
        case(lambda s: s.leaf.expand(-1, 2, 3), RuntimeError, "expanded size of the tensor (-1)"),
        case(lambda s: cat([s.leaf, s.row]), RuntimeError, "same number of dimensions: got 2 and 1", "[2, 3]", "[3]"),
        case(lambda s: cat([s.leaf, ones(2, 4)]), RuntimeError, "except in dimension 0", "[2, 3]", "[2, 4]"),
        case(lambda s: cat([s.loss]), RuntimeError, "zero-dimensional tensor (at position 0)"),
        case(lambda s: cat([]), ValueError, "expected a non-empty list of Tensors"),
        case(lambda s: stack([s.leaf, s.row]), RuntimeError, "[2, 3] at entry 0", "[3] at entry 1"),
        case(lambda s: ones(1, 2, 3).t(), RuntimeError, "t() expects a tensor with <= 2 dimensions", "3D"),
        case(lambda s: s.leaf.permute(0, 0), RuntimeError, "[0, 0]", "[2, 3]"),
        case(lambda s: s.leaf.permute(0, 1, 2), RuntimeError, "input.dim() = 2 is not equal to len(dims) = 3"),
        case(lambda s: s.loss.narrow(0, 0, 1), RuntimeError, "0-dim tensor"),
        case(lambda s: s.leaf.narrow(1, 2, 2), RuntimeError, "start (2) + length (2) exceeds dimension size (3)"),
        case(lambda s: zeros(0).max(), RuntimeError, "max(): Expected reduction dim", "numel() == 0"),
        case(lambda s: zeros(0, 3).max(0), IndexError, "Expected reduction dim 0 to have non-zero size"),
        case(lambda s: s.leaf.sum((0, 0)), RuntimeError, "dim 0 appears multiple times"),
    ],
)
def test_shapes_that_do_not_fit(scene, action, error, words):
    check(scene, action, error, words)


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        case(lambda s: functional.cross_entropy(s.root, tensor([0, 1, 2])), ValueError, "[2, 3]", "[3]"),
        case(lambda s: functional.binary_cross_entropy_with_logits(s.root, ones(2)), ValueError, "[2, 3]", "[2]"),
    ],
)
def test_targets_that_do_not_fit(scene, action, error, words):
    check(scene, action, error, words)


# --- dtypes -----------------------------------------------------------------------------

WHOLE = tensor([[1, 2, 3], [4, 5, 6]])
MASK = tensor([True, False])


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        case(lambda s: s.leaf @ WHOLE.t(), RuntimeError, "same dtype", "float != long int", "[2, 3]", "[3, 2]"),
        case(lambda s: numgrad.mv(s.leaf, s.row.double()), RuntimeError, "same dtype", "Float", "Double"),
        case(lambda s: where(WHOLE, s.leaf, s.root), RuntimeError, "boolean tensor", "Long"),
        case(lambda s: where(s.leaf, s.leaf, s.root), RuntimeError, "boolean tensor", "Float"),
        case(lambda s: WHOLE.mean(), RuntimeError, "floating point", "Long"),
        case(lambda s: WHOLE.softmax(0), NotImplementedError, "'Long'", "[2, 3]"),
        case(lambda s: numgrad.relu(MASK), RuntimeError, "Boolean inputs not supported", "[2]"),
        case(lambda s: -MASK, RuntimeError, "bool tensor is not supported", "[2]"),
        case(lambda s: s.leaf & 1, NotImplementedError, "'Float'", "[2, 3]"),
        case(lambda s: WHOLE ** -1, RuntimeError, "negative integer powers", "torch.int64", "[2, 3]"),
        case(lambda s: WHOLE.add_(0.5), RuntimeError, "result type Float can't be cast", "output type Long"),
        case(lambda s: WHOLE.mul_(s.leaf), RuntimeError, "result type Float can't be cast", "output type Long"),
        case(lambda s: WHOLE.sqrt_(), RuntimeError, "result type Float can't be cast", "output type Long"),
        case(lambda s: functional.cross_entropy(s.root, ones(2)), RuntimeError, "Long", "Float", "[2]"),
        case(lambda s: s.leaf.to(numgrad.Tensor), TypeError, "numgrad has no dtype"),
    ],
)
def test_dtypes_that_do_not_fit(scene, action, error, words):
    with unchanged(WHOLE, MASK):
        check(scene, action, error, words)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda x: x.requires_grad_(), ["torch.int64", "[2]"]),
        (lambda x: setattr(x, "requires_grad", True), ["torch.int64", "[2]"]),
        (lambda x: tensor([1, 2], requires_grad=True), ["torch.int64", "[2]"]),
        (lambda x: zeros(2, dtype=numgrad.bool, requires_grad=True), ["torch.bool", "[2]"]),
        (lambda x: autograd.Variable(x, requires_grad=True), ["torch.int64", "[2]"]),
    ],
)
def test_integers_do_not_require_gradients(action, words):
    x = tensor([1, 2])
    with refused(RuntimeError, [x], "nly Tensors of floating point", "dtype can require gradients", *words):
        action(x)


# --- indices and dimensions -------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        case(lambda s: s.leaf[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        case(lambda s: s.root[0, -4], IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        case(lambda s: s.square.select(1, 3), IndexError, "index 3 out of range", "size [2, 3] at dimension 1"),
        case(lambda s: s.loss[0], IndexError, "invalid index of a 0-dim tensor"),
        case(lambda s: s.leaf[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        case(lambda s: s.plain.__setitem__((0, 3), 1), IndexError, "index 3 is out of bounds"),
        case(lambda s: s.leaf.sum(2), IndexError, "expected to be in range of [-2, 1], but got 2"),
        case(lambda s: s.leaf.softmax(-3), IndexError, "expected to be in range of [-2, 1], but got -3"),
        case(lambda s: s.leaf.max(5), IndexError, "Dimension out of range"),
        case(lambda s: s.leaf.transpose(0, 2), IndexError, "Dimension out of range"),
        case(lambda s: s.leaf.unsqueeze(4), IndexError, "expected to be in range of [-3, 2], but got 4"),
        case(lambda s: s.leaf.squeeze(2), IndexError, "Dimension out of range"),
        case(lambda s: cat([s.leaf, s.leaf], 2), IndexError, "Dimension out of range"),
        case(lambda s: functional.cross_entropy(s.root, tensor([0, 3])), IndexError, "3", "out of bounds"),
        case(lambda s: functional.cross_entropy(s.root, tensor([-1, 0])), IndexError, "-1", "out of bounds"),
        case(lambda s: s.leaf.view("6"), TypeError, "str"),
        case(lambda s: s.leaf.reshape(2.0, 3), TypeError, "float"),
        case(lambda s: s.leaf.expand(None), TypeError, "NoneType"),
    ],
)
def test_indices_and_dimensions_out_of_range(scene, action, error, words):
    check(scene, action, error, words)


# --- in place ---------------------------------------------------------------------------

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        case(lambda s: s.leaf.add_(1), RuntimeError, LEAF),
        case(lambda s: s.leaf.__imul__(s.plain), RuntimeError, LEAF),
        case(lambda s: s.leaf.exp_(), RuntimeError, LEAF),
        case(lambda s: s.leaf.zero_(), RuntimeError, LEAF),
        case(lambda s: s.leaf.fill_(3), RuntimeError, LEAF),
        case(lambda s: s.leaf.copy_(s.plain), RuntimeError, LEAF),
        case(lambda s: s.leaf.pow_(2), RuntimeError, LEAF),
        case(lambda s: s.leaf[0].sub_(1), RuntimeError, VIEW),
        case(lambda s: s.leaf.view(6).zero_(), RuntimeError, VIEW),
        case(lambda s: s.leaf.t().copy_(s.plain.t()), RuntimeError, VIEW),
        case(lambda s: s.leaf.__setitem__((0, 0), 1), RuntimeError, VIEW),
    ],
)
def test_leaves_are_not_changed_in_place(scene, action, error, words):
    check(scene, action, error, words)


def test_a_view_made_without_grad_is_not_changed_with_it(scene):
    with numgrad.no_grad():
        view = scene.square[0]
    check(scene, lambda s: view.add_(1), RuntimeError, ["A view was created in no_grad mode"])


OVERLAPS_ITSELF = "more than one element of the written-to tensor refers to a single memory location"
OVERLAPS = "some elements of the input tensor and the written-to tensor refer to a single memory location"


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1), lambda x: x.mul_(x), lambda x: x.exp_(), lambda x: x.copy_(ones(1)), lambda x: x.pow_(2),
        lambda x: x.__itruediv__(2), lambda x: x.__setitem__(..., ones(1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "make",
    [lambda x: x.expand(4, 2, 3), lambda x: x[:, :1].expand(2, 3), lambda x: x[0, 0].expand(5).view(5)],
)
def test_expanded_memory_is_not_written_to(make, write):
    base = arange(6.0).reshape(2, 3)
    wide = make(base)
    with refused(RuntimeError, [base, wide], OVERLAPS_ITSELF, str(list(wide.shape)), "clone()"):
        write(wide)


@pytest.mark.parametrize(
    "write",
    [lambda x: x[1:].add_(x[:-1]), lambda x: x[1:].copy_(x[:-1]), lambda x: x[:-1].mul_(x[1:]), lambda x: x.sub_(x[0])],
)
def test_partly_overlapping_memory_is_not_written_to(write):
    x = arange(6.0).reshape(3, 2)
    with refused(RuntimeError, [x], OVERLAPS, "clone()"):
        write(x)


def test_memory_that_is_the_same_or_apart_is_written_to():
    x = arange(4.0)
    x.add_(x).mul_(x.view(2, 2).view(4)).sub_(x.detach())
    assert x.tolist() == [0, 0, 0, 0]
    y = arange(6.0)
    y[:3].add_(y[3:])
    y[::2].mul_(y[1::2])
    assert y.tolist() == [15, 5, 21, 3, 20, 5]
    # one number for all elements, however often each is met
    assert x.fill_(3)[:1].expand(2).fill_(4).zero_().tolist() == [0, 0]
    assert x.tolist() == [0, 3, 3, 3]
