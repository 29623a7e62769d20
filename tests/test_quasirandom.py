"""Points of Sobol sequences, which are PyTorch's."""

import importlib

import pytest

from numgrad.quasirandom import SobolEngine

pytest.importorskip("scipy")


def test_parts_of_the_sequence_follow_each_other():
    whole = SobolEngine(3).draw(8)
    engine = SobolEngine(3)
    parts = [engine.draw(2), engine.draw_base2(1), engine.fast_forward(2).draw(2)]
    assert [part.tolist() for part in parts] == [whole[:2].tolist(), whole[2:4].tolist(), whole[6:].tolist()]
    assert engine.num_generated == 8
    assert engine.reset().draw(1).tolist() == [[0, 0, 0]]


def test_errors():
    with pytest.raises(ValueError, match=r"Supported range of dimensionality .* \[1, 21201\], not 0"):
        SobolEngine(0)
    with pytest.raises(ValueError, match=r"n=1\+2\*\*5=33"):
        SobolEngine(2).fast_forward(1).draw_base2(5)


@pytest.mark.torch
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 3}, {"scramble": True}])
def test_points_are_those_of_pytorch(options):
    drawn = []
    for name in ("numgrad", "torch"):
        importlib.import_module(name).manual_seed(7)
        engine = importlib.import_module(f"{name}.quasirandom").SobolEngine(4, **options)
        drawn.append((engine.draw(16).tolist(), engine.draw(3).tolist(), repr(engine)))
    assert drawn[0] == drawn[1]
