"""Copies of random layouts between host memory and a GPU, in turns with PyTorch.

The population: strided on the host, on the device or on both, padded or not, steps of 2 now and then, pageable or
pinned host memory, 64 KiB to 256 MiB. The bound is a plain copy of pinned memory in the same direction. With `--busy N`
all of it is measured while N processes spin.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import populations
import torch
import viaduct as via
from bench import describe_machine
from layouts_devices import Layout, draw_layout, take_turns
from populations import MIB, Band, Row

BANDS = (Band(0, 1), Band(1, 16), Band(16))
DTYPES = (torch.uint8, torch.int16, torch.bfloat16, torch.float32, torch.float32, torch.float64)
TARGETS = (1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28)
GPU, HOST = torch.device("cuda:0"), torch.device("cpu")


@dataclass(frozen=True)
class Case:
    layout: Layout
    where: str  # host, device or both: which side is strided
    way: str  # up or down
    pinned: bool

    def side(self, device: torch.device) -> torch.Tensor:
        strided = self.where in ("both", "host" if device == HOST else "device")
        pinned = self.pinned and device == HOST
        return self.layout.strided(device, pinned) if strided else self.layout.dense(device, pinned)

    def group(self) -> tuple[str, str, bool]:
        return self.way, self.where, self.pinned

    def __str__(self) -> str:
        kind = "pinned" if self.pinned else "pageable"
        return f"{self.way}, {self.layout}, strided on {self.where}, {kind}"


def cases(seed: int) -> Iterator[Case]:
    """Endless."""
    chance = random.Random(seed)
    while True:
        layout = draw_layout(chance, DTYPES, TARGETS, steps=True)
        where, way = chance.choice(["host", "host", "device", "both"]), chance.choice(["up", "down"])
        yield Case(layout, where, way, chance.random() < 0.3)


def measure(case: Case, rates: dict[str, float]) -> Row:
    host, gpu = case.side(HOST), case.side(GPU)
    dst, src = (gpu, host) if case.way == "up" else (host, gpu)
    ours, theirs = via.asarray(dst), via.asarray(src)
    via.copy(ours, theirs)
    right = torch.equal(dst.cpu(), src.cpu())
    nbytes = case.layout.nbytes()
    calls = {populations.OURS: lambda: via.copy(ours, theirs), "torch": lambda: dst.copy_(src)}
    seconds = take_turns(calls, 7 if nbytes < 16 * MIB else 3, rests=True)
    route = via.copy_explain(ours, theirs).splitlines()[0]
    return Row(f"{case} ({route})", nbytes, seconds, nbytes / rates[case.way], right)


def plain_rates() -> dict[str, float]:
    nbytes = 256 * MIB
    pinned = torch.empty(nbytes, dtype=torch.uint8).pin_memory()
    gpu = torch.empty(nbytes, dtype=torch.uint8, device=GPU)
    calls = {"up": lambda: gpu.copy_(pinned), "down": lambda: pinned.copy_(gpu)}
    return {way: nbytes / seconds for way, seconds in take_turns(calls, 5).items()}


def show_groups(found: list[tuple[Case, Row]]) -> None:
    for way, where, pinned in product(("up", "down"), ("host", "device", "both"), (False, True)):
        rows = [row for case, row in found if case.group() == (way, where, pinned)]
        for entry in populations.summary(rows, BANDS[-1:]):
            kind = "pinned" if pinned else "pageable"
            print(f"  {way}, strided on {where}, {kind}: {entry['layouts']} layouts, {entry['of_bound']:.2f} of pinned")


def options() -> argparse.Namespace:
    parser = populations.parser_of("link", 150)
    populations.add_busy(parser)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    with populations.busy(chosen.busy):
        rates = plain_rates()
        print({way: f"{rate / 1e9:.1f} GB/s" for way, rate in rates.items()})
        found = [(case, measure(case, rates)) for case in islice(cases(chosen.seed), chosen.count)]
    rows = [row for _, row in found]
    populations.show(f"link, seed {chosen.seed}{populations.next_to(chosen.busy)}", rows, BANDS, "pinned")
    show_groups(found)
    settings = {"seed": chosen.seed, "rates": rates, "busy": chosen.busy}
    populations.write(chosen.json, populations.report("link", rows, BANDS, describe_machine("gpu"), **settings))


if __name__ == "__main__":
    main()
