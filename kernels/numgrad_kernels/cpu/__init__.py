"""The kernels of the CPU that are not pointwise."""
