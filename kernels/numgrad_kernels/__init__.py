"""Numgrad's kernels: arrays in, arrays out.

This package is independent of tensors, graphs and allocation, and never imports ``numgrad``.
"""
