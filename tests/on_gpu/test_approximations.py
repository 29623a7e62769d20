"""Functions in float32 on GPUs divide by approximate reciprocals: their own errors stay those of the CPU."""

import re

import numpy as np
import pytest
from scipy import special

import numgrad as torch

#: Functions, their values in float64, and the greatest error in units in the last place.
FUNCTIONS = {
    "sigmoid": (torch.sigmoid, special.expit, 2), "tanh": (torch.tanh, np.tanh, 2),
    "erfc": (torch.special.erfc, special.erfc, 4), "log": (lambda x: abs(x).log(), lambda x: np.log(abs(x)), 2),
    "log1p": (lambda x: abs(x).log1p(), lambda x: np.log1p(abs(x)), 2),
}  # fmt: skip


@pytest.fixture
def inexact(cuda, monkeypatch):
    """Reciprocals one unit in the last place too large, as NVIDIA's manual allows."""
    if not cuda.runtime.is_emulated():
        pytest.skip("only the emulator approximates as badly as allowed")
    from numgrad_kernels.cuda.emulator import translation

    exact = translation.handlers["rcp"]

    def translated(t, instruction):
        exact(t, instruction)
        if "approx" in instruction.opcode:
            value = t.read(instruction.operands[0], "float")
            bits = t.do(f"add i32 {t.do(f'bitcast float {value} to i32')}, 1")
            is_number = t.do(f"fcmp one float {t.do(f'fmul float {value}, 0.0')}, {value}")
            value = t.do(f"select i1 {is_number}, float {t.do(f'bitcast i32 {bits} to float')}, float {value}")
            t.write(instruction.operands[0], value, "float")

    monkeypatch.setitem(translation.handlers, "rcp", translated)
    monkeypatch.setattr(cuda.launching, "kernels", {})
    monkeypatch.setattr(cuda.launching, "_hand_written", {})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_small_though_reciprocals_are_inexact(inexact, name):
    function, reference, most = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, scale, 4000) for scale in (1e-3, 1, 5, 50)] + [[np.inf, -np.inf, 1e38, 0]])
    x = x.astype(np.float32)
    found = function(torch.from_numpy(x).to("cuda")).cpu().numpy()
    with np.errstate(divide="ignore"):
        exact = reference(x.astype(np.float64))
    finite = np.isfinite(exact) & (abs(exact) > 1e-37)
    np.testing.assert_array_equal(found[~np.isfinite(exact)], exact[~np.isfinite(exact)])
    error = abs(found[finite] - exact[finite]) / np.spacing(abs(exact[finite]).astype(np.float32))
    assert error.max() < most


@pytest.mark.parametrize("function", [torch.nn.functional.gelu, torch.nn.functional.silu, torch.sigmoid, torch.tanh])
def test_activations_have_no_exact_divisions(cuda, function):
    if cuda.runtime.driver.__name__.endswith("simulated"):
        pytest.skip("Numba's simulator compiles nothing")
    kernels = torch.inspect(function, torch.zeros(20, device="cuda").requires_grad_())
    assert not [kernel.name for kernel in kernels if re.search(r"(div|rcp)\.rn\.f32", kernel.ptx)]
