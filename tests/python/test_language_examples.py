"""The examples that answer the same question in each language, without a GPU: they say so, and do it in host memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from example_tools import in_language, output_of
from peers import peer

NO_GPU = "there is no CUDA device, so the "
LANGUAGES = ["c", "cpp", "fortran", "java", "csharp"]


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIADUCT_LIBCUDA", "/nowhere/libcuda.so.1")


@pytest.mark.parametrize("language", LANGUAGES)
def test_structs_come_to_the_host_whole_after_a_stream_and_by_one_field(language: str) -> None:
    output = output_of(in_language(language, "gpu_to_host"))
    assert output.startswith(f"{NO_GPU}particles are in host memory instead\n")
    assert re.search(r"^at once: number 9 has x 9(\.0)?, mass 4\.5$", output, re.MULTILINE)
    assert re.search(r"^after the stream's work: number 10 has y 20(\.0)?$", output, re.MULTILINE)
    assert output.endswith("the masses alone, 524288 of 1572864 bytes: number 11 has 5.5\n")


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_row_of_a_file_is_turned_around_by_blocks(language: str, tmp_path: Path) -> None:
    numpy = peer("numpy")
    table = numpy.arange(5000 * 1003, dtype=numpy.float32).reshape(5000, 1003)
    numpy.save(tmp_path / "in.npy", table)
    command = in_language(language, "mirror_file")
    output = output_of([*command, str(tmp_path / "in.npy"), str(tmp_path / "out.npy")])
    assert output.startswith(f"{NO_GPU}blocks are in host memory instead")
    assert "5000 rows in blocks of 2090" in output
    assert numpy.array_equal(numpy.load(tmp_path / "out.npy"), table[:, ::-1])
