"""The program of a new user runs as it is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import new_user
import pytest
from peers import peer

# Starts many interpreters, one after another.
pytestmark = pytest.mark.heavy


def test_arrays_are_made_and_copied_as_in_numpy() -> None:
    new_user.make_and_copy(peer("numpy"))


def test_many_copies_are_one_batch_and_its_tasks_are_waited_for_by_asyncio() -> None:
    new_user.copy_many()


def test_files_and_their_tasks_report_what_they_are(tmp_path: Path) -> None:
    new_user.read_back(tmp_path)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_write_where_the_array_is(method: str) -> None:
    new_user.share(method)


def test_workers_that_are_forked_do_so_too() -> None:
    """Of a process without the threads that other libraries have here."""
    program = "import new_user; new_user.share('fork')"
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True, timeout=60)
