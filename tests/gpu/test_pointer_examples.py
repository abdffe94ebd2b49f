"""The examples that answer what people ask about pointers, on a device: with each library that finds it."""

from __future__ import annotations

import re
from pathlib import Path

import cuda_driver
import pytest
from example_tools import LARGE, run_apart


def run(name: str, folder: Path) -> str:
    """On the fake driver no library but these finds a device; loading them would take long."""
    without = LARGE if cuda_driver.on_fake_driver() else ()
    output = run_apart(name, *without, folder=folder)
    assert output.startswith("On cuda:0, ")
    return output


@pytest.mark.parametrize(("example", "title"), [("cupy_from_pointer", "CuPy"), ("torch_from_pointer", "PyTorch")])
def test_a_library_has_its_array_on_the_pointer_or_is_left_out(example: str, title: str, tmp_path: Path) -> None:
    output = run(example, tmp_path)
    if f"  {title} is " in output:
        pytest.skip(f"{title} finds no device")
    assert "written through one, read through the other: 100" in output
    assert re.search(r"freed while Viaduct's \w+ lives: no\n  freed once it is gone: yes\n$", output)


def test_an_array_comes_to_the_host_at_once_on_a_stream_and_as_structs(tmp_path: Path) -> None:
    output = run("gpu_to_host", tmp_path)
    assert "from pointer to pointer: the same content" in output
    assert "every second element backwards: 65535, 65533 ... 1\n" in output
    assert "on a stream, behind a fill: 7 ... 7" in output
    assert "number 9 has x 9, mass 4.5" in output and "the driver's copy of them is the same" in output
    assert "4.5 is number 9's" in output


def test_one_buffer_serves_every_library_that_finds_the_device(tmp_path: Path) -> None:
    output = run("shared_buffer", tmp_path)
    rows = {"sets row 0 to 2": (0, "2"), "multiplies row 1 by 3": (1, "3"), "a kernel adds 3 to row 2": (2, "4")}
    (found,) = re.findall(r"the rows begin with (.*)$", output, re.MULTILINE)
    values = found.split(", ")
    for done, (row, value) in rows.items():
        assert values[row] == (value if done in output else "1")
    assert "COPY" not in output
    sums = {float(number) for number in re.findall(r"the sum is ([\d.]+)", output)}
    assert sums <= {16 * sum(map(float, values))}


def test_a_file_goes_through_the_device_by_blocks(tmp_path: Path) -> None:
    output = run("larger_than_memory", tmp_path)
    assert "the results are right" in output
    (took,) = re.findall(r"host memory that it took: (\d+) MiB", output)
    assert int(took) < 128 or not cuda_driver.on_fake_driver()
