"""The examples that answer what people ask about pointers, without a GPU: they say so, and do it with host memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from example_tools import LARGE, run_apart, run_here
from peers import peer

NO_DRIVER = {"VIADUCT_LIBCUDA": "/nowhere/libcuda.so.1"}
NO_GPU = "There is no CUDA device, so "


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_DRIVER.items():
        monkeypatch.setenv(name, value)


def test_an_array_on_a_pointer_sees_what_the_librarys_own_way_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer("numpy")
    output = run_here("cupy_from_pointer", monkeypatch, capsys)
    assert output.startswith(f"{NO_GPU}NumPy arrays on host memory serve instead.\n")
    assert "by Viaduct: numpy.ndarray (5, 4), strides (32, 8)" in output
    assert "written through one, read through the other: 100" in output
    assert "Viaduct refuses a shape that goes past the memory: via_wrap: " in output
    assert output.endswith("freed while Viaduct's array lives: no\n  freed once it is gone: yes\n")


def test_a_tensor_on_a_pointer_sees_what_pytorchs_own_way_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer("torch")
    output = run_here("torch_from_pointer", monkeypatch, capsys)
    assert output.startswith(f"{NO_GPU}tensors on host memory serve instead.\n")
    assert "tensors on cpu, both at the pointer" in output
    assert "written through one, read through the other: 100" in output
    # Elements 0 to 5, 12 to 17, 24 to 29 and 36 to 41, but for the 100 in place of number 10.
    assert "(6, 4), strides (1, 12), sum 492" in output
    assert output.endswith("freed while Viaduct's tensor lives: no\n  freed once it is gone: yes\n")


def test_an_array_comes_to_the_host_whole_in_part_and_as_structs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = run_here("gpu_to_host", monkeypatch, capsys)
    assert output.startswith(f"{NO_GPU}both ends are host memory instead.\n")
    assert "from pointer to pointer: the same content" in output
    assert "every second element backwards: 65535, 65533 ... 1\n" in output
    assert "behind the caller, as there are no streams: 262144 bytes" in output
    assert "number 9 has x 9, mass 4.5" in output and "the driver's copy of them is the same" in output
    assert "the masses alone, 524288 of 1572864 bytes: 4.5 is number 9's" in output


def test_one_buffer_serves_every_library_at_its_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("numpy", "torch", "jax", "tensorflow"):
        peer(name)
    output = run_here("shared_buffer", monkeypatch, capsys, "mpi4py")
    assert output.startswith(f"{NO_GPU}NumPy and host memory serve instead.\n")
    for name in ("NumPy", "PyTorch", "JAX", "TensorFlow"):
        assert f"  {name}: at the same address; " in output
    assert output.count("reads: the sum is 112") == 2, "a reader does not see what the writers did"
    assert "mpi4py is not installed, so it is left out" in output and "COPY" not in output
    assert re.search(r"the rows begin with 2, 3, [14], 1$", output, re.MULTILINE)


def test_mpi_takes_the_buffer_as_it_is(tmp_path: Path) -> None:
    peer("numpy")
    peer("mpi4py")
    output = run_apart("shared_buffer", *LARGE, folder=tmp_path, OMPI_MCA_plm="isolated", OMPI_MCA_btl="self,vader")
    assert "mpi4py: at the same address; sends it to itself: the sum is 80" in output
    for name in ("PyTorch", "JAX", "TensorFlow"):
        assert f"{name} is not installed, so it is left out." in output


@pytest.mark.heavy
def test_a_file_is_worked_on_in_less_memory_than_it_would_take(tmp_path: Path) -> None:
    peer("numpy")
    output = run_apart("larger_than_memory", folder=tmp_path, TMPDIR=str(tmp_path))
    assert output.startswith(NO_GPU) and "the results are right" in output
    (took,) = re.findall(r"host memory that it took: (\d+) MiB", output)
    assert "Viaduct, by blocks: 128 MiB read and written" in output and int(took) < 64
    assert "numpy.memmap, slice by slice: 128 MiB" in output
    assert not list(tmp_path.glob("tmp*")), "the files are left behind"
