"""Creation of tensors."""
