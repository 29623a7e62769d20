"""Checks that ``examples/heat.py`` computes what one process would: run by ``together.py``."""

import sys
from pathlib import Path

import numgrad
import numgrad.distributed as dist
from numgrad.distributed.nn.functional import broadcast

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

import heat

losses = heat.main(["--steps", "2"])
rank, size = dist.get_rank(), dist.get_world_size()
assert losses[1] < losses[0]

truth = numgrad.tensor(heat.TRUTH, dtype=numgrad.float64)
plate, whole = heat.Plate(rank, size), heat.Plate(0, 1)
with numgrad.no_grad():
    expected = whole.measure(truth)
    assert numgrad.allclose(plate.measure(truth), expected.tensor_split(size, 1)[rank])
sources = (truth * 1.1).requires_grad_()
(gradient,) = numgrad.autograd.grad((whole.measure(sources) - expected).square().sum(), sources)
loss = (plate.measure(broadcast(sources, 0)) - expected.tensor_split(size, 1)[rank]).square().sum()
(found,) = numgrad.autograd.grad(loss, sources)
assert numgrad.allclose(found, gradient if rank == 0 else numgrad.zeros_like(found))
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    print(f"{size} ranks have checked the example")
