"""What the project wants of each population of layouts. This is the one table of it; populations.py judges by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

BEST = "the better peer"


@dataclass(frozen=True)
class Target:
    """Of the layouts of `least` to `most` MiB read and written, by what the function `what` of populations.py finds."""

    least: float
    most: float
    what: str  # mean, worst, part, part_5th: at least; longer: at most, in us
    value: float
    peer: str = BEST


def between(least: float, most: float, *wanted: tuple[str, float] | tuple[str, float, str]) -> tuple[Target, ...]:
    return tuple(Target(least, most, *each) for each in wanted)


HPTT = "HPTT, measured"

TARGETS: dict[str, tuple[Target, ...]] = {
    "gpu": (
        *between(0, 1, ("longer", 0.5, "torch")),
        *between(1, 8, ("mean", 1.0, "torch"), ("worst", 0.9)),
        *between(8, math.inf, ("mean", 2.8, "torch"), ("worst", 0.95), ("part", 0.82), ("part_5th", 0.6)),
    ),
    # Of two threads. 0.125 MiB are an array of 64 KiB, read and written.
    "host": (
        *between(0, 0.125, ("mean", 2.5, "numpy"), ("worst", 1.0, "numpy")),
        *between(0.125, math.inf, ("mean", 4, "numpy"), ("mean", 3.5, "torch"), ("worst", 0.95), ("part", 0.65)),
    ),
    "hptt": between(0, math.inf, ("mean", 1.0, HPTT), ("worst", 0.85, HPTT), ("part", 0.95)),
    "link": (
        *between(0, 1, ("mean", 1.5, "torch"), ("worst", 0.95, "torch")),
        *between(1, 16, ("mean", 3, "torch"), ("worst", 0.95, "torch")),
        *between(16, math.inf, ("part", 0.8), ("part_5th", 0.5), ("worst", 0.95, "torch")),
    ),
    # Next to a busy application.
    "link, busy": between(0, math.inf, ("mean", 1.0, "torch"), ("worst", 0.95, "torch")),
    "peer, access on": (
        *between(0, 1, ("mean", 1.0, "torch")),
        *between(1, math.inf, ("mean", 1.1, "torch"), ("worst", 0.95, "torch")),
        *between(16, math.inf, ("part", 0.75)),
    ),
    "peer, access off": between(1, math.inf, ("mean", 0.9, "access on")),
}

# Plain bytes between two devices: from so many MiB on, at least so much of the rate with access on.
PLAIN_FROM_MIB = 64
PLAIN_OF_ACCESS_ON = 0.92


def targets_of(population: str, peers: set[str], settings: dict[str, Any]) -> tuple[Target, ...]:
    """No targets where none were set: on the host with other than two threads, or next to other work."""
    access = ", access off" if "access on" in peers else ", access on"
    busy = ", busy" if settings.get("busy") else ""
    if population == "host" and settings.get("threads") != 2:
        return ()
    return TARGETS.get(population + (access if population == "peer" else "") + busy, ())
