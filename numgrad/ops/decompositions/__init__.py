"""Decompositions of matrices, and the functions that are made of them."""
