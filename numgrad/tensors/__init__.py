"""Tensor: its memory, its place in the graph, its conversions and its text."""
