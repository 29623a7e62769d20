"""Operations under ``vmap``: calls for all examples at once.  Their rules are declared with the operations."""
