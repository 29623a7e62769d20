"""What makes, copies, converts, moves and overwrites the memory of tensors."""
