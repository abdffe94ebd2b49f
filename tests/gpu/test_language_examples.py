"""The examples in C, C++ and Fortran that answer what people ask of a GPU, on a device; the suites of Java and C# run
theirs."""

from __future__ import annotations

from pathlib import Path

import cuda_driver
import pytest
from example_tools import in_language, output_of
from peers import peer


@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_structs_come_to_the_host_whole_after_a_stream_and_by_one_field(language: str) -> None:
    output = output_of(in_language(language, "gpu_to_host"))
    assert output.startswith("the particles are on a GPU\nat once: number 9 has x 9")
    assert "after the stream's work: number 10 has y 20" in output
    assert output.endswith("524288 of 1572864 bytes: number 11 has 5.5\n")


@pytest.mark.parametrize("language", ["cpp", "fortran"])
def test_every_row_of_a_file_is_turned_around_on_the_device_by_blocks(language: str, tmp_path: Path) -> None:
    cuda_driver.need_kernels()
    numpy = peer("numpy")
    table = numpy.arange(5000 * 1003, dtype=numpy.float32).reshape(5000, 1003)
    numpy.save(tmp_path / "in.npy", table)
    command = in_language(language, "mirror_file")
    output = output_of([*command, str(tmp_path / "in.npy"), str(tmp_path / "out.npy")])
    assert output.startswith("the blocks are on a GPU") and "5000 rows in blocks of 2090" in output
    assert numpy.array_equal(numpy.load(tmp_path / "out.npy"), table[:, ::-1])
