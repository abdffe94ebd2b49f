"""Copies of random layouts from one GPU to another: as long as nobody has switched peer access on, then with it, in turns
with PyTorch, which switches it on by its first copy.

The population: strided at the source (gather), at the destination (scatter) or at both, padded or not, 64 KiB to
128 MiB. The bound is a plain copy between the two with access on. `--json F.json` writes F-off.json and F-on.json.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import populations
import torch
import viaduct as via
from bench import describe_machine
from layouts_devices import Layout, draw_layout, take_turns
from populations import Band, Row

BANDS = (Band(0, 1), Band(1, 16), Band(16))
DTYPES = (torch.uint8, torch.int16, torch.float32, torch.float32, torch.float64)
TARGETS = (1 << 16, 1 << 22, 1 << 25, 1 << 27)
PLAIN = (1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30)
DEVICES = (torch.device("cuda:0"), torch.device("cuda:1"))
TURNS = 7


@dataclass(frozen=True)
class Case:
    layout: Layout
    kind: str

    def pair(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Destination and source."""
        src, dst = DEVICES
        source = self.layout.dense(src) if self.kind == "scatter" else self.layout.strided(src)
        return self.layout.dense(dst) if self.kind == "gather" else self.layout.strided(dst), source

    def __str__(self) -> str:
        return f"{self.kind} {self.layout}"


def cases(seed: int) -> Iterator[Case]:
    """Endless."""
    chance = random.Random(seed)
    while True:
        layout = draw_layout(chance, DTYPES, TARGETS, steps=False)
        yield Case(layout, chance.choice(["gather", "gather", "scatter", "both"]))


def measure(case: Case, with_torch: bool) -> Row:
    dst, src = case.pair()
    ours, theirs = via.asarray(dst), via.asarray(src)
    via.copy(ours, theirs)
    right = torch.equal(dst.cpu(), src.cpu())
    calls = {populations.OURS: lambda: via.copy(ours, theirs)}
    if with_torch:
        calls["torch"] = lambda: dst.copy_(src)
    route = via.copy_explain(ours, theirs).splitlines()[0]
    return Row(f"{case} ({route})", case.layout.nbytes(), take_turns(calls, TURNS), 0, right)


def switch_access_on() -> None:
    for here, there in (DEVICES, DEVICES[::-1]):
        torch.ones(1, device=here).to(there)


def plain_seconds() -> dict[str, dict[int, float]]:
    """Of adjacent bytes, by the kind of memory and the size."""
    found: dict[str, dict[int, float]] = {}
    for kind in ("device", "pool"):
        src, dst = (via.memory(kind, str(device)) for device in DEVICES)
        for nbytes in PLAIN:
            to, start = via.empty((nbytes,), "uint8", memory=dst), via.empty((nbytes,), "uint8", memory=src)
            calls = {kind: lambda to=to, start=start: via.copy(to, start)}
            found.setdefault(kind, {})[nbytes] = take_turns(calls, TURNS)[kind]
    return found


def show_plain(off: dict[str, dict[int, float]], on: dict[str, dict[int, float]]) -> None:
    print("plain bytes, GB/s, access off and on:")
    for kind, seconds in off.items():
        rates = (
            f"{nbytes // 1024} KiB {nbytes / without / 1e9:.0f} and {nbytes / on[kind][nbytes] / 1e9:.0f}"
            for nbytes, without in seconds.items()
        )
        print(f"  {kind} memory: {', '.join(rates)}")


def options() -> argparse.Namespace:
    return populations.parser_of("peer", 120).parse_args()


def main() -> None:
    chosen = options()
    for device in DEVICES:
        torch.zeros(1, device=device)
    drawn = list(islice(cases(chosen.seed), chosen.count))
    plain_off, off = plain_seconds(), [measure(case, with_torch=False) for case in drawn]
    switch_access_on()
    plain_on, on = plain_seconds(), [measure(case, with_torch=True) for case in drawn]
    rate = PLAIN[-1] / plain_on["device"][PLAIN[-1]]
    on = [replace(row, bound=row.nbytes / rate) for row in on]
    off = [
        replace(row, bound=row.nbytes / rate, seconds={**row.seconds, "access on": other.seconds[populations.OURS]})
        for row, other in zip(off, on, strict=True)
    ]
    show_plain(plain_off, plain_on)
    bound = f"a plain copy, {rate / 1e9:.0f} GB/s,"
    populations.show(f"peer, seed {chosen.seed}, access off", off, BANDS, bound)
    populations.show(f"peer, seed {chosen.seed}, access on", on, BANDS, bound)
    machine = describe_machine("gpu")
    settings = {"seed": chosen.seed, "plain": {"off": plain_off, "on": plain_on}}
    for name, rows in (("off", off), ("on", on)):
        path = chosen.json and chosen.json.with_stem(f"{chosen.json.stem}-{name}")
        populations.write(path, populations.report("peer", rows, BANDS, machine, **settings))


if __name__ == "__main__":
    main()
