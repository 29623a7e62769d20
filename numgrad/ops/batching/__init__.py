"""Operations under ``vmap``: how each call is done for all examples at once, and the rules of those that need one."""
