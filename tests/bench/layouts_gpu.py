"""Copies of random layouts on a GPU, in turns with PyTorch, CuPy and the bound.

The population: 2 to 5 axes in random order, elements of 1 to 16 bytes, extents that are rarely round, a third of the
innermost axes 2 to 7 long, some steps of 2 and 3, 1 MiB to 256 MiB at the source. Times are of the stream, without what
launching takes on the host. The bound counts the sectors of 32 bytes that must be read and the bytes that must be
written, at the rate of a plain copy of 1 GiB in the same run. A plain copy of as many bytes as the bound counts is
measured with each layout: what it reaches of the bound, no other copy can be expected to. Results must not depend on
the seed.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import cupy
import populations
import torch
import viaduct as via
from bench import describe_machine
from layouts_devices import Call
from populations import Band, Row

BANDS = (Band(0, 1), Band(1, 8), Band(8, 64), Band(64), Band(8))
DTYPES = (
    torch.uint8,
    torch.int16,
    torch.bfloat16,
    torch.float32,
    torch.float32,
    torch.float64,
    torch.complex128,
)
TARGETS = (1 << 20, 1 << 24, 1 << 26, 1 << 28)
MOST_BYTES = 6 << 30
MOST_COUNTED = 100_000_000  # elements whose sectors are counted one by one; of more, only the bytes are
SECTOR = 32
PLAIN_BYTES = 2 << 30  # of 1 GiB, read and written
GPU = torch.device("cuda:0")
TURNS = 7


@dataclass(frozen=True)
class Layout:
    """Memory in which each axis has a step and some more elements behind it; its axes are permuted."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    full: tuple[int, ...]

    def base_bytes(self) -> int:
        return math.prod(self.full) * self.dtype.itemsize

    def source(self) -> torch.Tensor:
        values = random_values(self.base_bytes())
        cut = tuple(slice(0, extent * step, step) for extent, step in zip(self.shape, self.steps, strict=True))
        return values.view(self.dtype).view(self.full)[cut].permute(self.axes)

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        return f"{name} {list(self.shape)} by {list(self.axes)} steps {list(self.steps)}"


def random_values(nbytes: int) -> torch.Tensor:
    return torch.randint(0, 127, (nbytes,), dtype=torch.uint8, device=GPU)


def layouts(seed: int) -> Iterator[Layout]:
    """Endless."""
    chance = random.Random(seed)
    while True:
        dtype, ndim, target = chance.choice(DTYPES), chance.choice([2, 3, 3, 4, 4, 5]), chance.choice(TARGETS)
        weights = [chance.random() + 0.05 for _ in range(ndim)]
        whole = math.log(target / dtype.itemsize) / sum(weights)
        shape = [max(1, int(math.exp(whole * weight)) + chance.choice([0, 0, 1, 3])) for weight in weights]
        if chance.random() < 0.3:
            shape[-1] = chance.choice([2, 3, 4, 5, 7])
        steps = [chance.choice([1, 1, 1, 2, 3]) if chance.random() < 0.3 else 1 for _ in range(ndim)]
        full = [extent * step + chance.choice([0, 0, 5]) for extent, step in zip(shape, steps, strict=True)]
        axes = list(range(ndim))
        chance.shuffle(axes)
        layout = Layout(dtype, tuple(shape), tuple(axes), tuple(steps), tuple(full))
        if layout.base_bytes() <= MOST_BYTES:
            yield layout


def time_on_stream(call: Call) -> float:
    """Seconds on the stream: while it sleeps, the call is queued."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(300_000)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3


def take_turns(calls: dict[str, Call]) -> dict[str, float]:
    """The median seconds of each. Whoever were measured first would find the GPU at rest, and take up to 4 % longer."""
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    turns = [{name: time_on_stream(call) for name, call in calls.items()} for _ in range(TURNS)]
    return {name: statistics.median(turn[name] for turn in turns) for name in calls}


def sector_bytes(view: torch.Tensor, base_bytes: int) -> int:
    """Bytes of the sectors that reading the view touches."""
    item = view.element_size()
    if view.numel() > MOST_COUNTED:
        return view.numel() * item
    at = torch.zeros(1, dtype=torch.int64, device=GPU)
    for extent, step in zip(view.shape, view.stride(), strict=True):
        at = (at[:, None] + (torch.arange(extent, device=GPU) * step * item)[None]).reshape(-1)
    touched = torch.zeros(base_bytes // SECTOR + 2, dtype=torch.bool, device=GPU)
    touched[at // SECTOR] = True
    touched[(at + item - 1) // SECTOR] = True
    return int(touched.sum()) * SECTOR


def calls_of(dst: torch.Tensor, src: torch.Tensor) -> dict[str, Call]:
    our_dst, our_src, stream = via.asarray(dst), via.asarray(src), torch.cuda.current_stream()
    calls: dict[str, Call] = {
        populations.OURS: lambda: via.copy(our_dst, our_src, stream=stream),
        "torch": lambda: dst.copy_(src),
    }
    if dst.dtype != torch.bfloat16:  # which CuPy lacks
        cupy_dst, cupy_src = cupy.from_dlpack(dst), cupy.from_dlpack(src)
        calls["cupy"] = lambda: cupy.copyto(cupy_dst, cupy_src)
    return calls


def bytes_of(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(-1).view(torch.uint8)


def measure_copy(case: str, dst: torch.Tensor, src: torch.Tensor, moved: int, rate: float) -> Row:
    """The bound is that of `moved` bytes, read and written."""
    calls = calls_of(dst, src)
    calls[populations.OURS]()
    right = torch.equal(bytes_of(dst), bytes_of(src))
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        seconds = take_turns(calls)
    nbytes = 2 * src.numel() * src.element_size()
    return Row(case, nbytes, seconds, moved / rate, right, plain_seconds(moved))


def measure(layout: Layout, rate: float) -> Row:
    src = layout.source()
    dst = torch.empty(src.shape, dtype=src.dtype, device=GPU)
    nbytes = src.numel() * src.element_size()
    return measure_copy(str(layout), dst, src, sector_bytes(src, layout.base_bytes()) + nbytes, rate)


def plain_seconds(moved: int) -> float:
    """What a plain copy takes that reads and writes as many bytes in all."""
    src = torch.empty(moved // 2, dtype=torch.uint8, device=GPU)
    dst = torch.empty_like(src)
    return take_turns({"plain": lambda: dst.copy_(src)})["plain"]


def plain_rate() -> float:
    """Bytes read and written in a second by a plain copy."""
    return PLAIN_BYTES / plain_seconds(PLAIN_BYTES)


def main() -> None:
    chosen = populations.parser_of("gpu", 260).parse_args()
    found = layouts(chosen.seed)
    rate = plain_rate()
    rows = [measure(next(found), rate) for _ in range(chosen.count)]
    populations.show(f"gpu, seed {chosen.seed}, plain copy {rate / 1e9:.0f} GB/s", rows, BANDS, "the bound")
    settings = {"seed": chosen.seed, "plain_gb_per_s": rate / 1e9}
    populations.write(chosen.json, populations.report("gpu", rows, BANDS, describe_machine("gpu"), **settings))


if __name__ == "__main__":
    main()
