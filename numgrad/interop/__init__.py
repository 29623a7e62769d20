"""Exchange of tensors with other software: NumPy's functions, DLPack, CUDA arrays, pickles, and nested saved state."""
