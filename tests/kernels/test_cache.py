"""The cache's directory and files: the trusted owners, and directories or links instead of files.

What is another user's is made so where this runs as the super-user, and else by taking oneself for another.
"""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from numgrad_kernels import cache

DIGEST = "0" * 24
SEALED = cache.sealed(b"code", DIGEST)
STRANGER = 54321


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_reported", set())
    return tmp_path / "cache"


@pytest.fixture
def give_away(monkeypatch):
    """A function that makes a path another user's."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, STRANGER, -1, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: STRANGER)

    return give


def kept():
    cache.save("file.bin", SEALED)
    return cache.load("file.bin", DIGEST) == b"code"


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


def check_refused(path, fault):
    """Nothing is read or written, which is said once."""
    before = sorted(path.iterdir())
    with pytest.warns(RuntimeWarning, match=rf"is not used: {fault}.*NUMGRAD_CACHE_DIR"):
        assert not kept()
    assert not kept()  # in silence, or the warning would be an error here
    assert sorted(path.iterdir()) == before


# -- directories ------------------------------------------------------------------------------------------------------


def test_the_directory_and_its_files_are_the_users_alone(directory):
    before = os.umask(0)
    try:
        assert kept()
    finally:
        os.umask(before)
    assert permissions(directory) == 0o700
    assert permissions(directory / "file.bin") == 0o600


@pytest.mark.parametrize(("given", "kept_mode"), [(0o777, 0o755), (0o770, 0o750), (0o755, 0o755), (0o700, 0o700)])
def test_a_directory_of_the_users_own_is_closed_to_others_writing(directory, given, kept_mode):
    directory.mkdir()
    directory.chmod(given)
    assert kept()
    assert permissions(directory) == kept_mode


def test_another_users_directory_is_not_used(directory, give_away):
    assert kept()
    give_away(directory)
    check_refused(directory, r"it belongs to another user \(\d+\)")


def test_a_directory_for_everybody_is_not_used_and_stays_as_it_is(directory):
    assert kept()
    directory.chmod(0o1777)
    check_refused(directory, "other users can write to it")
    assert permissions(directory) == 0o1777


def test_a_directory_that_cannot_be_closed_is_not_used(directory, monkeypatch):
    assert kept()
    directory.chmod(0o777)

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "chmod", refuse)
    check_refused(directory, "other users can write to it")


def test_a_link_of_ones_own_is_followed(directory, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    assert kept()


def test_a_link_of_another_user_is_not_followed(directory, tmp_path, give_away):
    (tmp_path / "elsewhere").mkdir(mode=0o777)
    (tmp_path / "elsewhere").chmod(0o777)
    directory.symlink_to(tmp_path / "elsewhere")
    give_away(directory)
    check_refused(directory, "it belongs to another user")
    assert permissions(tmp_path / "elsewhere") == 0o777


@pytest.mark.parametrize(
    ("owner", "mode", "user", "said"),
    [
        (1000, 0o700, 1000, ""),
        (1000, 0o755, 1000, ""),
        (0, 0o755, 1000, ""),  # filled by an administrator for all users
        (0, 0o775, 1000, "other users can write to it"),
        (0, 0o1777, 1000, "other users can write to it"),
        (1000, 0o602, 1000, "other users can write to it"),
        (1001, 0o700, 1000, "it belongs to another user (1001)"),
        (1001, 0o700, 0, "it belongs to another user (1001)"),  # the super-user, too, runs no one else's code
        (0, 0o777, None, ""),  # Windows reports this for every directory
    ],
)
def test_whom_code_is_taken_from(owner, mode, user, said):
    assert cache.fault(owner, mode, user) == said


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_of_another_user_is_not_read_but_replaced(directory, give_away, monkeypatch):
    assert kept()
    give_away(directory / "file.bin")
    with pytest.warns(RuntimeWarning, match=r"is not used: it belongs to another user"):
        assert cache.load("file.bin", DIGEST) is None
    assert cache.load("file.bin", DIGEST) is None
    monkeypatch.undo()
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(directory))
    assert kept()


def test_a_file_that_others_can_write_to_is_not_read_but_replaced(directory):
    assert kept()
    (directory / "file.bin").chmod(0o666)
    with pytest.warns(RuntimeWarning, match=r"file.bin is not used: other users can write to it"):
        assert cache.load("file.bin", DIGEST) is None
    assert kept()


def giant(path):
    with path.open("wb") as file:
        file.write(SEALED)
        file.truncate(1 << 40)  # of which the disk holds one block


STAND_INS = {
    "a FIFO": os.mkfifo,
    "a sparse giant": giant,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to the code": lambda path: (path.parent / "other").write_bytes(SEALED) and path.symlink_to("other"),
    "nothing": lambda path: None,
    "an empty file": Path.touch,
}


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_foreign_files_neither_block_nor_are_read(directory, stand_in):
    directory.mkdir(mode=0o700)
    STAND_INS[stand_in](directory / "file.bin")
    loaded = []
    reader = threading.Thread(target=lambda: loaded.append(cache.load("file.bin", DIGEST)), daemon=True)
    reader.start()
    reader.join(20)
    assert loaded == [None]
    assert kept()


def test_the_checksum_covers_code_and_digest(directory):
    assert kept()
    assert cache.load("file.bin", "1" * 24) is None
    for damaged in (b"", SEALED[:31], SEALED[:32], SEALED[:-1], SEALED + b"x", b"x" + SEALED[1:]):
        (directory / "file.bin").write_bytes(damaged)
        assert cache.load("file.bin", DIGEST) is None
    assert kept()


# -- systems ----------------------------------------------------------------------------------------------------------


def test_the_directory_of_each_system():
    home = os.path.expanduser("~")
    for system, variables, expected in [
        ("linux", {}, f"{home}/.cache/numgrad"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/numgrad"),
        ("linux", {"LOCALAPPDATA": "/x"}, f"{home}/.cache/numgrad"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, f"{home}/Library/Caches/numgrad"),
        ("win32", {"LOCALAPPDATA": "/x"}, "/x/numgrad"),
        ("win32", {}, f"{home}/AppData/Local/numgrad"),
        ("win32", {"LOCALAPPDATA": "/x", "NUMGRAD_CACHE_DIR": "/chosen"}, "/chosen"),
    ]:
        assert cache.cache_directory(system, variables) == Path(expected)


def test_who_wants_what_another_makes_waits_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    order = []

    def make():
        with cache.claimed("kernel"):
            order.append("begun")
            claimed.set()
            time.sleep(0.1)
            order.append("made")

    claimed = threading.Event()
    thread = threading.Thread(target=make)
    thread.start()
    claimed.wait()
    with cache.claimed("kernel"):
        order.append("found")
    thread.join()
    assert order == ["begun", "made", "found"]
    assert list(tmp_path.iterdir()) == []


def test_nobody_waits_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    with cache.claimed("kernel"), cache.claimed("kernel"):
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="suspends a process")
def test_a_suspended_process_is_waited_for_a_second(directory):
    claiming = "from numgrad_kernels import cache\nwith cache.claimed('kernel'): print('claimed', flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", claiming], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"claimed\n"
        other.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        with cache.claimed("kernel"):
            assert 0.5 < time.monotonic() - start < 10
    finally:
        other.kill()
        other.communicate()


@pytest.mark.parametrize("made", ["cache", "cache/numgrad"])
def test_a_directory_that_sudo_made_is_reported_with_what_mends_it(tmp_path, monkeypatch, made):
    home = tmp_path / "a home"
    (home / made).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(home / "cache" / "numgrad"))
    monkeypatch.setattr(cache, "_reported", set())
    owners = {home / made: 0}

    def stat_of(path, **options):
        found = list(real(path, **options))
        found[4] = owners.get(Path(path), 1000)
        return os.stat_result(found)

    def refuse(*_, **__):
        raise PermissionError

    real = os.stat
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "stat", stat_of)
    monkeypatch.setattr(os, "mkdir", refuse)
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(cache, "_is_trusted_directory", lambda path: True)
    with pytest.warns(RuntimeWarning, match=f"This mends it: sudo chown -R 1000 '{home / made}'"):
        cache.save("file.bin", SEALED)
    cache.save("file.bin", SEALED)  # in silence, or the warning would be an error here
    owners.clear()
    cache._reported.clear()
    cache.save("file.bin", SEALED)  # read only for another reason


def test_where_nothing_can_be_kept_there_is_nothing_to_wait_for(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "file"))
    with cache.claimed("kernel"), cache.claimed("kernel"):
        pass
