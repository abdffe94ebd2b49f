"""The examples of two processes: what they say without a GPU, and that both let go of everything."""

from __future__ import annotations

import re
from pathlib import Path

from example_tools import run_apart


def test_without_a_device_host_memory_is_shared_and_the_example_says_so(tmp_path: Path) -> None:
    lines = run_apart("two_processes", folder=tmp_path, VIADUCT_LIBCUDA="/nowhere/libcuda.so.1").splitlines()
    assert lines[0] == "There is no CUDA device: host memory alone is shared"
    assert "1000000 bytes, described in" in lines[1] and lines[1].endswith("in place: [1.0, 7.0, 1.0]")
    assert lines[2].endswith("the child still reads 7.0")
    assert lines[3:] == ["left alive: 0 arrays; the child ended with 0"]


def test_an_array_is_handed_over_in_a_small_part_of_the_time_that_copies_take(tmp_path: Path) -> None:
    found = dict(re.findall(r"^  (\w+): ([\d.]+) ms; ", run_apart("handover", folder=tmp_path), re.MULTILINE))
    assert {"viaduct", "pickle"} <= found.keys()
    assert 10 * float(found["viaduct"]) < float(found["pickle"])
