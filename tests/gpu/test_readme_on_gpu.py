"""The README's program for a GPU is what happens on one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_the_first_program_on_a_gpu_runs() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    if not cupy.is_available():
        pytest.skip("CuPy finds no device")
    (program,) = re.findall(r"^```python gpu\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "allocation" in done.stdout, done.stdout
