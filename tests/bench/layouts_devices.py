"""What the populations of copies to, from and between GPUs share: layouts, their arrays, and timing."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = Callable[[], Any]


@dataclass(frozen=True)
class Layout:
    """Row-major memory with `pad` more of each axis and every `step`-th element of the last; its axes are permuted."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    pad: int
    step: int = 1

    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def strided(self, device: torch.device, pinned: bool = False) -> torch.Tensor:
        extents = [self.shape[self.axes.index(axis)] for axis in range(len(self.shape))]
        whole = [extent + self.pad for extent in extents]
        whole[-1] *= self.step
        cut = [slice(0, extent) for extent in extents]
        cut[-1] = slice(0, extents[-1] * self.step, self.step)
        return filled(whole, self.dtype, device, pinned)[tuple(cut)].permute(self.axes)

    def dense(self, device: torch.device, pinned: bool = False) -> torch.Tensor:
        return filled(self.shape, self.dtype, device, pinned)

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        return f"{name} {list(self.shape)} by {list(self.axes)}, padded by {self.pad}, step {self.step}"


def filled(shape: Sequence[int], dtype: torch.dtype, device: torch.device, pinned: bool = False) -> torch.Tensor:
    values = torch.randint(0, 127, tuple(shape), dtype=torch.uint8, device=device).to(dtype)
    return values.pin_memory() if pinned and device.type == "cpu" else values


def draw_layout(chance: random.Random, dtypes: Sequence[torch.dtype], targets: Sequence[int], steps: bool) -> Layout:
    """2 to 5 axes in random order, of extents that are rarely round; a third of the innermost ones 2 to 7 long."""
    dtype, ndim, target = chance.choice(dtypes), chance.choice([2, 3, 3, 4, 5]), chance.choice(targets)
    weights = [chance.random() + 0.05 for _ in range(ndim)]
    whole = math.log(target / dtype.itemsize) / sum(weights)
    shape = [max(1, int(math.exp(whole * weight)) + chance.choice([0, 0, 1, 3])) for weight in weights]
    if chance.random() < 0.3:
        shape[-1] = chance.choice([2, 3, 4, 5, 7])
    axes = list(range(ndim))
    chance.shuffle(axes)
    pad = chance.choice([0, 0, 1, 5])
    return Layout(dtype, tuple(shape), tuple(axes), pad, chance.choice([1, 1, 1, 1, 2]) if steps else 1)


def synchronize() -> None:
    for device in range(torch.cuda.device_count()):
        torch.cuda.synchronize(device)


POLLING = 0.015  # seconds, which OpenMP's threads poll on a processor whose pauses are long


def take_turns(calls: dict[str, Call], turns: int, rests: bool = False) -> dict[str, float]:
    """The median time of each call until every GPU is idle again.

    With `rests`, each turn begins with one, as the threads of the last may go on polling for a while, and with a call that
    does not count, since threads that have slept wake late.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(turns):
        for name, call in calls.items():
            if rests:
                time.sleep(POLLING)
                call()
            synchronize()
            start = time.perf_counter()
            call()
            synchronize()
            found[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in found.items()}
