"""Making tensors."""
