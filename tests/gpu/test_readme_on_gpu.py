"""The first program for a GPU is what happens on one."""

import subprocess
import sys

import pytest
from programs import shown


def test_the_first_program_on_a_gpu_runs() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    if not cupy.is_available():
        pytest.skip("CuPy finds no device")
    program = shown("docs/start/python.md", "python gpu")
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "allocation" in done.stdout, done.stdout
