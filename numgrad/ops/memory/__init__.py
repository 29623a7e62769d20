"""Operations that make, copy, convert, move and overwrite the memory of tensors."""
