"""The example of a Fortran solver: its array is a tensor in place, and is freed when the tensor has gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from peers import peer

ROOT = Path(__file__).resolve().parents[2]


def test_a_fortran_array_is_a_tensor_of_pytorchs_in_place() -> None:
    peer("torch")
    folder = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test")) / "examples"
    if not (folder / "libheat.so").exists():
        pytest.skip("the Fortran examples are not built: there is no Fortran compiler")
    done = subprocess.run(
        [sys.executable, str(ROOT / "bindings/fortran/examples/heat.py"), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "PyTorch: a tensor of shape (6, 4) and strides (1, 8), torch.float64"
    assert lines[1].startswith("Fortran: sees 100 in all")
    assert lines[2].startswith("PyTorch: sees 60, 10 and 10")
    assert lines[4].startswith("PyTorch: the first row still lives: [60.0, 10.0")
    assert lines[5] == "  Fortran: the last user has released it; the field is freed"
    assert lines[6] == "left alive: 0 arrays, 0 storages"
