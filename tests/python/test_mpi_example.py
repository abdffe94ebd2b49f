"""Two MPI ranks, one in C and one in Python, exchange strided arrays without packing; two in C pack theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_tools import SETTINGS, launcher
from peers import peer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "bindings/python/examples/mpi_field.py"


def rank(printed: Path, *command: object) -> list[str]:
    """One process of the job, for the launcher."""
    return ["-n", "1", "sh", "-c", f'exec "$0" "$@" >"{printed}"', *map(str, command)]


def example(name: str) -> Path:
    program = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test")) / "examples" / name
    if not program.exists():
        pytest.skip(f"the example is not built: there is no {program.name}, which takes an MPI library")
    return program


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What both ranks print, each to a file: the launcher may mix their lines."""
    peer("torch")
    peer("mpi4py")
    program = example("mpi_field")
    folder = tmp_path_factory.mktemp("ranks")
    ranks = [rank(folder / "c", program), rank(folder / "python", sys.executable, EXAMPLE)]
    done = subprocess.run(
        [launcher(), *ranks[0], ":", *ranks[1]],
        env=os.environ | SETTINGS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [*(folder / "c").read_text().splitlines(), *(folder / "python").read_text().splitlines()]


@pytest.mark.parametrize("ranks", [2, 3])
def test_pages_that_are_packed_arrive_where_the_other_rank_wants_them(ranks: int) -> None:
    done = subprocess.run(
        [launcher(), "-n", str(ranks), example("mpi_pages")],
        env=os.environ | SETTINGS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 1: 4 pages and 3 columns have arrived, 0 elements are wrong" in done.stdout


def test_a_strided_window_arrives_in_another_layout(output: list[str]) -> None:
    assert "  Python: received into strides (8, -24): 1 first, 46 last" in output


def test_it_comes_back_into_the_window_and_nowhere_else(output: list[str]) -> None:
    assert "  C: corrected: -1, -2 ... -46; around it all is as it was" in output


def test_a_dense_array_is_sent_as_it_is(output: list[str]) -> None:
    assert "  Python: the simulation's window is the tensor, element by element" in output


def test_a_column_is_broadcast_from_where_it_lies(output: list[str]) -> None:
    assert "  Python: every rank was reported 7, 17, 27, 37, 47, 57" in output
