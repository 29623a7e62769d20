"""Operations on each element alone."""
