"""Programs of many steps: machine code in several functions, and memory that is used again."""

import random

import pytest

import numgrad
from numgrad.programs.memory_plan import MemoryPlan
from numgrad.programs.recorded_steps import FRESH, Block
from numgrad.programs.recorder import Recorder


def test_machine_code_in_several_functions(monkeypatch):
    def f(x, index):
        for _ in range(7):
            x = (x * 1.5).tanh() + x[index]
        return x, x.sum(0)

    x, index = numgrad.randn(5, 3), numgrad.tensor([4, 3, 2, 1, 0])
    expected = f(x, index)
    monkeypatch.setattr("numgrad.devices.cpu.linking._PART", 4)
    compiled = numgrad.compile(f, fullgraph=True)
    for _ in range(3):
        assert all(map(numgrad.equal, compiled(x, index), expected))
    with pytest.raises(IndexError):  # the kernel of a step in a later function reports it, too
        compiled(x, numgrad.tensor([4, 3, 2, 1, 5]))
    assert all(map(numgrad.equal, compiled(x, index), expected))


@pytest.mark.parametrize("seed", range(8))
def test_blocks_in_use_at_once_lie_apart(seed):
    choose, recorder = random.Random(seed), Recorder([])
    for first in range(200):
        last = first + choose.choice([0, 1, 3, 50])
        block = Block(FRESH, 0, choose.choice([4, 64, 100, 4096]), None, None, first=first)
        block.last = last
        recorder.blocks.append(block)
    plan = MemoryPlan(recorder, [])
    spans = [(plan.arena_offset(block), block) for block in recorder.blocks]
    for number, (begin, block) in enumerate(spans):
        for other, later in spans[number + 1:]:
            if later.first <= block.last:
                assert begin + block.size <= other or other + later.size <= begin
    ends = [begin + block.size for begin, block in spans]
    assert max(ends) <= plan.arena
    most = max(sum(one.size + 64 for one in recorder.blocks if one.first <= step <= one.last) for step in range(200))
    assert plan.arena <= 1.5 * most
