"""The commands of ``python -m numgrad``, one module each."""
