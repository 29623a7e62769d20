"""Machine code of Numba's dispatchers in the kernel cache, for functions with several signatures."""

from __future__ import annotations

import functools
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

    def __init__(self, function: Any, text: str, options: dict[str, Any]):
        self._function, self._name = function, function.__name__
        self._parts = self._name, text, repr(sorted(options.items()))

    @functools.cached_property
    def stem(self) -> str:
        """The beginning of the names of the files."""
        return f"{self._name}_{cache.digest_of(environment(), *self._parts)}"

    def digest(self, signature: Any) -> str:
        """Return a text that differs for different machine code."""
        return cache.digest_of(self.stem, repr(signature))

    def _procedures(self) -> dict[str, Any]:
        """Return the procedures that the function may call, by the names that it calls them by."""
        known = self._function.__globals__
        named = {name: known.get(name) for name in self._function.__code__.co_names}
        return {name: each for name, each in named.items() if hasattr(each, "symbols")}

    def _file(self, signature: Any) -> tuple[str, str]:
        digest = self.digest(signature)
        return f"{self.stem}_{digest}.bin", digest

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled function for a signature, or None if it is not in the cache."""
        payload = cache.load(*self._file(signature))
        if payload is None:
            return None
        context.refresh()
        called, state = pickle.loads(payload)
        for name, procedure in self._procedures().items():  # whose symbols the machine code contains
            for arguments in called[name]:
                procedure.symbol(arguments)
        return CompileResult._rebuild(context, *state)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled function, unless it contains addresses of this process."""
        if not compiled.lifted and not compiled.library.has_dynamic_globals:
            file, digest = self._file(signature)
            called = {name: [*each.symbols] for name, each in self._procedures().items()}
            cache.save(file, cache.sealed(dumps((called, compiled._reduce())), digest))

    def flush(self) -> None:
        """Do nothing: the names of the files depend on all that the code depends on."""


def stored_dispatcher(function: Any, text: str, **options: Any) -> Any:
    """Return a function as a dispatcher whose machine code is kept in the kernel cache.

    ``text`` is different where the machine code is; ``options`` are those of ``numba.njit``.
    """
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = StoredOverloads(function, text, options)
    return dispatcher


def stored_module(name: str, text: str, scope: dict[str, Any], about: str, **options: Any) -> Any:
    """Return the function ``name`` of a module as a dispatcher whose machine code is kept in the kernel cache.

    ``scope`` has what the module refers to, and ``about`` describes that; ``options`` are those of ``numba.njit``.
    """
    stem = f"{name}_{cache.digest_of(environment(), text, about, repr(sorted(options.items())))}"
    module = store._module(stem)
    file = f"<{stem}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    vars(module).update(scope)
    exec(compile(text, file, "exec"), vars(module))
    return stored_dispatcher(getattr(module, name), f"{text}\0{about}", **options)
