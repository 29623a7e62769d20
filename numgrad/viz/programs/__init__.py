"""Compiled programs: what ``inspect`` and ``draw`` show of them, and what ``compiler.explain`` says."""
