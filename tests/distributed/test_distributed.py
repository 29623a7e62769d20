"""Programs in ``programs/``, in several processes that MPI's launcher starts."""

import pytest
from launching import launch

pytestmark = pytest.mark.mpi


def test_programs():
    """All ranks check what they exchange; ``together.py`` runs the programs."""
    run = launch(4, "together.py")
    assert run.returncode == 0, run.stderr
    for ranks, program in (4, "example"), (2, "mistakes"), (3, "mistakes"), (3, "collectives"), (4, "adjoints"):
        assert f"{ranks} ranks have checked the {program}\n" in run.stdout


@pytest.mark.parametrize(
    ("end", "statuses", "message"),
    [
        ("error", [1], "Rank 1 has failed, which ends all others:\nTraceback"),
        ("child", [1], "RuntimeError: this is a child of rank 1, which takes no part in communication"),
        ("kill", [9, 137], ""),
        ("absence", [1], "init_process_group timed out after 1 s: not all of the 2 processes have called it"),
        ("return", [1], "number 1 of group 0) cannot complete: rank 1 ended the program"),
    ],
)
def test_the_end_of_one_rank_ends_all(end, statuses, message):
    run = launch(2, "ends.py", end)
    assert run.returncode in statuses
    assert message in run.stderr
    if end == "error":
        assert "ValueError: this rank has no data" in run.stderr
