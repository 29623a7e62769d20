"""Weights from the network, loaded from local files instead, and errors for missing ones."""

import hashlib
import os

import pytest

import numgrad
from numgrad import distributed, hub


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_folder", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path


def test_weights_are_fetched_once(folder, capsys):
    file = folder / "weights.pth"
    numgrad.save({"w": numgrad.ones(2)}, file)
    name = f"weights-{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}.pth"
    url = file.rename(folder / name).as_uri()
    assert hub.load_state_dict_from_url(url, check_hash=True, progress=False)["w"].tolist() == [1, 1]
    kept = folder / "home" / "hub" / "checkpoints" / name
    assert capsys.readouterr().out == f'Downloading: "{url}" to {kept}\n'
    (folder / name).unlink()
    assert hub.load_state_dict_from_url(url)["w"].tolist() == [1, 1]
    assert os.listdir(kept.parent) == [name]


def test_a_file_with_another_digest_is_not_kept(folder):
    (folder / "weights-00112233.pth").write_bytes(b"x")
    url = (folder / "weights-00112233.pth").as_uri()
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00112233", got "2d711642'):
        hub.load_state_dict_from_url(url, model_dir=str(folder / "kept"), check_hash=True, progress=False)
    with pytest.raises(OSError, match="missing"):
        hub.download_url_to_file((folder / "missing").as_uri(), str(folder / "kept" / "file"), progress=False)
    assert os.listdir(folder / "kept") == []


def test_the_folder(folder, monkeypatch):
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/torch/hub"
    hub.set_dir("~/weights")
    assert hub.get_dir() == os.path.expanduser("~/weights")


def test_code_from_the_network_is_refused():
    for call in hub.load, hub.list, hub.help:
        with pytest.raises(RuntimeError, match="the code in 'pytorch/vision' is not run, for it is"):
            call("pytorch/vision", "resnet18")


def test_there_is_no_process_group():
    assert numgrad.distributed is distributed
    assert not distributed.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        distributed.get_rank()
