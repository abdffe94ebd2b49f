"""Two ranks of an MPI job exchange arrays as they are: mpi_ranks.py has what they do, once for all tests."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_tools import SETTINGS, launcher
from peers import peer

PROGRAM = Path(__file__).with_name("mpi_ranks.py")


def steps() -> list[str]:
    """Known without MPI, which the program takes."""
    for node in ast.parse(PROGRAM.read_text()).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.List):
            return [step.id for step in node.value.elts if isinstance(step, ast.Name)]
    raise AssertionError("no list of steps")


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What each rank says of each step."""
    peer("mpi4py")
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run(
        [launcher(), "-n", "2", sys.executable, str(PROGRAM), str(folder)],
        env=os.environ | SETTINGS,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = [(folder / f"rank{rank}").read_text().splitlines() for rank in (0, 1)]
    return [{name: result for name, _, result in (line.partition(" ") for line in lines)} for lines in ranks]


@pytest.mark.parametrize("step", steps())
def test_between_two_ranks(reported: list[dict[str, str]], step: str) -> None:
    results = [rank[step] for rank in reported]
    if all(result.startswith("left out: ") for result in results):
        pytest.skip(results[0])
    assert results == ["ok", "ok"], "\n".join(results).replace("\\n", "\n")
