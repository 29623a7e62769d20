"""Views of compiled programs for ``inspect``, ``draw`` and ``compiler.explain``."""
