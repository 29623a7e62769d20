"""The kernel cache on disk: its location, which files are trusted, and atomic writes.

Files in the cache are run as machine code.  A file is therefore used only if nobody but this user or the super-user can
have written it: it belongs to one of the two, is not writable by others, and is a regular file of a sensible size.  The
same conditions apply to the directory.  Systems without such owners (Windows) protect the user's own folders
themselves.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shlex
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

#: Size in bytes of the largest file that is read; the largest kernels have a hundredth of this.
LARGEST = 1 << 26

#: Seconds after which a process no longer waits for another one that compiles the same kernel and shows no sign of
#: life, as it may have been suspended; and seconds between such signs.
PATIENCE, SIGN = 5.0, 0.5

#: Flags to open files with: opening must not block (on a FIFO without a writer) nor follow links.  Systems without
#: these flags have no such files.
_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_reported: set[Path] = set()

#: Modules of this package that take part in compiling every kernel.
COMPILER = (
    "buffer_types", "declarations", "entries", "instructions", "libm", "overloads", "parallel", "passes", "store",
    "target",
)  # fmt: skip

#: Modules that kernels import, with the modules that these depend on.
_SPECIAL = (
    "angles", "bessel", "circular", "complexes", "error_functions", "gamma", "incomplete_beta", "incomplete_gamma",
    "modified_bessel", "orthogonal", "polynomials", "polynomials32", "series", "special",
)  # fmt: skip
_SCALAR = (*_SPECIAL, "halves", "parts", "remainders", "scalar")
IMPORTED = {
    "scalar": _SCALAR,
    "circular": ("angles", "circular", "complexes", "polynomials", "polynomials32"),
    "remainders": ("remainders",),
    "special": _SPECIAL,
    "halves": ("halves",),
    "local": ("local",),
    "blocks": ("blocks", *_SCALAR),
    "foreign": ("foreign",),
}  # fmt: skip

#: Modules that affect machine code only through the kernels' texts, which the digests cover.
WRITING = (
    "cache", "dispatchers", "facts", "formulas", "inline", "merged", "pointwise", "procedures", "progress", "rejection",
    "source", "syntax", "updates",
)  # fmt: skip


def cache_directory(system: str = sys.platform, variables: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the kernels: ``NUMGRAD_CACHE_DIR``, or ``numgrad`` in the user's cache directory.

    Args:
        system: ``sys.platform``, which determines the location of the user's cache.
        variables: the environment.
    """
    chosen = variables.get("NUMGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if system == "win32":
        base = variables.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    elif system == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = variables.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "numgrad"


def load(name: str, digest: str) -> bytes | None:
    """Return the content that ``save`` wrote, sealed with this digest; None without such a file, intact and trusted."""
    path = cache_directory() / name
    try:
        content = _content(path) if _is_trusted_directory(path.parent) else None
    except OSError:
        return None
    if content is None or content != sealed(content[32:], digest):
        return None
    return content[32:]


def sources(text: str) -> str:
    """Return a digest of the compiler's sources and of all modules of this package that the kernel's text imports.

    Modules that concern only other kernels, or that generate such texts, do not change it.  A new version of numgrad
    thus compiles only kernels whose sources have changed.
    """
    modules = {module for name, made_of in IMPORTED.items() if f"{__package__}.{name} " in text for module in made_of}
    return "".join(map(_file_digest, (*COMPILER, *sorted(modules))))


@functools.cache
def _file_digest(module: str) -> str:
    return hashlib.sha256(Path(__file__).with_name(f"{module}.py").read_bytes()).hexdigest()


def digest_of(*parts: str) -> str:
    """Return the digest that files of machine code are named after, of all that the code depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def sealed(payload: bytes, digest: str) -> bytes:
    """Return the payload after its checksum, which covers the digest, too, and so detects another kernel's file."""
    return hashlib.sha256(digest.encode() + payload).digest() + payload


def save(name: str, content: bytes) -> None:
    """Write a file at once, so that readers never see a part of it; ignore a full or read-only disk."""
    path = cache_directory() / name
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted_directory(path.parent):
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, PermissionError):
            _report_the_super_users(path.parent)


