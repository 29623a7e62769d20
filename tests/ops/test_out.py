"""Results written into a tensor that the caller gives as ``out``."""

import pytest

import numgrad as ng


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, out: ng.exp(x * 0, out=out), [[1.0, 1.0], [1.0, 1.0]]),
        (lambda x, out: ng.add(x, x, out=out), [[0.0, 2.0], [4.0, 6.0]]),
        (lambda x, out: ng.add(x, 1, alpha=2, out=out), [[2.0, 3.0], [4.0, 5.0]]),
        (lambda x, out: ng.clamp(x, 1, 2, out=out), [[1.0, 1.0], [2.0, 2.0]]),
        (lambda x, out: ng.div(x, 2, out=out), [[0.0, 0.5], [1.0, 1.5]]),
        (lambda x, out: ng.maximum(x, x.T, out=out), [[0.0, 2.0], [2.0, 3.0]]),
        (lambda x, out: ng.matmul(x, x, out=out), [[2.0, 3.0], [6.0, 11.0]]),
        (lambda x, out: ng.cumsum(x, 0, out=out), [[0.0, 1.0], [2.0, 4.0]]),
        (lambda x, out: ng.cat([x[:1], x[:1]], out=out), [[0.0, 1.0], [0.0, 1.0]]),
        (lambda x, out: ng.stack([x[1], x[0]], out=out), [[2.0, 3.0], [0.0, 1.0]]),
        (lambda x, out: ng.vstack([x[1], x[0]], out=out), [[2.0, 3.0], [0.0, 1.0]]),
        (lambda x, out: ng.remainder(x, 2, out=out), [[0.0, 1.0], [0.0, 1.0]]),
        (lambda x, out: ng.floor_divide(x, 2, out=out), [[0.0, 0.0], [1.0, 1.0]]),
    ],
    ids=[
        "exp", "add", "alpha", "clamp", "div", "maximum", "matmul", "cumsum", "cat", "stack", "vstack",
        "remainder", "floor_divide",
    ],
)
def test_the_result_is_written_into_out(call, expected):
    out = ng.full((2, 2), -1.0)
    assert call(ng.arange(4.0).reshape(2, 2), out) is out
    assert out.tolist() == expected
    assert out._version == 1


def test_out_may_be_an_operand_and_a_view():
    x = ng.arange(4.0).reshape(2, 2)
    ng.mul(x[0], 10, out=x[1])
    assert ng.add(x, 1, out=x).tolist() == [[1.0, 2.0], [1.0, 11.0]]


def test_several_results():
    values, indices = ng.empty(2), ng.empty(2, dtype=ng.int64)
    found = ng.max(ng.tensor([[1.0, 3.0], [5.0, 4.0]]), 1, out=(values, indices))
    assert found.values is values
    assert found.indices is indices
    assert (values.tolist(), indices.tolist()) == ([3.0, 5.0], [1, 0])
    with pytest.raises(TypeError, match="'out' must be tuple of 2 Tensors"):
        ng.max(ng.ones(2, 2), 1, out=values)


def test_an_empty_out_takes_the_shape_of_the_result():
    x, out = ng.arange(4.0).reshape(2, 2), ng.empty(0)
    assert ng.add(x.T, 1, out=out) is out
    assert out.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert out.is_contiguous()
    out.zero_()
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_an_out_of_another_shape_takes_the_shape_of_the_result():
    x, out = ng.arange(4.0).reshape(2, 2), ng.zeros(5)
    memory = out.detach()
    with pytest.warns(UserWarning, match=r"had shape \[5\], which does not match the required output shape \[2, 2\]"):
        assert ng.add(x.T, 1, out=out) is out
    assert out.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert memory.tolist() == [1.0, 3.0, 2.0, 4.0, 0.0]  # large enough, so it is kept
    with pytest.warns(UserWarning, match="resized"):
        assert ng.cat([x, x], out=out).shape == (4, 2)
    assert memory.tolist() == [1.0, 3.0, 2.0, 4.0, 0.0]


@pytest.mark.parametrize("call", [
    ng.linalg.pinv, ng.linalg.matrix_rank, ng.linalg.cond, ng.linalg.norm, ng.linalg.matrix_norm,
    lambda x, out: ng.linalg.vecdot(x, x, out=out), lambda x, out: ng.linalg.cross(x, x, out=out),
    lambda x, out: ng.linalg.matrix_power(x, 2, out=out), lambda x, out: ng.linalg.multi_dot([x, x], out=out),
])
def test_functions_of_linear_algebra_write_to_out(call):
    x = ng.eye(3)
    expected = call(x, out=None)
    out = ng.zeros(expected.shape, dtype=expected.dtype)
    assert call(x, out=out) is out
    assert out.tolist() == expected.tolist()


