"""Operations that take many elements together, or put them in order."""
