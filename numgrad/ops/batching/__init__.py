"""Operations under ``vmap``: how each call is done for all examples at once; rules stand beside the operations."""
