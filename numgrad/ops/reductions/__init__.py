"""Operations that combine many elements, or sort them."""
