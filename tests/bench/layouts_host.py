"""Copies of random layouts on the host, in turns with NumPy, PyTorch and a plain copy of as many bytes.

The population: 2 to 5 axes in random order, elements of 1 to 16 bytes, extents that are rarely round, a third of the
innermost axes 2 to 7 long, some steps of 2, 3 and -1, from 16 KiB up. Results must not depend on the seed.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import populations
import viaduct as via
from bench import describe_machine
from populations import Band, Row

try:
    import torch
except ImportError:
    torch = None

BANDS = (Band(0, 0.125), Band(0.125, 1), Band(1, 8), Band(8), Band(0.125), Band(0))
DTYPES = ("u1", "i2", "f4", "f4", "f8", "c16")
MOST_BYTES = 2 << 30


@dataclass(frozen=True)
class Layout:
    """A row-major array of `shape`, each axis seen with a step of its own, whose axes are then permuted."""

    dtype: numpy.dtype
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]

    def base_shape(self) -> tuple[int, ...]:
        return tuple(extent * abs(step) for extent, step in zip(self.shape, self.steps, strict=True))

    def base_bytes(self) -> int:
        return math.prod(self.base_shape()) * self.dtype.itemsize

    def view(self, base: numpy.ndarray) -> numpy.ndarray:
        return base[tuple(slice(None, None, step) for step in self.steps)].transpose(self.axes)

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape} by {self.axes} steps {self.steps}"


def layouts(seed: int, largest: int) -> Iterator[Layout]:
    """Endless; `largest` in MiB."""
    chance = random.Random(seed)
    while True:
        dtype = numpy.dtype(chance.choice(DTYPES))
        ndim = chance.choice([2, 3, 3, 4, 4, 5])
        target = chance.choice([1 << 14, 1 << 18, 1 << 21, 1 << 24, largest << 20])
        weights = [chance.random() + 0.05 for _ in range(ndim)]
        whole = math.log(target / dtype.itemsize) / sum(weights)
        shape = [max(1, int(math.exp(whole * weight)) + chance.choice([0, 0, 1, 3])) for weight in weights]
        if chance.random() < 0.3:
            shape[-1] = chance.choice([2, 3, 4, 5, 7])
        steps = [chance.choice([1, 1, 2, 3, -1]) if chance.random() < 0.3 else 1 for _ in range(ndim)]
        axes = list(range(ndim))
        chance.shuffle(axes)
        layout = Layout(dtype, tuple(shape), tuple(axes), tuple(steps))
        if layout.base_bytes() <= MOST_BYTES:
            yield layout


def calls_of(dst: numpy.ndarray, src: numpy.ndarray) -> dict[str, Callable[[], Any]]:
    our_dst, our_src = via.asarray(dst), via.asarray(src)
    plain_dst, plain_src = numpy.empty(src.nbytes, numpy.uint8), numpy.ones(src.nbytes, numpy.uint8)
    calls: dict[str, Callable[[], Any]] = {
        populations.OURS: lambda: via.copy(our_dst, our_src),
        "numpy": lambda: numpy.copyto(dst, src),
        "plain": lambda: numpy.copyto(plain_dst, plain_src),
    }
    # It takes no array that goes backwards.
    if torch is not None and min(src.strides, default=0) >= 0:
        torch_dst, torch_src = torch.from_numpy(dst), torch.from_numpy(src)
        calls["torch"] = lambda: torch_dst.copy_(torch_src)
    return calls


def measure(layout: Layout, number: int) -> Row:
    values = numpy.random.default_rng(number).integers(0, 255, layout.base_bytes(), dtype=numpy.uint8)
    src = layout.view(values.view(layout.dtype).reshape(layout.base_shape()))
    dst = numpy.empty(src.shape, layout.dtype)
    calls = calls_of(dst, src)
    calls[populations.OURS]()
    right = dst.tobytes() == src.tobytes()
    seconds = populations.take_turns(calls, pause=("torch",))
    return Row(str(layout), 2 * src.nbytes, seconds, seconds.pop("plain"), right)


def options() -> argparse.Namespace:
    parser = populations.parser_of("host", 160)
    parser.add_argument("--threads", type=int, default=via.num_threads())
    parser.add_argument("--largest", type=int, default=64, metavar="MIB")
    populations.add_busy(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    via.set_num_threads(chosen.threads)
    if torch is not None:
        torch.set_num_threads(chosen.threads)
    found = layouts(chosen.seed, chosen.largest)
    with populations.busy(chosen.busy):
        rows = [measure(next(found), number) for number in range(chosen.count)]
    title = f"host, seed {chosen.seed}, {chosen.threads} threads{populations.next_to(chosen.busy)}"
    populations.show(title, rows, BANDS, "a plain copy")
    settings = {
        "seed": chosen.seed,
        "threads": chosen.threads,
        "largest_mib": chosen.largest,
        "busy": chosen.busy,
    }
    populations.write(chosen.json, populations.report("host", rows, BANDS, describe_machine("cpu"), **settings))


if __name__ == "__main__":
    main()
