"""Indices that change after they were checked: backward must not follow them out of the memory of its tensors.

Index tensors are saved, not copied, and change without anybody's knowledge through ``.data``, through a NumPy array of
the same memory, or in an unpack hook.  The programs run in processes of their own: a write outside ends the process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numgrad
from numgrad.nn import functional

# -- the operations: ``x`` is of shape (4, 3), ``index`` makes an index tensor of a list ------------------------------

ROWS, GRID = [3, 0, 0, 2, 1], [[0, 1, 3], [2, 0, 0]]


def _part(*shape: int) -> Any:
    return (numgrad.rand(*shape) + 0.5).requires_grad_()


READING: dict[str, Callable[[Any, Any], Any]] = {
    "gather": lambda x, index: x.gather(0, index(GRID)),
    "gather along the last dimension": lambda x, index: x.gather(1, index([[2, 0], [1, 1], [0, 0], [2, 2]])),
    "gather of 0-d": lambda x, index: x.sum().gather(0, index([0, 0])),
    "take_along_dim": lambda x, index: x.take_along_dim(index(GRID), 0),
    "take_along_dim of all": lambda x, index: numgrad.take_along_dim(x, index(ROWS)),
    "index_select": lambda x, index: x.index_select(0, index(ROWS)),
    "index_select of columns": lambda x, index: x.index_select(1, index([2, 2, 0])),
    "index_select of 0-d": lambda x, index: x.sum().index_select(0, index([0])),
    "take": lambda x, index: x.take(index([[11, 0], [3, 3]])),
    "take of a transposed": lambda x, index: x.t().take(index(ROWS)),
    "x[i]": lambda x, index: x[index(ROWS)],
    "x[:, i]": lambda x, index: x[:, index([0, 2, 2])],
    "x[i, j]": lambda x, index: x[index([0, 3]), index([1, 2])],
    "x.t()[i, j]": lambda x, index: x.t()[index([0, 2]), index([1, 3])],
    "x[i, :, j]": lambda x, index: x.reshape(2, 2, 3)[index([0, 1]), :, index([1, 2])],
    "embedding": lambda x, index: functional.embedding(index(GRID), x),
    "embedding with padding": lambda x, index: functional.embedding(index(ROWS), x, padding_idx=1),
    "embedding by frequency": lambda x, index: functional.embedding(index(ROWS), x, scale_grad_by_freq=True),
    "nll_loss": lambda x, index: functional.nll_loss(x, index([0, 2, 1, 1])),
    "nll_loss, each": lambda x, index: functional.nll_loss(x, index([0, 2, 1, 1]), reduction="none"),
    "nll_loss, ignoring": lambda x, index: functional.nll_loss(x, index([0, 2, 1, 1]), ignore_index=1),
    "nll_loss, weighted": lambda x, index: functional.nll_loss(x, index([0, 2, 1, 1]), numgrad.rand(3)),
    "nll_loss of a vector": lambda x, index: functional.nll_loss(x[0], index(2)),
    "nll_loss of an image": lambda x, index: functional.nll_loss(x.reshape(1, 3, 2, 2), index([[[0, 1], [2, 2]]])),
    "cross_entropy": lambda x, index: functional.cross_entropy(x, index([0, 2, 1, 1])),
    "cross_entropy, smoothed": lambda x, index: functional.cross_entropy(x, index([0, 2, 1, 1]), label_smoothing=0.1),
}

WRITING: dict[str, Callable[[Any, Any], Any]] = {
    "scatter": lambda x, index: x.scatter(0, index(GRID), _part(2, 3)),
    "scatter a number": lambda x, index: x.scatter(0, index(GRID), 2.0),
    "scatter, multiplying": lambda x, index: x.scatter(0, index(GRID), 2.0, reduce="multiply"),
    "scatter_": lambda x, index: x.clone().scatter_(0, index(GRID), _part(2, 3)),
    "scatter_add": lambda x, index: x.scatter_add(0, index(GRID), _part(2, 3)),
    "scatter_add_": lambda x, index: x.clone().scatter_add_(1, index([[0, 2], [1, 1]]), _part(2, 2)),
    **{
        f"scatter_reduce {reduce} {own}": lambda x, index, reduce=reduce, own=own: x.scatter_reduce(
            0, index(GRID), _part(2, 3), reduce, include_self=own
        )
        for reduce in ("sum", "mean", "prod", "amax", "amin")
        for own in (True, False)
    },
    "index_add": lambda x, index: x.index_add(0, index(ROWS), _part(5, 3)),
    "index_add with alpha": lambda x, index: x.index_add(1, index([2, 0]), _part(4, 2), alpha=3),
    "index_add_": lambda x, index: x.clone().index_add_(0, index(ROWS), _part(5, 3)),
    "index_copy": lambda x, index: x.index_copy(0, index([3, 1]), _part(2, 3)),
    "index_copy_": lambda x, index: x.clone().index_copy_(1, index([2, 0]), _part(4, 2)),
    "index_fill": lambda x, index: x.index_fill(0, index([3, -1]), 2.0),
    "index_fill with a tensor": lambda x, index: x.index_fill(1, index([2, -3, 2]), _part(1)[0]),
    "index_fill_": lambda x, index: x.clone().index_fill_(0, index([1]), 2.0),
    "put": lambda x, index: x.put(index([11, -1, 4]), _part(3)),
    "put, adding": lambda x, index: x.put(index([11, -1, 4]), _part(3), accumulate=True),
    "put_": lambda x, index: x.clone().put_(index([11, -1, 4]), _part(3)),
    "index_put": lambda x, index: x.index_put((index([3, 0]),), _part(2, 3)),
    "index_put of a row": lambda x, index: x.index_put((index([3, 0]),), _part(3)),
    "index_put, adding": lambda x, index: x.index_put((index([3, 0]), index([1, 1])), _part(2), accumulate=True),
    "index_put_ of columns": lambda x, index: x.t().clone().index_put_((index([2, 0]),), _part(2, 4)),
    "x[i] = y": lambda x, index: _assigned(x.clone(), index([3, 0]), _part(2, 3)),
}

#: These find their indices themselves.
FINDING: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda x, index: x.max(0)[0],
    "min, kept": lambda x, index: x.min(1, keepdim=True)[0],
    "sort": lambda x, index: x.sort(0)[0],
    "sort, stable": lambda x, index: x.sort(1, descending=True, stable=True)[0],
    "msort": lambda x, index: x.msort(),
    "topk": lambda x, index: x.topk(2, 0)[0],
    "kthvalue": lambda x, index: x.kthvalue(2)[0],
    "median": lambda x, index: x.median(0)[0],
    "nanmedian": lambda x, index: x.nanmedian(1)[0],
    "mode": lambda x, index: x.mode(0)[0],
    "cummax": lambda x, index: x.cummax(0)[0],
    "cummin": lambda x, index: x.cummin(1)[0],
    "aminmax": lambda x, index: x.aminmax(dim=0)[0],
}

#: Masks have no bounds, but the number of elements that they select can change.
MASKED: dict[str, Callable[[Any, Any], Any]] = {
    "masked_select": lambda x, index: x.masked_select(index([[True, False, True]] * 4)),
    "masked_select of a row": lambda x, index: x[0].masked_select(index([[True, False, True]] * 4)),
    "masked_fill": lambda x, index: x.masked_fill(index([[True, False, True]] * 4), 2.0),
    "masked_scatter": lambda x, index: x.masked_scatter(index([[True, False, True]] * 4), _part(8)),
    "masked_scatter_": lambda x, index: x.clone().masked_scatter_(index([[True, False, True]] * 4), _part(9)),
    "where": lambda x, index: numgrad.where(index([[True, False, True]] * 4), x, _part(4, 3)),
    "x[mask]": lambda x, index: x[index([True, False, False, True])],
    "x[mask, i]": lambda x, index: x[index([True, False, False, True]), index([0, 2])],
    "x[mask] = y": lambda x, index: _assigned(x.clone(), index([True, False, False, True]), _part(2, 3)),
}

#: What uses no index in its gradient, or keeps none that could be reached.
WITHOUT_INDICES = ("aminmax",)

#: Numbers that lead outside of every dimension, and of all elements; the least that do are among them.
OUTSIDE = (12, -13, 2**63 - 1, -(2**63))


def _assigned(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


# -- ways to change indices -------------------------------------------------------------------------------------------


def _nodes(node: Any) -> Iterator[Any]:
    waiting, seen = [node], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [following for following, _ in node.next_functions]


def _saved_indices(tensor: Any) -> list[Any]:
    """The index tensors that the graph of a tensor holds."""
    saved = [
        getattr(node, name) for node in _nodes(tensor.grad_fn) for name in dir(node) if name.startswith("_saved_")
    ]
    return [t for t in saved if isinstance(t, numgrad.Tensor) and t.dtype in (numgrad.int64, numgrad.bool)]


class Program:
    """An operation that has run, whose indices can be spoilt."""

    def __init__(self, call: Callable[[Any, Any], Any]):
        self.arrays: list[np.ndarray] = []
        self.x = numgrad.arange(12.0).sin().reshape(4, 3).requires_grad_()
        self.out = call(self.x, self._index)

    def _index(self, values: Any) -> Any:
        self.arrays.append(np.array(values))
        return numgrad.from_numpy(self.arrays[-1])

    def through_data(self, value: int) -> None:
        for tensor in _saved_indices(self.out):
            tensor.data.fill_(value)

    def through_numpy(self, value: int) -> None:
        for array in [*self.arrays, *[t.detach().numpy() for t in _saved_indices(self.out)]]:
            array[...] = value

    def gradient(self, create_graph: bool = False) -> Any:
        (grad,) = numgrad.autograd.grad(self.out.square().sum(), self.x, create_graph=create_graph)
        return grad


def _replaced(call: Callable[[Any, Any], Any], change: Callable[[Any], Any]) -> Program:
    """The operation with saved index tensors that an unpack hook changes."""
    def unpack(tensor: Any) -> Any:
        return tensor if tensor.is_floating_point() else change(tensor)

    with numgrad.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        return Program(call)


def _outcome(run: Callable[[], Any]) -> str:
    try:
        result = run()
    except (IndexError, RuntimeError) as error:
        return f"{'IndexError' if isinstance(error, IndexError) else 'RuntimeError'}: {error}"
    assert np.isfinite(result.detach().numpy()).all()
    return "a gradient"


# -- the programs -----------------------------------------------------------------------------------------------------


def _spoilt(call: Callable[[Any, Any], Any], way: str, value: int, create_graph: bool) -> str:
    if way == "hook":
        program = _replaced(call, lambda index: numgrad.full_like(index, value))
    else:
        program = Program(call)
        (program.through_data if way == "data" else program.through_numpy)(value)
    return _outcome(lambda: program.gradient(create_graph))


def _second(call: Callable[[Any, Any], Any], way: str, value: int) -> str:
    """Indices that change between the first derivative and the second."""
    changed = False
    if way == "hook":
        program = _replaced(call, lambda index: numgrad.full_like(index, value) if changed else index)
    else:
        program = Program(call)
    grad = program.gradient(True)
    changed = True
    if way != "hook":
        (program.through_data if way == "data" else program.through_numpy)(value)
    return _outcome(lambda: numgrad.autograd.grad(grad.square().sum(), program.x)[0])


def values_program(way: str) -> None:
    for name, call in {**READING, **WRITING, **FINDING}.items():
        for value in OUTSIDE:
            outcomes = [_spoilt(call, way, value, create_graph) for create_graph in (False, True)]
            print(name, value, *outcomes, flush=True)
            for outcome in outcomes:
                assert ("out of bounds" in outcome) == (name not in WITHOUT_INDICES), (name, way, value, outcome)
            print(name, value, "second:", _second(call, way, value), flush=True)


def masks_program() -> None:
    for name, call in MASKED.items():
        for way in ("data", "numpy", "hook"):
            for value in (True, False):
                print(name, way, value, _spoilt(call, way, value, False), _spoilt(call, way, value, True), flush=True)
                print(name, way, value, "second:", _second(call, way, value), flush=True)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "one": lambda index: index.reshape(-1)[:1],
    "none": lambda index: index.reshape(-1)[:0],
    "shorter": lambda index: index[:-1] if index.dim() else index,
    "longer": lambda index: numgrad.cat([index, index]) if index.dim() else index.reshape(1).expand(7),
    "wider": lambda index: index.unsqueeze(-1).repeat(*[1] * index.dim(), 9),
    "one dimension more": lambda index: index.unsqueeze(0),
    "one dimension": lambda index: index.reshape(-1),
    "transposed": lambda index: index.t() if index.dim() == 2 else index,
    "no dimension": lambda index: index.reshape(-1)[0],
    "int32": lambda index: index.int(),
    "float": lambda index: index.float() + float("nan"),
    "bool": lambda index: index.bool(),
}


def shapes_program() -> None:
    for name, call in {**READING, **WRITING, **FINDING, **MASKED}.items():
        for what, change in CHANGES.items():
            for create_graph in (False, True):
                program = _replaced(call, change)
                try:
                    outcome = str(program.gradient(create_graph).shape)
                except Exception as error:  # whatever it is, the process lives
                    outcome = repr(error)
                print(name, what, outcome, flush=True)


def large_program() -> None:
    """One bad index among so many that the work is shared among threads."""
    count = 100_000
    for name, call in {
        "gather": lambda x, i: x.gather(0, i),
        "x[i]": lambda x, i: x[i],
        "take": lambda x, i: x.take(i),
        "scatter_reduce": lambda x, i: x.scatter_reduce(0, i, x.detach(), "amax"),
    }.items():
        x, index = numgrad.rand(count).requires_grad_(), numgrad.arange(count)
        out = call(x, index)
        for saved in _saved_indices(out):
            saved.data.reshape(-1)[77_000:77_001] = 10**9
        outcome = _outcome(lambda out=out, x=x: numgrad.autograd.grad(out.sum(), x)[0])
        assert outcome.startswith("IndexError: index 1000000000 is out of bounds"), (name, outcome)


def race_program() -> None:
    """Another thread changes the indices while they are read."""
    array = np.zeros(50_000, np.int64)
    x, index = numgrad.rand(50_000).requires_grad_(), numgrad.from_numpy(array)
    outs = [x.gather(0, index), x[index], x.take(index)]
    done = threading.Event()

    def spoil() -> None:
        while not done.is_set():
            array[::7] = 10**9
            array[::7] = 0

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        for _ in range(100):
            for out in outs:
                _outcome(lambda out=out: numgrad.autograd.grad(out.sum(), x, retain_graph=True)[0])
    finally:
        done.set()
        thread.join()


PROGRAMS: dict[str, Callable[[], None]] = {
    "data": lambda: values_program("data"),
    "numpy": lambda: values_program("numpy"),
    "hook": lambda: values_program("hook"),
    "masks": masks_program,
    "shapes": shapes_program,
    "large": large_program,
    "race": race_program,
}


@pytest.mark.parametrize("programs", [("data", "numpy", "masks"), ("hook", "shapes", "large", "race")], ids=", ".join)
def test_no_index_leads_outside(programs: tuple[str, ...]) -> None:
    """Every program ends with an error or a result; if the process crashes, its output ends with the program's name."""
    done = subprocess.run([sys.executable, __file__, *programs], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    assert done.stdout.endswith("end\n")


if __name__ == "__main__":
    for program in sys.argv[1:]:
        print(program, flush=True)
        PROGRAMS[program]()
    print("end")
