"""Operations in float16 and bfloat16, which are computed in float32 and rounded once."""

import numpy as np
import pytest
from ops.sampling import REPRESENTATIVES
from ops.test_other_dtypes import first_cases

import numgrad as torch
from numgrad.nn import functional
from numgrad.ops.table.elementwise import Pointwise

#: The dtypes, which alternate between operations.
HALVES = torch.float16, torch.bfloat16

#: Operations that, in their samples, follow another one whose results are rounded.
COMPOSED = {
    "attention_backward", "batch_norm_backward", "ctc_loss_backward", "layer_norm_backward", "recurrent_layer_backward",
}

#: Operations that take float32 statistics, too.  Only their first result is rounded; backward converts the others.
WITH_STATISTICS = {"attention_backward", "group_norm_backward", "recurrent_layer_backward"}


def cases():
    """Each operation that takes float32, in one of the dtypes; one kernel is made like another of pointwise ones."""
    chosen = [
        case for case in first_cases("float32") if not isinstance(case.op, Pointwise) or case.op.name in REPRESENTATIVES
    ]
    dtypes = [HALVES[number % 2] for number, _ in enumerate(chosen)]
    return [pytest.param(case, dtype, id=f"{case}-{dtype}") for case, dtype in zip(chosen, dtypes, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize(("case", "dtype"), cases())
def test_results_are_those_of_float32_rounded_once(case, dtype):
    leaves = [t if t is None or not t.is_floating_point() else t.to(dtype) for t in case.leaves("float32")]
    if case.op.host is not None:  # a decomposition or a Fourier transform
        with pytest.raises((NotImplementedError, RuntimeError), match=r"Low precision dtypes|not implemented for"):
            case(*leaves)
        return
    outputs = case(*leaves)
    expected = case(*[t if t is None or not t.is_floating_point() else t.float() for t in leaves])
    results = len(outputs) if getattr(case.op, "view", False) else len(getattr(case.op, "outputs", ("out",)))
    if case.op.name in WITH_STATISTICS:
        results = 1
    for number, (output, of_wide) in enumerate(zip(outputs, expected, strict=True)):
        assert output.shape == of_wide.shape
        assert output.dtype is (dtype if of_wide.dtype is torch.float32 and number < results else of_wide.dtype)
        if case.op.name in COMPOSED:
            np.testing.assert_allclose(output.tolist(), of_wide.tolist(), 0.1, 0.1)
        else:
            np.testing.assert_array_equal(output.tolist(), of_wide.to(output.dtype).tolist())


@pytest.mark.parametrize("dtype", HALVES)
def test_functions_that_read_elements_or_limits(dtype):
    x, target = torch.tensor([0.01, 0.02]).to(dtype), torch.tensor([0.0, 1.0])
    scale = (x.float().square().mean() + torch.finfo(torch.float32).eps).rsqrt()  # of the dtype that is computed in
    assert functional.rms_norm(x, (2,), x).equal((x.float() * scale * x.float()).to(dtype))
    loss = functional.binary_cross_entropy(x, target.to(dtype))
    assert loss.equal(functional.binary_cross_entropy(x.float(), target).to(dtype))
    assert functional.mse_loss(x, target).equal(functional.mse_loss(x.float(), target))  # promoted to float32
    assert torch.mvlgamma(x + 2, 2).equal(torch.mvlgamma((x + 2).float(), 2).to(dtype))
    assert functional.cross_entropy(x, torch.tensor(1), label_smoothing=0.1).dtype is dtype
    assert torch.bernoulli(target.to(dtype)).equal(target.to(dtype))
    with pytest.raises(NotImplementedError, match="nextafter"):
        torch.nextafter(x, x)
