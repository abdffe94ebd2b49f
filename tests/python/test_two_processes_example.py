"""The examples of processes that share memory: what they say without a GPU, and that nobody keeps anything."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from example_tools import run_apart

PAGE = Path(__file__).resolve().parents[2] / "docs/guide/sharing.md"


def test_without_a_device_host_memory_is_shared_and_the_example_says_so(tmp_path: Path) -> None:
    lines = run_apart("two_processes", folder=tmp_path, VIADUCT_LIBCUDA="/nowhere/libcuda.so.1").splitlines()
    assert lines[0] == "There is no CUDA device: host memory alone is shared"
    assert "1000000 bytes, described in" in lines[1] and lines[1].endswith("in place: [1.0, 7.0, 1.0]")
    assert lines[2].endswith("the child still reads 7.0")
    assert lines[3:] == ["left alive: 0 arrays; the child ended with 0"]


def milliseconds(*without: str, folder: Path) -> dict[str, float]:
    text = run_apart("handover", *without, folder=folder)
    return {name: float(time) for name, time in re.findall(r"^  (\w+): ([\d.]+) ms; ", text, re.MULTILINE)}


@pytest.mark.long
def test_an_array_is_handed_over_in_a_small_part_of_the_time_that_copies_take(tmp_path: Path) -> None:
    found = milliseconds("torch", folder=tmp_path)
    assert {"viaduct", "pickle"} <= found.keys() and "torch" not in found
    assert 10 * found["viaduct"] < found["pickle"]


@pytest.mark.skipif(
    "VIADUCT_TEST_ENGINES" not in os.environ, reason="two processes load PyTorch: ./dev engines has them"
)
def test_tensors_are_handed_over_next_to_it(tmp_path: Path) -> None:
    found = milliseconds(folder=tmp_path)
    assert {"viaduct", "shared_memory", "torch", "pickle"} == found.keys()
    assert 10 * found["viaduct"] < found["pickle"]


def table_of(text: str) -> dict[str, dict[str, str]]:
    """By its columns, each by its rows."""
    table = re.search(r"^\| what happens \| viaduct \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    assert table is not None, text
    heads, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table[0].splitlines())
    return {head: {row[0]: row[at] for row in rows} for at, head in enumerate(heads) if at}


@pytest.mark.long
def test_who_is_killed_leaves_what_the_documentation_says(tmp_path: Path) -> None:
    """The other columns depend on the versions of others."""
    ways = ("viaduct", "shared_memory, separate programs")
    found = table_of(run_apart("endings", folder=tmp_path, arguments=ways))
    assert tuple(found) == ways
    assert found["viaduct"] == table_of(PAGE.read_text())["viaduct"]
    assert set(found[ways[1]].values()) <= {"reads on", "the memory", "nothing", "a file", "`FileNotFoundError`"}
    assert found[ways[1]]["an importer is killed; the next one gets"] == "`FileNotFoundError`"
