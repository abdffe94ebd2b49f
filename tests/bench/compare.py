"""Compares two builds in one run, in turns: `compare.py OLD NEW [--programs NAME...] [--turns N] [--most BYTES] [--json F]`.

OLD and NEW are folders of benchmark programs, each with the library that it loads in ../src or ../lib. A program prints
a line of JSON for each row. Of several turns the median counts; the spread of a build's own turns says what is noise.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

TIMES = ("ns", "us", "ms", "s")
PROGRAMS = ("bench_gpu_copy", "bench_gpu_calls")

Rows = dict[str, list[float]]


def library_folder(programs: Path) -> Path:
    found = [folder for folder in (programs.parent / "src", programs.parent / "lib") if folder.is_dir()]
    if not found:
        raise SystemExit(f"compare: {programs} has no library in ../src or ../lib")
    return found[0]


def run(programs: Path, name: str, most: int | None, rows: Rows, units: dict[str, str]) -> None:
    command = [str(programs / name), *([str(most)] if most else [])]
    libraries = f"{library_folder(programs)}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    environment = os.environ | {"LD_LIBRARY_PATH": libraries}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"compare: {command[0]} ended with {done.returncode}: {done.stderr[-300:]}")
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            rows.setdefault(row["case"], []).append(row["viaduct"])
            units[row["case"]] = row["unit"]


def spread(values: list[float]) -> float:
    return max(values) / min(values)


@dataclass
class Row:
    """The slowdown is above 1 where the new build is slower, whether the row is a time or a rate."""

    case: str
    unit: str
    old: float
    new: float
    slowdown: float
    noise: float
    old_turns: list[float]
    new_turns: list[float]


def compare(old: Rows, new: Rows, units: dict[str, str]) -> list[Row]:
    table = []
    for case in old.keys() & new.keys():
        before, after = statistics.median(old[case]), statistics.median(new[case])
        slowdown = after / before if units[case] in TIMES else before / after
        noise = max(spread(old[case]), spread(new[case]))
        table.append(Row(case, units[case], before, after, round(slowdown, 4), round(noise, 4), old[case], new[case]))
    return sorted(table, key=lambda row: -row.slowdown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--most", type=int, help="bytes of the largest copy, where a program takes that")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    old: Rows = {}
    new: Rows = {}
    units: dict[str, str] = {}
    for turn in range(given.turns):
        for name in given.programs:
            # In changing order: what has just ended may slow down what runs next.
            for programs, rows in ((given.old, old), (given.new, new))[:: 1 if turn % 2 == 0 else -1]:
                run(programs, name, given.most, rows, units)
    table = compare(old, new, units)
    for row in table:
        numbers = f"{row.slowdown:7.3f}  noise {row.noise:.3f}  {row.old:>10.5g} -> {row.new:<10.5g}"
        print(f"{numbers} {row.unit:5} {row.case}")
    mean = math.exp(statistics.fmean(math.log(row.slowdown) for row in table))
    print(f"{len(table)} rows; geometric mean {mean:.4f}; only in one build: {sorted(old.keys() ^ new.keys())}")
    if given.json:
        rows = [asdict(row) for row in table]
        given.json.write_text(json.dumps({"turns": given.turns, "mean": mean, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
