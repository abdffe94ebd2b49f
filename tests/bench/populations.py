"""What is said of a population of random layouts, whatever the machine that copies them.

A row is one layout: the bytes that are read and written, each party's median time, the time of its bound, and on a GPU
that of a plain copy. From the rows come, by size: the geometric mean of how many times longer each peer takes, the
worst, how many are lost, and what part of the bound is reached, by ours and by a plain copy.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import contextlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import find_commit
from targets import BEST, PLAIN_FROM_MIB, PLAIN_OF_ACCESS_ON, Target, targets_of

OURS = "viaduct"
LOST = 0.95
MIB = 1 << 20
# A histogram: the least MiB of what it is of, where the bars of ratios and of parts end, the blocks of a bar of all.
LARGE = 1
RATIOS = (0.8, LOST, 1.05, 1.5, 2, 3, 5)
PARTS = (0.2, 0.4, 0.6, 0.8)
BLOCKS = 50


@dataclass(frozen=True)
class Row:
    case: str
    nbytes: int  # read and written
    seconds: dict[str, float]  # of each party, ours among them
    bound: float  # seconds
    right: bool = True
    plain: float | None = None  # seconds of a plain copy of the bytes that the bound counts, where it was measured

    def over(self, peer: str) -> float | None:
        """How many times longer a peer takes; None where it takes no such layout."""
        return self.seconds[peer] / self.seconds[OURS] if peer in self.seconds else None

    def over_best(self) -> float:
        return min(value / self.seconds[OURS] for name, value in self.seconds.items() if name != OURS)

    def of_bound(self) -> float:
        return self.bound / self.seconds[OURS]


@dataclass(frozen=True)
class Band:
    """Rows of `least` to `most` MiB read and written."""

    least: float
    most: float = math.inf

    def of(self, rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if self.least <= row.nbytes / MIB < self.most]

    def title(self) -> str:
        return f"{self.least:g} MiB and more" if self.most == math.inf else f"{self.least:g} to {self.most:g} MiB"

    @staticmethod
    def titled(title: str) -> Band:
        words = title.split()
        return Band(float(words[0]), float(words[2]) if words[1] == "to" else math.inf)


def take_turns(
    calls: dict[str, Callable[[], Any]], seconds: float = 0.012, turns: int = 7, pause: Iterable[str] = ()
) -> dict[str, float]:
    """The median time of each call. Those in `pause` are followed by a rest: their threads go on spinning for a while."""
    loops = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        loops[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(loops[name]):
                call()
            found[name].append((time.perf_counter() - start) / loops[name])
            if name in pause:
                time.sleep(0.003)
    return {name: statistics.median(values) for name, values in found.items()}


def against(rows: Sequence[Row], peer: str) -> dict[str, float] | None:
    ratios = [ratio for row in rows if (ratio := row.over(peer)) is not None]
    if not ratios:
        return None
    return {
        "geomean": statistics.geometric_mean(ratios),
        "worst": min(ratios),
        "lost": sum(ratio < LOST for ratio in ratios),
        "layouts": len(ratios),
    }


def summary(rows: Sequence[Row], bands: Iterable[Band]) -> list[dict[str, Any]]:
    """One entry for each band that has rows."""
    entries = []
    for band in bands:
        some = band.of(rows)
        if not some:
            continue
        parts = sorted(row.of_bound() for row in some)
        peers = {name: None for row in some for name in row.seconds if name != OURS}
        entries.append(
            {
                "band": band.title(),
                "layouts": len(some),
                "peers": {name: found for name in peers if (found := against(some, name)) is not None},
                "lost_to_best": sum(row.over_best() < LOST for row in some),
                "worst_to_best": min(row.over_best() for row in some),
                "of_bound": statistics.geometric_mean(parts),
                "of_bound_5th": parts[len(parts) // 20],
                **plain_of_bound(some),
            }
        )
    return entries


def plain_of_bound(rows: Sequence[Row]) -> dict[str, float]:
    """What part of the bound plain copies reach; nothing where none was measured."""
    parts = [row.bound / row.plain for row in rows if row.plain is not None]
    return {"plain_of_bound": statistics.geometric_mean(parts)} if parts else {}


# ------------------------------------------------------------------------------------------------ what is wanted


NOTHING = "not measured"


@dataclass(frozen=True)
class Verdict:
    wanted: str
    found: str
    met: bool | None  # None where nothing was found

    def result(self) -> str:
        return {True: "met", False: "MISSED", None: ""}[self.met]


def digits(value: float, wanted: float) -> str:
    """Two digits behind the point, and more where these would have it on the other side of what is wanted."""
    for count in range(2, 6):
        text = f"{value:.{count}f}"
        if (float(text) > wanted, float(text) < wanted) == (value > wanted, value < wanted):
            return text
    return f"{value:.2f}"


def judge_ratios(rows: Sequence[Row], target: Target) -> Verdict:
    """The mean or the worst of how many times longer a peer takes."""
    name = target.peer
    ratios = [ratio for row in rows if (ratio := row.over_best() if name == BEST else row.over(name)) is not None]
    mean = target.what == "mean"
    wanted = f"at least {target.value:g} x {name} in the mean" if mean else f"none below {target.value:g} x {name}"
    if not ratios:
        return Verdict(wanted, NOTHING, None)
    found = statistics.geometric_mean(ratios) if mean else min(ratios)
    below = sum(ratio < target.value for ratio in ratios)
    count = f", {below} of {len(ratios)} below" if below and not mean else ""
    return Verdict(wanted, f"{digits(found, target.value)} x{count}", found >= target.value)


def judge_part(rows: Sequence[Row], target: Target) -> Verdict:
    """What part of the bound is reached."""
    parts = sorted(row.of_bound() for row in rows)
    mean = target.what == "part"
    wanted = f"at least {target.value:g} of the bound {'in the mean' if mean else 'at the 5th percentile'}"
    if not parts:
        return Verdict(wanted, NOTHING, None)
    found = statistics.geometric_mean(parts) if mean else parts[len(parts) // 20]
    return Verdict(wanted, digits(found, target.value), found >= target.value)


def judge_longer(rows: Sequence[Row], target: Target) -> Verdict:
    """By how many microseconds ours takes longer, at most. Times are rounded to a part of 100,000."""
    wanted = f"at most {target.value:g} us longer than {target.peer}"
    longer = [(row.seconds[OURS] - row.seconds[target.peer]) * 1e6 for row in rows if target.peer in row.seconds]
    if not longer:
        return Verdict(wanted, NOTHING, None)
    found = round(max(longer), 6)
    return Verdict(wanted, f"{digits(found, target.value)} us", found <= target.value)


JUDGES = {
    "mean": judge_ratios,
    "worst": judge_ratios,
    "part": judge_part,
    "part_5th": judge_part,
    "longer": judge_longer,
}


def judge(rows: Sequence[Row], target: Target) -> Verdict:
    """By the rows of its sizes."""
    return JUDGES[target.what](Band(target.least, target.most).of(rows), target)


def wanted(reports: Sequence[dict[str, Any]], rows: Sequence[Row]) -> Iterator[str]:
    """The lines that say what is wanted of a population, and what came of it."""
    peers = {name for row in rows for name in row.seconds}
    targets = targets_of(reports[0]["population"], peers, reports[0]["settings"])
    if not targets:
        return
    yield "| read and written | wanted | found | result |"
    yield "| --- | --- | --- | --- |"
    for target in targets:
        judged = judge(rows, target)
        yield f"| {Band(target.least, target.most).title()} | {judged.wanted} | {judged.found} | {judged.result()} |"
    yield ""


def bytes_name(nbytes: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20)):
        if nbytes >= 1 << power:
            return f"{nbytes >> power} {unit}"
    return f"{nbytes >> 10} KiB"


def judge_plain(nbytes: int, off: Sequence[float], on: Sequence[float]) -> str:
    """A cell: the rates of plain bytes with access off and on, and the verdict where there is a target."""
    without, access = statistics.geometric_mean(off), statistics.geometric_mean(on)
    found = access / without
    said = f"{nbytes / without / 1e9:.0f} and {nbytes / access / 1e9:.0f} GB/s, {digits(found, PLAIN_OF_ACCESS_ON)} x"
    if nbytes < PLAIN_FROM_MIB * MIB:
        return said
    return f"{said}, {'met' if found >= PLAIN_OF_ACCESS_ON else 'MISSED'}"


def plain_table(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Plain bytes between two devices with access off and on: the geometric mean of the reports."""
    plain = [found["settings"]["plain"] for found in reports]
    kinds = list(plain[0]["off"])
    heads = ["plain bytes", *(f"{kind} memory: off and on, off / on" for kind in kinds), "wanted"]
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for size in plain[0]["off"][kinds[0]]:
        nbytes = int(size)
        seconds = {kind: [[each[way][kind][size] for each in plain] for way in ("off", "on")] for kind in kinds}
        cells = [judge_plain(nbytes, *seconds[kind]) for kind in kinds]
        target = f"at least {PLAIN_OF_ACCESS_ON:g} x" if nbytes >= PLAIN_FROM_MIB * MIB else ""
        yield f"| {' | '.join([bytes_name(nbytes), *cells, target])} |"


