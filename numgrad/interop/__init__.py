"""Tensors in other hands: NumPy's functions, DLPack, CUDA arrays, pickles, and the nesting of saved state."""
