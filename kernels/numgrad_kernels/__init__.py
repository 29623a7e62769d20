"""Numgrad's kernels: arrays in, arrays out.

Nothing here knows of tensors, graphs or allocation, and nothing imports ``numgrad``.
"""
