"""The script for the day on which there is a card: that its stages run, in the simulator, and that one may fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CARD = Path(__file__).with_name("card.py")

pytestmark = pytest.mark.simulator


def card(*arguments):
    return subprocess.run([sys.executable, str(CARD), *map(str, arguments)], capture_output=True, text=True)


def test_stages_that_run_in_the_simulator(tmp_path):
    done = card(tmp_path, "--simulator", "smoke", "bandwidth")
    assert done.returncode == 0, done.stdout + (tmp_path / "log.txt").read_text()
    results = json.loads((tmp_path / "summary.json").read_text())
    assert [*results] == ["versions", "smoke", "bandwidth"]
    assert all(result["status"] == "passed" for result in results.values())
    assert "simulator" in results["versions"]["found"]["card"]
    assert results["bandwidth"]["found"]["numgrad"]["copy"] > 0
    text = (tmp_path / "summary.txt").read_text()
    assert text == done.stdout
    assert "gradient's error" in text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.txt", "summary.json", "summary.txt"]


def test_a_stage_that_fails_and_one_that_is_out_of_time_keep_no_other_from_running(tmp_path):
    done = card(tmp_path, "--simulator", "--limit", "0.2", "smoke", "races")
    assert done.returncode == 1
    results = json.loads((tmp_path / "summary.json").read_text())
    assert results["smoke"]["status"] == "out of time after 0.2 s"
    assert len(results) == 3
    assert "unknown stage: nonsense" in card(tmp_path, "nonsense").stderr


def test_tests_are_counted(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(CARD.parent))
    import card as script

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


def test_wheels_are_installed_without_a_network(tmp_path, monkeypatch):
    import zipfile

    monkeypatch.syspath_prepend(str(CARD.parent))
    import card as script

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
