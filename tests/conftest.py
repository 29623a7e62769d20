"""What all tests share."""

from numgrad_kernels import overloads

overloads.register()  # some tests compile functions that call the kernels' scalar mathematics themselves
