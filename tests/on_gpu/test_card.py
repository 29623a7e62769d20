"""The script for a real card: its stages run in the simulator, and one may fail."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CARD = Path(__file__).with_name("card.py")

pytestmark = pytest.mark.simulator


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(CARD.parent))
    import card

    return card


def card(*arguments):
    return subprocess.run([sys.executable, str(CARD), *map(str, arguments)], capture_output=True, text=True)


def test_stages_that_run_in_the_simulator(tmp_path):
    done = card(tmp_path, "--simulator", "training", "bandwidth", "smoke", "machine-code")
    assert done.returncode == 0, done.stdout + (tmp_path / "log.txt").read_text()
    results = json.loads((tmp_path / "summary.json").read_text())
    assert [*results] == ["versions", "training", "bandwidth", "smoke", "machine-code"]
    assert all(result["status"] == "passed" for result in results.values())
    assert "simulator" in results["versions"]["found"]["card"]
    assert all(result["found"].get("faults", {}) == {} for result in results.values())
    assert results["bandwidth"]["found"]["numgrad"]["copy"] > 0
    text = (tmp_path / "summary.txt").read_text()
    assert text == done.stdout
    assert "gradient's error" in text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.txt", "summary.json", "summary.txt"]


def test_a_stage_that_fails_and_one_that_is_out_of_time_keep_no_other_from_running(tmp_path):
    done = card(tmp_path, "--simulator", "--limit", "0.2", "smoke", "sanitizer-racecheck")
    assert done.returncode == 1
    results = json.loads((tmp_path / "summary.json").read_text())
    assert results["smoke"]["status"] == "out of time after 0.2 s"
    assert len(results) == 3
    assert "unknown stage: nonsense" in card(tmp_path, "nonsense").stderr


def test_each_stage_is_in_one_group_and_the_first_minutes_tell_most(script):
    grouped = [name for group in script.GROUPS for name in group]
    assert sorted(grouped) == sorted(script.stages())
    assert [*script.LIMITS] == grouped[: len(script.LIMITS)]
    assert sum(script.LIMITS.values()) <= 180


def test_versions_that_disagree_fail_the_stage(script, tmp_path, monkeypatch):
    from numgrad import devices

    monkeypatch.setattr(devices, "gpu_compilers", lambda: ("NVVM 13.5, nvJitLink 13.0", "nvJitLink 13.0 is too old"))
    monkeypatch.setattr("sys.argv", ["card.py", str(tmp_path / "found"), "--within", "versions", "--simulator"])
    assert script.main() == 1
    found = json.loads((tmp_path / "found").read_text())
    assert found["faults"] == {"versions": "nvJitLink 13.0 is too old"}


def test_a_tool_of_compute_sanitizer_runs_the_workload_with_memory_that_is_not_cached(script, tmp_path):
    stage = script.stages()["sanitizer-memcheck"](tmp_path / "found", True)
    assert stage.command[:3] == ["compute-sanitizer", "--tool", "memcheck"]
    stage.command, stage.needs = [sys.executable, *stage.command[stage.command.index(str(CARD)) :]], None
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = script.run("checked", stage, tmp_path / "found", tmp_path / "log", environment, 60)
    assert result["found"] == {"finite": True, "faults": {}}, (tmp_path / "log").read_text()


def test_tests_are_counted(script, tmp_path):
    found, log = tmp_path / "found", tmp_path / "log.txt"
    report = """<testsuites><testsuite><testcase name="test_right"/>
        <testcase name="test_wrong"><failure/></testcase></testsuite></testsuites>"""
    write = "import sys; open(sys.argv[1], 'w').write(sys.argv[2]); sys.exit(1)"
    stage = script._tests(["some"], found, True)
    stage.command = [sys.executable, "-c", write, str(found), report]
    result = script.run("two", stage, found, log, {}, 60)
    assert result["found"] == {"tests": 2, "failed": 1, "first that failed": ["test_wrong"]}
    assert result["status"] == "failed: exit status 1"
    assert {*script.stages()} >= {"tests-first", "tests-others", "tests-table", "benchmark-steps"}


def test_wheels_are_installed_without_a_network(script, tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_thing.py", "VALUE = 7\n")
        info = "tiny_thing-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    script.install(wheels, tmp_path / "site", tmp_path / "log.txt")
    assert (tmp_path / "site" / "tiny_thing.py").read_text() == "VALUE = 7\n"
