"""``torch.hub``: weights from the network.  PyTorch code from repositories is not run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import urllib.request
from typing import Any, NoReturn
from urllib.parse import urlparse

from tqdm import tqdm

from .serialization import load as _load

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

#: Position in a file name of the beginning of its SHA-256, as in "resnet18-f37072fd.pth".
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

#: Bytes read at a time.
_PIECE = 1 << 17

_folder: str | None = None


def get_dir() -> str:
    """Return the directory for files: the one that was set, or "hub" in $TORCH_HOME, by default ~/.cache/torch."""
    if _folder is not None:
        return _folder
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.environ.get("TORCH_HOME", cache))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the directory for files."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file, which appears under its name only when it is complete and its digest correct.

    Args:
        url: the URL of the file.
        dst: the name of the local file.
        hash_prefix: the beginning of its SHA-256, in hexadecimal digits.
        progress: show a progress bar.

    Raises:
        RuntimeError: the digest differs.
        OSError: the download failed.
    """
    partial = f"{dst}.{os.urandom(8).hex()}.partial"
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url) as source, open(partial, "wb") as file:
            size = source.headers.get("Content-Length")
            bar = tqdm(total=size and int(size), disable=not progress, unit="B", unit_scale=True, unit_divisor=1024)
            with bar:
                while piece := source.read(_PIECE):
                    file.write(piece)
                    digest.update(piece)
                    bar.update(len(piece))
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(partial, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> Any:  # fmt: skip
    """Load a file with :func:`numgrad.load`, downloading it first unless it exists locally.

    Args:
        url: the URL of the file.
        model_dir: the directory for the file, by default "checkpoints" in that of :func:`get_dir`.
        map_location: the device for its tensors, as in :func:`numgrad.load`.
        progress: show a progress bar.
        check_hash: check the file's SHA-256, whose first digits are in the file name, as in "resnet18-f37072fd.pth".
        file_name: the local file name, by default that in the URL.
        weights_only: no effect: no code in the file is run.

    Raises:
        RuntimeError, OSError, pickle.UnpicklingError: the download failed, or the file cannot be read.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match and match.group(1), progress)
    return _load(path, map_location)


def _refuse(name: str, repository: Any) -> NoReturn:
    raise RuntimeError(
        f"torch.hub.{name}: the code in {repository!r} is not run, for it is written for PyTorch. Copy the model's "
        "class, and load its weights with torch.hub.load_state_dict_from_url"
    )


def load(repo_or_dir: Any, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise an error, because a model's code in a repository is written for PyTorch.

    Raises:
        RuntimeError: always.
    """
    _refuse("load", repo_or_dir)


def list(github: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise an error, as :func:`load` does.

    Raises:
        RuntimeError: always.
    """
    _refuse("list", github)


def help(github: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise an error, as :func:`load` does.

    Raises:
        RuntimeError: always.
    """
    _refuse("help", github)
