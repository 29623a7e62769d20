"""Commands of ``python -m numgrad``, one module each."""
