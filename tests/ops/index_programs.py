"""Programs that index, as expressions, for comparisons with PyTorch."""

import numpy as np
from ops.torch_comparison import randoms

__all__ = ["X", "lines", "program"]

#: One array in each layout.
X = {layout: randoms((3, 4, 5), layout=layout)[0] for layout in ("contiguous", "transposed", "stepped")}

_INDICES = np.random.default_rng(1).integers(0, 3, (3, 4, 5))
_UNIQUE = np.argsort(np.random.default_rng(2).random((3, 4, 5)), 1)


def program(expression):
    """The expression, or statements and an expression, as a function of the module and the tensors x and y.

    There are indices: ``i``, ``j`` (some negative), ``k`` and ``u`` (none twice along dimension 1), a mask ``b``, and
    ``w``, a copy of x.
    """
    *statements, result = [part.strip() for part in expression.split(";")]

    def run(m, *tensors):
        x = tensors[0]
        names = {"m": m, "np": np, **dict(zip("xy", tensors, strict=False))}
        names |= {"w": x * 1, "b": x != 0 if x.is_complex() else x > 0}
        names |= {"i": m.tensor([0, 2, 1, 0]), "j": m.tensor([1, -1])}
        names |= {"k": m.from_numpy(_INDICES), "u": m.from_numpy(_UNIQUE)}
        for statement in statements:
            exec(statement, names)
        return eval(result, names)

    return run


def lines(text):
    """Return the lines of a text without surrounding blanks."""
    return [line.strip() for line in text.strip().splitlines()]
