"""Samples of each operation of the table, in one line or a few; the files are named like the table's.

``sample("tanh", np.tanh)`` is all that a pointwise operation needs: shapes and layouts are generated.  Any other
operation lists the shapes that it is tested on (one of them empty, one 0-d where it takes such) and with which further
arguments, which its NumPy reference takes as well:

    sample("flip_op", np.flip, (2, 3, 4), args=((0, 2),))

A sample restricts its elements if not all are valid (``domain``), and for which dtypes the operation is
defined (``dtypes``).  An operation reached through a public function that checks its arguments is sampled through it
(``call``, which is the rule for pointwise ones); then dtypes that are not listed must be refused.  Layouts that an
operation does not have are named by ``without``.
"""

import importlib
import pkgutil

from ops.sampling import SAMPLES, WITHOUT

__all__ = ["SAMPLES", "WITHOUT"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
