"""The kernel cache on disk: where it is, whose files are taken from it, and how files are written whole.

What is read here runs as machine code, so a file counts only if nobody but this user or the super-user can have written
it: it belongs to one of the two, is closed to writing by others, and is a regular file of a sensible size.  The same
holds of the directory.  Systems without such owners (Windows) guard the user's own folders by themselves.
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
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

#: Bytes of the largest file that is read: the largest kernels have a hundredth of this.
LARGEST = 1 << 26

#: Seconds for which a process waits for another one that compiles the same kernel: most take a tenth of that, and the
#: other one may have been suspended.
PATIENCE = 1.0

#: Nothing blocks (a FIFO nobody writes to) and no link is followed; systems without these flags have no such files.
_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_reported: set[Path] = set()

#: Modules of this package that take part in compiling every kernel.
COMPILER = ("instructions", "libm", "overloads", "parallel", "passes", "rows", "store")

#: Those that kernels import, with what these are made of besides.
IMPORTED = {
    "scalar": (
        "angles", "circular", "complexes", "polynomials", "polynomials32", "remainders", "scalar",
    ),
    "circular": ("angles", "circular", "complexes", "polynomials", "polynomials32"),
    "remainders": ("remainders",),
    "local": ("local",),
    "blocks": ("blocks", "polynomials"),
    "foreign": ("foreign",),
}  # fmt: skip

#: Those on which no machine code depends but by the kernels' texts, which digests cover by themselves.
WRITING = ("cache", "facts", "inline", "pointwise", "progress", "source", "syntax", "updates")


def cache_directory(system: str = sys.platform, variables: Mapping[str, str] = os.environ) -> Path:
    """Where kernels are kept: ``NUMGRAD_CACHE_DIR``, or a folder ``numgrad`` in the user's cache directory.

    Args:
        system: ``sys.platform``, which decides where users have their caches.
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
    """What was sealed with this digest and saved in this file; None if there is no such file, whole and trusted."""
    path = cache_directory() / name
    try:
        content = _content(path) if _is_trusted_directory(path.parent) else None
    except OSError:
        return None
    if content is None or content != sealed(content[32:], digest):
        return None
    return content[32:]


def sources(text: str) -> str:
    """A digest of what compiles the kernel of this text and of all that it imports of this package.

    What concerns other kernels, or writes such texts, leaves it as it is: a new version of numgrad compiles again what
    has changed in it.
    """
    modules = {module for name, made_of in IMPORTED.items() if f"{__package__}.{name} " in text for module in made_of}
    return "".join(map(_file_digest, (*COMPILER, *sorted(modules))))


@functools.cache
def _file_digest(module: str) -> str:
    return hashlib.sha256(Path(__file__).with_name(f"{module}.py").read_bytes()).hexdigest()


def sealed(payload: bytes, digest: str) -> bytes:
    """The payload behind its checksum, which covers the digest, too: another kernel's file under this one's name is
    noticed."""
    return hashlib.sha256(digest.encode() + payload).digest() + payload


def save(name: str, content: bytes) -> None:
    """Write the whole file or nothing: readers never see a part, and a full or read-only disk is no error."""
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
    """Warn once if the directory, or the first there is of those around it, is the super-user's, below the user's home.

    A program that is run with ``sudo`` makes it so.  Elsewhere such directories are meant to be read only.
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
    """While this process makes the file of this name: others that want it wait, and then find it.

    It holds no longer than the process lives.  One that is killed leaves an empty file, which the next process to make
    that kernel locks and removes.  Without files or locks of files there is nothing to wait for.
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
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)  # who waits has it open; who comes later finds what was made
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child of a fork may have it open, too
            os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    """Lock a file, unless another process holds it for too long."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.005)


def _content(path: Path) -> bytes | None:
    """The content of a trusted file, None of another.

    Raises:
        OSError: there is none that can be read.
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
    """Whether nobody else can put files there; a directory of the user's own is closed to others.

    Raises:
        OSError: there is no such directory.
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
    """Whether a file or directory can only have been made by this user or the super-user; said once if not."""
    found = fault(facts.st_uid, 0 if link else facts.st_mode, _user())  # anybody may write to a link, as its mode says
    if found and path not in _reported:
        _reported.add(path)
        warnings.warn(
            f"{path} is not used: {found}, and what it holds would be run. Kernels are compiled in each process "
            "instead; NUMGRAD_CACHE_DIR names a directory to keep them in",
            RuntimeWarning, stacklevel=2,
        )
    return not found


def fault(owner: int, mode: int, user: int | None) -> str:
    """Why somebody else than this user and the super-user may have written a file or directory; empty if nobody can.

    Args:
        owner, mode: whose it is, and what others may do with it.
        user: this user's number, None on systems that have none.
    """
    if user is None:
        return ""
    if owner not in (user, 0):
        return f"it belongs to another user ({owner})"
    return "other users can write to it" if mode & _OTHERS_WRITE else ""


def _user() -> int | None:
    """The user's number; None on systems that have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None
