"""Operations under ``vmap``: how each call is done for all examples at once.  The rules stand with the operations."""
