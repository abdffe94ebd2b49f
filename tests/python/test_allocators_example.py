"""The example of allocators: what it says without a GPU, and that it releases everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "bindings/python/examples/allocators.py"


def run(**settings: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_everyone_got_their_memory_back(output: str) -> int:
    """How many allocators served."""
    nbytes = 256 * 1024 * 4
    served = re.findall(r"^(\S.*): <viaduct.Array", output, re.MULTILINE)
    assert output.count(f"in use: {nbytes} bytes more than before") == len(served)
    assert output.count("read back through a view: 2.5") == len(served)
    assert output.count(f"in use while the view lives: {nbytes} bytes more") == len(served)
    assert output.count("in use once it is gone: 0 bytes more") == len(served)
    assert output.endswith("left alive: 0 arrays, 0 storages\n")
    return len(served)


def test_without_a_device_host_memory_serves_and_the_example_says_so() -> None:
    output = run(VIADUCT_LIBCUDA="/nowhere/libcuda.so.1")
    assert output.startswith("There is no CUDA device, so host memory serves instead.\n")
    assert "posix_memalign: <viaduct.Array" in output and "cpu" in output
    assert assert_everyone_got_their_memory_back(output) == 1
