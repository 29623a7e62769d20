"""The examples, in a short form: they learn, and their losses are PyTorch's."""

import contextlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import numgrad

EXAMPLES = Path(__file__).parents[1] / "examples"

#: Steps after which the loss is lower than at the beginning, on which PyTorch's and numgrad's still agree.
STEPS = {"equilibrium": 20, "gpt": 6, "lstm": 8, "neural_ode": 25, "pinn": 2, "vae": 25}

#: The same for programs that PyTorch cannot run.
OWN = {"epidemic": 10}


@contextlib.contextmanager
def _without_torch():
    """Remove PyTorch from the imported modules, whatever other tests did."""
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "torch"}
    try:
        yield
    finally:
        sys.modules.update(hidden)


def _losses(name, monkeypatch, *arguments):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    return main(["--steps", str({**STEPS, **OWN}[name]), *arguments])


def _numgrads_losses(name, monkeypatch, *arguments):
    with _without_torch(), numgrad.install_as_torch():
        return _losses(name, monkeypatch, *arguments)


@pytest.mark.parametrize("name", [*STEPS, *OWN])
def test_an_example_learns(name, monkeypatch, tmp_path, capsys):
    picture = tmp_path / "losses.svg"
    losses = _numgrads_losses(name, monkeypatch, "--plot", str(picture))
    assert len(losses) == {**STEPS, **OWN}[name]
    assert min(losses[len(losses) // 2 :]) < losses[0]
    assert picture.read_text().startswith("<?xml")
    assert len(capsys.readouterr().out.splitlines()) > 1  # a result, and where the picture is


def test_every_example_is_tried():
    in_several_processes = "heat"  # see tests/distributed
    assert {file.stem for file in EXAMPLES.glob("*.py")} == {*STEPS, *OWN, "common", in_several_processes}


@pytest.mark.torch
@pytest.mark.parametrize("name", STEPS)
def test_losses_are_pytorchs(name, monkeypatch):
    wanted = _losses(name, monkeypatch)
    np.testing.assert_allclose(_numgrads_losses(name, monkeypatch), wanted, rtol=1e-3)
