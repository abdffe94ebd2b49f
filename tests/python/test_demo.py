"""The demo shows what it promises: one buffer, four runtimes, one release."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from peers import peer

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "bindings/python/examples/demo.py"


@pytest.fixture(scope="module")
def folder() -> Path:
    found = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test")) / "examples"
    if not (found / "libstrided_source.so").exists():
        pytest.skip(f"the examples are not built: {found} holds no libstrided_source.so")
    return found


def run(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, str(DEMO), str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_runtime_works_on_the_buffer_of_the_c_library(folder: Path) -> None:
    for name in ("numpy", "torch", "jax"):
        peer(name)
    output = run(folder)
    window = re.search(r"Array at (0x[0-9a-f]+), shape \(4, 6\)", output)
    assert window
    for runtime in ("NumPy: ndarray", "PyTorch: Tensor", "JAX: Array of its first row"):
        assert f"{runtime} at {window[1]}" in output
    assert "C: reads 1020 at [0, 0]" in output, "C does not see NumPy's change"
    assert "C: reads -30 at [1, 0]" in output, "C does not see PyTorch's change"
    assert "C: got 6 x 4 floats" in output, "the transposed copy did not arrive"


def test_the_buffer_is_released_once_when_the_last_releases(folder: Path) -> None:
    for name in ("numpy", "torch", "jax"):
        peer(name)
    output = run(folder)
    released = "the last user has released it; the image is freed"
    assert output.count(released) == 1
    before, after = output.split(released)
    assert "PyTorch's tensor is gone;  C reads 1020" in before
    assert "JAX's array is gone;       C reads nan" in after
    assert "left alive: 0 arrays, 0 storages" in after


def test_absent_peers_are_named_and_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("torch", "jax"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    program = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['demo', {str(folder)!r}]; "
    program += f"runpy.run_path({str(DEMO)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PyTorch is not installed" in done.stdout and "JAX is not installed" in done.stdout
    assert "the image is freed" in done.stdout
