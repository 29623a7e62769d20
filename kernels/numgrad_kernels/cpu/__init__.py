"""The CPU's kernels that are not pointwise."""
