"""Pages picked by number go from one rank to another: packed by one call, next to PyTorch's ways.

    python tests/bench/bench_ranks.py [--json FILE]

By NCCL between two GPUs, and by MPI through pinned memory, between two or within one, where mpi4py and mpiexec are. GB/s
of the pages, one way; both ranks wait for each other before and after. The limit is one message of as many adjacent bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import viaduct as via
from bench_python import row

TURNS = 9
SIZES = [(4096, 4096), (16384, 512)]  # pages, bytes of each
EACH = 16  # of so many in the cache one is sent

Call = Callable[[], Any]


class Pages:
    """The cache of a rank, the numbers of the pages, and a buffer for them."""

    def __init__(self, rank: int, count: int, nbytes: int, memory: str) -> None:
        torch.cuda.set_device(rank % torch.cuda.device_count())
        generator = torch.Generator().manual_seed(rank)
        self.cache = torch.zeros(count * EACH, nbytes, dtype=torch.uint8, device="cuda")
        self.index = torch.randperm(count * EACH, generator=generator)[:count]
        self.on_gpu = self.index.cuda()
        pinned = memory == "pinned"
        self.packed = torch.empty(
            count, nbytes, dtype=torch.uint8, device=None if pinned else "cuda", pin_memory=pinned
        )
        self.batch = via.Batch()
        if rank == 0:
            self.batch.add_indexed(self.packed, None, self.cache, self.index.numpy())
        else:
            self.batch.add_indexed(self.cache, self.index.numpy(), self.packed, None)


# ------------------------------------------------------------------------------------------------ NCCL


def by_nccl(rank: int, pages: Pages) -> dict[str, Call]:
    import torch.distributed as dist

    other, stream = 1 - rank, torch.cuda.current_stream()

    def message(buffer: torch.Tensor) -> None:
        dist.send(buffer, other) if rank == 0 else dist.recv(buffer, other)

    def ours() -> None:
        if rank == 0:
            pages.batch.run(stream=stream)
        message(pages.packed)
        if rank == 1:
            pages.batch.run(stream=stream)

    def theirs() -> None:
        message(pages.cache.index_select(0, pages.on_gpu) if rank == 0 else pages.packed)
        if rank == 1:
            pages.cache.index_copy_(0, pages.on_gpu, pages.packed)

    def one_by_one() -> None:
        way = dist.isend if rank == 0 else dist.irecv
        operations = [dist.P2POp(way, pages.cache[number], other) for number in pages.index.tolist()]
        for work in dist.batch_isend_irecv(operations):
            work.wait()

    return {
        "viaduct": ours,
        "torch index_select, index_copy_": theirs,
        "a message for each page": one_by_one,
        "limit": lambda: message(pages.packed),
    }


# ------------------------------------------------------------------------------------------------ MPI


def by_mpi(rank: int, pages: Pages) -> dict[str, Call]:
    from mpi4py import MPI

    comm, other, packed = MPI.COMM_WORLD, 1 - rank, pages.packed.numpy()

    def message(buffer: Any) -> None:
        comm.Send([buffer, MPI.BYTE], other) if rank == 0 else comm.Recv([buffer, MPI.BYTE], other)

    def ours() -> None:
        if rank == 0:
            pages.batch.run()
        message(packed)
        if rank == 1:
            pages.batch.run()

    def theirs() -> None:
        if rank == 0:
            message(pages.cache.index_select(0, pages.on_gpu).cpu().numpy())
        else:
            message(packed)
            pages.cache.index_copy_(0, pages.on_gpu, pages.packed.cuda())

    return {"viaduct": ours, "torch index_select, cpu": theirs, "limit": lambda: message(packed)}


# ------------------------------------------------------------------------------------------------ ranks


def time_calls(calls: dict[str, Call], wait: Call) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 2):
        for name, call in calls.items():
            torch.cuda.synchronize()
            wait()
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            wait()
            if turn > 1:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def run_rank(kind: str, rank: int, out: Path) -> None:
    if kind == "NCCL":
        import torch.distributed as dist

        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda", rank))
        wait: Call = dist.barrier
    else:
        from mpi4py import MPI

        wait = MPI.COMM_WORLD.Barrier
    found = {}
    for count, nbytes in SIZES:
        pages = Pages(rank, count, nbytes, "device" if kind == "NCCL" else "pinned")
        calls = by_nccl(rank, pages) if kind == "NCCL" else by_mpi(rank, pages)
        found[f"{count} pages of {nbytes} B by {kind}"] = {
            name: count * nbytes / seconds / 1e9 for name, seconds in time_calls(calls, wait).items()
        }
    if rank == 0:
        out.write_text(json.dumps(found))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def measure(kind: str) -> dict[str, dict[str, float]]:
    """By two processes of this program."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        rank = [sys.executable, __file__, "--kind", kind, "--out", str(out)]
        settings = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        if kind == "MPI":
            subprocess.run(["mpiexec", "-n", "2", *rank], env=settings, check=True)
        else:
            ranks = [subprocess.Popen([*rank, "--rank", str(number)], env=settings) for number in range(2)]
            failed = [each.wait() for each in ranks]
            if any(failed):
                raise RuntimeError("a rank failed")
        found: dict[str, dict[str, float]] = json.loads(out.read_text())
        return found


def rows(kinds: list[str]) -> list[dict[str, Any]]:
    found = []
    for kind in kinds:
        for what, rates in measure(kind).items():
            limit = rates.pop("limit")
            best = max((name for name in rates if name != "viaduct"), key=lambda name: rates[name])
            found.append(row(f"{what}; peers", "GB/s", rates, {"peer": best, "at_least": 1.0}))
            found.append(row(f"{what}; one message", "GB/s", rates, {"limit_at_least": 0.7}) | {"limit": limit})
    return found


def main() -> None:
    import bench

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--kinds", nargs="+", choices=["NCCL", "MPI"], default=["NCCL", "MPI"])
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.kind is not None:
        rank = asked.rank
        if asked.kind == "MPI":
            from mpi4py import MPI

            rank = MPI.COMM_WORLD.Get_rank()
        return run_rank(asked.kind, rank, asked.out)
    found = rows(asked.kinds)
    bench.show(found)
    if asked.json:
        report = {"machine": bench.describe_machine("gpu"), "commit": bench.find_commit(), "rows": found}
        asked.json.write_text(json.dumps(report, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
