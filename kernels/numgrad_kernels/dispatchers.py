"""Machine code of Numba's dispatchers in the kernel cache, for functions with several signatures."""

from __future__ import annotations

import functools
import hashlib
import linecache
import pickle
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from . import cache, store
from .target import environment


class StoredOverloads:
    """The cache of one dispatcher, as Numba calls it, with a file for each signature."""

    cache_path = None

    def __init__(self, name: str, text: str, options: dict[str, Any]):
        self._name, self._parts = name, (name, text, repr(sorted(options.items())))

    @functools.cached_property
    def stem(self) -> str:
        """The beginning of the names of the files."""
        return f"{self._name}_{_digest(environment(), *self._parts)}"

    def _file(self, signature: Any) -> tuple[str, str]:
        digest = _digest(self.stem, repr(signature))
        return f"{self.stem}_{digest}.bin", digest

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled function for a signature, or None if it is not in the cache."""
        payload = cache.load(*self._file(signature))
        if payload is None:
            return None
        context.refresh()
        return CompileResult._rebuild(context, *pickle.loads(payload))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled function, unless it contains addresses of this process."""
        if not compiled.lifted and not compiled.library.has_dynamic_globals:
            name, digest = self._file(signature)
            cache.save(name, cache.sealed(dumps(compiled._reduce()), digest))

    def flush(self) -> None:
        """Do nothing: the names of the files depend on all that the code depends on."""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def stored_dispatcher(function: Any, text: str, **options: Any) -> Any:
    """Return a function as a dispatcher whose machine code is kept in the kernel cache.

    ``text`` is different where the machine code is; ``options`` are those of ``numba.njit``.
    """
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = StoredOverloads(function.__name__, text, options)
    return dispatcher


def stored_module(name: str, text: str, scope: dict[str, Any], about: str, **options: Any) -> Any:
    """Return the function ``name`` of a module as a dispatcher whose machine code is kept in the kernel cache.

    ``scope`` has what the module refers to, and ``about`` describes that; ``options`` are those of ``numba.njit``.
    """
    cache_of = StoredOverloads(name, f"{text}\0{about}", options)
    module = store._module(cache_of.stem)
    file = f"<{cache_of.stem}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    vars(module).update(scope)
    exec(compile(text, file, "exec"), vars(module))
    return stored_dispatcher(getattr(module, name), f"{text}\0{about}", **options)