def _report_the_super_users(directory: Path) -> None:
    """Warn once if the directory, or its nearest existing parent, is in the user's home but belongs to the super-user.

    Running a program with ``sudo`` causes this.  Outside the home such directories are meant to be read-only.
    """
    there = next(path for path in (directory, *directory.parents) if os.path.exists(path))
    user, home = _user(), Path(os.path.expanduser("~"))
    if there in _reported or user in (None, 0) or home not in there.parents or there.stat().st_uid != 0:
        return
    _reported.add(there)
    warnings.warn(
        f"kernels cannot be kept in {directory}, and are compiled in each process instead: {there} belongs to the "
        "super-user, as after running a program with sudo. "
        f"This mends it: sudo chown -R {user} {shlex.quote(str(there))}",
        RuntimeWarning, stacklevel=2,
    )


@contextlib.contextmanager
def claimed(name: str) -> Iterator[None]:
    """Hold the lock of the file with this name while this process creates it; other processes wait and then find it.

    However many processes start together, and however slow that makes them, they wait while the file's time changes.
    The lock does not outlive the process.  A process that is killed leaves an empty file, which the next process to
    make that kernel locks and removes.  Without files or file locks, there is nothing to wait for.
    """
    path = cache_directory() / f"{name}.lock"
    descriptor = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if fcntl is not None and _is_trusted_directory(path.parent):
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
            _wait_for(descriptor)
    except OSError:
        pass
    done = threading.Event()
    sign = threading.Thread(target=_show_life, args=(descriptor, done), daemon=True)
    if descriptor is not None:
        sign.start()
    try:
        yield
    finally:
        done.set()
        if descriptor is not None:
            sign.join()
            with contextlib.suppress(OSError):
                os.unlink(path)  # waiting processes have it open; later ones find the finished file
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may have it open, too
            os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    """Lock a file, or give up if the process that holds it shows no sign of life for too long."""
    seen, pause, until = 0, 0.002, 0.0
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            changed = os.fstat(descriptor).st_mtime_ns
            if changed != seen:
                seen, until = changed, time.monotonic() + PATIENCE
            elif time.monotonic() > until:
                return
            time.sleep(pause)
            pause = min(1.2 * pause, 0.05)  # many processes may be waiting


def _show_life(descriptor: int | None, done: threading.Event) -> None:
    """Change the time of a file again and again until ``done``."""
    while not done.wait(SIGN):
        with contextlib.suppress(OSError):
            os.utime(descriptor)  # type: ignore[arg-type]


def _content(path: Path) -> bytes | None:
    """Return the content of a trusted file, or None if it is not trusted.

    Raises:
        OSError: the file does not exist or cannot be read.
    """
    descriptor = os.open(path, _READ)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST or not _is_trusted(path, facts):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST)
    finally:
        os.close(descriptor)


def _is_trusted_directory(path: Path) -> bool:
    """Return True if nobody else can put files into the directory; the user's own directory is closed to others.

    Raises:
        OSError: the directory does not exist.
    """
    user = _user()
    if not _is_trusted(path, os.lstat(path), link=True):
        return False
    facts = os.stat(path)
    if not stat.S_ISDIR(facts.st_mode):
        return False
    if facts.st_uid == user and facts.st_mode & _OTHERS_WRITE and not facts.st_mode & stat.S_ISVTX:  # not /tmp itself
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(facts.st_mode) & ~_OTHERS_WRITE)
        facts = os.stat(path)
    return _is_trusted(path, facts)


def _is_trusted(path: Path, facts: os.stat_result, link: bool = False) -> bool:
    """Return True if only this user or the super-user can have made a file or directory; warn once if not."""
    problem = fault(facts.st_uid, 0 if link else facts.st_mode, _user())  # the mode of a link always permits writing
    if problem and path not in _reported:
        _reported.add(path)
        warnings.warn(
            f"{path} is not used: {problem}. Its contents would be executed, so kernels are compiled in each process "
            "instead; NUMGRAD_CACHE_DIR names a directory to keep them in",
            RuntimeWarning, stacklevel=2,
        )
    return not problem


def fault(owner: int, mode: int, user: int | None) -> str:
    """Return why another user than this one or the super-user may have written a file or directory; empty if none can.

    Args:
        owner, mode: its owner, and its permissions.
        user: this user's number, None on systems that have none.
    """
    if user is None:
        return ""
    if owner not in (user, 0):
        return f"it belongs to another user ({owner})"
    return "other users can write to it" if mode & _OTHERS_WRITE else ""


def _user() -> int | None:
    """Return the user's number; None on systems that have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None
