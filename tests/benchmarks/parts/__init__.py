"""The parts of the benchmark, by the names that the command takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from timing import Part

from . import (
    chains,
    decompositions,
    derivatives,
    halves,
    images,
    indexing,
    matrices,
    network,
    optimizers,
    overhead,
    pointwise,
    recurrent,
    reductions,
    shapes,
    solver,
    sorting,
    steps,
)

__all__ = ["PARTS"]


def _formulas(rows: int, columns: int) -> Iterable[Part]:
    from . import formulas  # needs numgrad, which the Python that JAX is in lacks

    return formulas.parts(rows, columns)


#: Each makes its tables for tensors of so many rows and columns, where it has large ones.
PARTS: dict[str, Callable[..., Iterable[Part]]] = {
    "small": chains.small,
    "scalar": chains.scalar,
    "overhead": overhead.overhead,
    "drawn": overhead.drawn,
    "shapes": shapes.parts,
    "pointwise": pointwise.operations,
    "layouts": pointwise.layouts,
    "double": pointwise.double,
    "halves": halves.parts,
    "reductions": reductions.parts,
    "sorting": sorting.parts,
    "network": network.parts,
    "attention": network.attention,
    "convolutions": images.convolutions,
    "images": images.image_layers,
    "image-steps": images.image_steps,
    "recurrent": recurrent.parts,
    "indexing": indexing.parts,
    "matrices": matrices.parts,
    "decompositions": decompositions.parts,
    "optimizers": optimizers.parts,
    "steps": steps.parts,
    "solver": solver.parts,
    "derivatives": derivatives.parts,
    "formulas": _formulas,
}