# ------------------------------------------------------------------------------------------------ histograms


def bars(values: Sequence[float], ends: Sequence[float], unit: str = "") -> tuple[list[str], list[str]]:
    """Between which ends values lie, and how many do. A value at an end lies above it."""
    counts = collections.Counter(bisect.bisect_right(ends, value) for value in values)
    names = [f"below {ends[0]:g}{unit}", *(f"{low:g} to {high:g}{unit}" for low, high in itertools.pairwise(ends))]
    names.append(f"{ends[-1]:g}{unit} and more")
    blocks = ["█" * -(-BLOCKS * counts[i] // len(values)) for i in range(len(names))]
    return names, [f"{bar} {counts[i]}".strip() for i, bar in enumerate(blocks)]


def aligned(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table that is read as text, too. Each column begins with its head; short ones are filled up."""
    widths = [max(map(len, column)) for column in columns]
    lines = list(itertools.zip_longest(*columns, fillvalue=""))
    lines.insert(1, tuple("-" * width for width in widths))
    for line in lines:
        yield f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"


def histogram(rows: Sequence[Row], bands: Iterable[Band]) -> Iterator[str]:
    """How many layouts of the widest large band there are by ratio, and by part of the bound."""
    large = [band for band in bands if band.most == math.inf and band.least >= LARGE and band.of(rows)]
    if not large:
        return
    band = min(large, key=lambda each: each.least)
    some = band.of(rows)
    ratios, counts = bars([row.over_best() for row in some], RATIOS, " x")
    parts, counts_of_parts = bars([row.of_bound() for row in some], PARTS)
    yield f"Counts the {len(some)} layouts of {band.title()}. A block is {100 // BLOCKS} % of them, or less."
    yield ""
    yield from aligned(
        [
            ["of the best peer", *ratios],
            ["layouts", *counts],
            ["of the bound", *parts],
            ["layouts", *counts_of_parts],
        ]
    )
    yield ""


def show(title: str, rows: Sequence[Row], bands: Sequence[Band], bound: str, worst: int = 10) -> None:
    print(f"{title}: {len(rows)} layouts, {sum(not row.right for row in rows)} wrong")
    for entry in summary(rows, bands):
        peers = "; ".join(
            f"{found['geomean']:.2f} x {name}, worst {found['worst']:.2f}, lost {found['lost']}"
            for name, found in entry["peers"].items()
        )
        print(
            f"  {entry['band']:<20} {entry['layouts']:>4} layouts; {peers}; of {bound} {entry['of_bound']:.2f},"
            f" 5th percentile {entry['of_bound_5th']:.2f}"
            + (f", a plain copy {entry['plain_of_bound']:.2f}" if "plain_of_bound" in entry else "")
        )
    for line in histogram(rows, bands):
        print(line)
    print("the worst against the better peer:")
    for row in sorted(rows, key=Row.over_best)[:worst]:
        print(f"  {row.over_best():.2f}, {row.of_bound():.2f} of {bound}, {row.nbytes / MIB:.3g} MiB: {row.case}")


def rounded(row: Row) -> Row:
    def short(seconds: float) -> float:
        return float(f"{seconds:.5g}")

    seconds = {name: short(value) for name, value in row.seconds.items()}
    plain = short(row.plain) if row.plain is not None else None
    return replace(row, seconds=seconds, bound=short(row.bound), plain=plain)


def written(row: Row) -> dict[str, Any]:
    return {name: value for name, value in asdict(rounded(row)).items() if value is not None}


def report(
    population: str, rows: Sequence[Row], bands: Sequence[Band], machine: dict[str, Any], **settings: Any
) -> dict[str, Any]:
    """What `--json` writes."""
    return {
        "population": population,
        "settings": settings,
        "machine": machine,
        "commit": find_commit(),
        "summary": summary(rows, bands),
        "rows": [written(row) for row in rows],
    }


def read_rows(found: dict[str, Any]) -> list[Row]:
    return [Row(**row) for row in found["rows"]]


def table(reports: Sequence[dict[str, Any]], worst: int = 10) -> Iterator[str]:
    """The lines of a page: what is said of all seeds together, by size, and the layouts that are lost by most."""
    rows = [row for found in reports for row in read_rows(found)]
    bands = [Band.titled(entry["band"]) for entry in reports[0]["summary"]]
    entries = summary(rows, bands)
    peers = list(entries[0]["peers"])
    heads = ["read and written", "layouts", *(f"{peer}: mean, worst, lost" for peer in peers)]
    heads += ["lost to the best", "of the bound: mean", "5th percentile"]
    heads += ["a plain copy"] if any("plain_of_bound" in entry for entry in entries) else []
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for entry in entries:
        cells = [entry["band"], str(entry["layouts"])]
        for peer in peers:
            found = entry["peers"].get(peer)
            cells.append(f"{found['geomean']:.2f} x, {found['worst']:.2f} x, {found['lost']}" if found else "")
        cells += [str(entry["lost_to_best"]), f"{entry['of_bound']:.2f}", f"{entry['of_bound_5th']:.2f}"]
        cells += [f"{entry['plain_of_bound']:.2f}"] if "plain_of_bound" in entry else []
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from wanted(reports, rows)
    yield from histogram(rows, bands)
    yield "| lost by most | MiB | of the best peer | of the bound |"
    yield "| --- | --- | --- | --- |"
    for row in sorted(rows, key=Row.over_best)[:worst]:
        yield f"| {row.case} | {row.nbytes / MIB:.3g} | {row.over_best():.2f} x | {row.of_bound():.2f} |"


def parser_of(population: str, count: int) -> argparse.ArgumentParser:
    """The options that all populations have."""
    parser = argparse.ArgumentParser(prog=f"bench layouts {population}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows and their summary there")
    return parser


def add_busy(parser: argparse.ArgumentParser) -> None:
    """The option to measure next to other work."""
    parser.add_argument(
        "--busy",
        type=count_of_processes,
        default=0,
        metavar="N",
        help="start N processes that spin until the end, as a busy application would: what do copies take next to it?",
    )


def count_of_processes(text: str) -> int:
    count = int(text)
    if count < 0:
        raise argparse.ArgumentTypeError(f"the number of processes is {count}; expected at least 0")
    return count


# Says that it has begun, and ends with what started it, even if that is killed.
SPIN = """
import os, sys
print(flush=True)
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""


@contextlib.contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes spin as long as this is open."""
    command = [sys.executable, "-S", "-c", SPIN, str(os.getpid())]
    with contextlib.ExitStack() as ends:
        spinning = []
        for _ in range(count):
            process = ends.enter_context(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
            ends.callback(process.kill)
            spinning.append(process)
        for process in spinning:
            assert process.stdout is not None
            process.stdout.readline()
        yield spinning


def next_to(count: int) -> str:
    """What a title says of it."""
    return f", next to {count} busy process{'es' if count > 1 else ''}" if count else ""


def write(path: Path | None, found: dict[str, Any]) -> None:
    """Writes a report, each row on a line of its own."""
    if path is None:
        return
    head = json.dumps({name: value for name, value in found.items() if name != "rows"}, indent=1)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in found["rows"])
    path.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n')
