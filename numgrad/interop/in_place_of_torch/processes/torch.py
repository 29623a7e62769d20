"""The module ``torch`` in the processes of ``multiprocessing`` that a program in PyTorch's place starts.

They take over the list of directories in which this process looks for modules, which has the directory of this file,
and not its finders.  So their first import of ``torch`` runs this file, which puts numgrad in its place.
"""

import importlib
import sys

from numgrad.interop.in_place_of_torch import install_as_torch

del sys.modules["torch"]
install_as_torch()
importlib.import_module("torch")
