"""Pages between two ranks of PyTorch: by NCCL where there are two GPUs, otherwise by Gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from peers import peer

EXAMPLE = Path(__file__).resolve().parents[2] / "bindings/python/examples/nccl_pages.py"


@pytest.mark.skipif(
    "VIADUCT_TEST_ENGINES" not in os.environ, reason="two processes load PyTorch: ./dev engines has them"
)
def test_pages_that_are_packed_arrive_where_the_other_rank_wants_them() -> None:
    peer("torch")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "have arrived where they were wanted" in done.stdout