def test_factors_are_written_to_tensors_of_their_dtype_alone():
    x = ng.eye(2)
    for call in (ng.linalg.inv, ng.linalg.det, ng.linalg.norm, ng.linalg.svdvals, ng.linalg.vector_norm, ng.inverse):
        for dtype in (ng.float64, ng.complex64):
            with pytest.raises(RuntimeError, match=r"Expected out tensor to have dtype torch\.float32"):
                call(x, out=ng.zeros(0, dtype=dtype))
    assert ng.linalg.pinv(x, out=ng.zeros(0, dtype=ng.complex64)).tolist() == [[1, 0], [0, 1]]


def test_results_that_cannot_be_written():
    x, out = ng.ones(2), ng.zeros(2)
    with pytest.raises(TypeError, match=r"^add\(\): argument 'out' must be Tensor, not int$"):
        ng.add(x, x, out=3)
    with pytest.raises(RuntimeError, match=r"result type Float can't be cast to the desired output type Long"):
        ng.add(x, x, out=out.long())
    with pytest.raises(RuntimeError, match=r"mm\(\): out has shape \[1\], but the result has \[1, 1\]"):
        ng.mm(x[None], x[:, None], out=out[:1])
    for given, target in ((ng.ones(2, requires_grad=True), out), (x, ng.ones(2, requires_grad=True))):
        with pytest.raises(RuntimeError, match=r"functions with out=... arguments don't support automatic diff"):
            ng.exp(given, out=target)
    assert out.tolist() == [0.0, 0.0]
    with ng.no_grad():
        assert ng.exp(ng.zeros(2, requires_grad=True), out=out).tolist() == [1.0, 1.0]


def test_a_tensor_written_once_is_checked_again():
    """A second call of the same layouts uses a cached entry, but repeats checks that depend on more than layouts."""
    x, out = ng.arange(3.0), ng.zeros(3)
    for number in range(2):
        assert ng.mul(x, 2.0 + number, out=out) is out
        assert out.tolist() == [0.0, 2.0 + number, 4.0 + 2 * number]
        assert ng.neg(out, out=out).tolist() == [0.0, -2.0 - number, -4.0 - 2 * number]
        assert out._version == 2 + 2 * number
    memory = ng.arange(4.0)
    assert ng.neg(memory[:3], out=memory[1:]).tolist() == [0.0, -1.0, -2.0]  # all is read first
    assert memory.tolist() == [0.0, 0.0, -1.0, -2.0]
    with pytest.raises(RuntimeError, match=r"functions with out=... arguments don't support automatic diff"):
        ng.neg(x.requires_grad_(), out=out)
    one = ng.zeros(1).expand(3)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            ng.exp(ng.zeros(3), out=one)


def test_a_view_is_written_to_and_its_base_knows():
    base = ng.zeros(2, 3)
    for row in range(2):
        assert ng.add(ng.ones(3), row, out=base[row]).tolist() == [1.0 + row] * 3
    assert base.tolist() == [[1.0] * 3, [2.0] * 3]
    assert base._version == 2


def test_real_results_of_complex_numbers_are_written():
    """An operation that is refused in place may still write to another tensor."""
    input, out = ng.tensor([3 + 4j]), ng.zeros(1)
    for _ in range(2):
        assert ng.abs(input, out=out) is out
        assert out.tolist() == [5.0]
        with pytest.raises(RuntimeError, match="In-place abs is not supported for complex"):
            input.abs_()
    assert ng.angle(ng.tensor([1j]), out=out).tolist() == pytest.approx([1.5707963])


@pytest.mark.parametrize(
    ("create", "shape"),
    [
        (lambda **out: ng.eye(2, **out), (2, 2)), (lambda **out: ng.arange(1, 4, **out), (3,)),
        (lambda **out: ng.linspace(1, 3, 3, **out), (3,)), (lambda **out: ng.logspace(0, 1, 2, **out), (2,)),
        (lambda **out: ng.full((2,), 7, **out), (2,)), (lambda **out: ng.rand(3, **out), (3,)),
        (lambda **out: ng.randn(3, **out), (3,)), (lambda **out: ng.randint(9, (3,), **out), (3,)),
        (lambda **out: ng.randperm(3, **out), (3,)),
    ],
    ids=["eye", "arange", "linspace", "logspace", "full", "rand", "randn", "randint", "randperm"],
)
def test_new_tensors_are_written_into_out_in_its_dtype(create, shape):
    out = ng.empty(shape, dtype=ng.float64)
    ng.manual_seed(0)
    expected = create(dtype=ng.float64)
    ng.manual_seed(0)
    assert create(out=out) is out
    assert out.equal(expected)
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter \(Double\)"):
        create(out=out, dtype=ng.float32)
