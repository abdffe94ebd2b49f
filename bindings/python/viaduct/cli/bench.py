"""Measures this machine's limits, and each route of a copy against its limit."""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import Error, UnsupportedError, __version__, device_count, device_info, num_threads
from .cases import Case, Group, device_group, host_group
from .file_cases import SCRATCH, file_group
from .info import why_no_device
from .machine import driver_version, memory_available, nvidia_links
from .page import Page, in_bytes
from .plot import draw

LARGEST = 256 << 20
SMALLEST = 1 << 20
MOST_MIB = 1 << 24
SECONDS = 0.2
RUNS = 30


@dataclass
class Row:
    """Result of one case. `percent` is relative to the limit; None for a limit itself."""

    group: str
    name: str
    nbytes: int
    gb_per_s: float
    limit: str | None = None
    limit_gb_per_s: float | None = None
    percent: float | None = None


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "bench", help="measure this machine's limits, and each route against them", description=__doc__
    )
    parser.add_argument("--size", type=mebibytes, metavar="MIB", help="size of a copy; 256, or less if memory is short")
    parser.add_argument("--seconds", type=seconds, default=SECONDS, help=f"time for each row; {SECONDS} by default")
    parser.add_argument(
        "--folder", help="folder of the test file, which selects the disk; the temporary folder by default"
    )
    parser.add_argument("--only", choices=["host", "file", "cuda"], help="measure one part only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row to a file")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=Path("viaduct-bench.png"), metavar="FILE", help="draw a picture"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, page: Page) -> int:
    ask_beforehand(options)
    nbytes = (options.size << 20) if options.size else usual_size()
    page.heading(f"viaduct {__version__}", f"copies of {in_bytes(nbytes)}")
    page.paragraph("GB/s of payload. Rows without a limit do not use the library; they measure the limits.")
    rows: list[Row] = []
    for make in groups(options, nbytes):
        rows += run_group(make, options.seconds, page, known={row.name: row.gb_per_s for row in reversed(rows)})
    if options.json:
        options.json.write_text(
            json.dumps({"machine": describe_machine(), "rows": [asdict(row) for row in rows]}, indent=1)
        )
        page.say(f"rows: {options.json}")
    if options.plot:
        draw(rows, describe_machine(), options.plot)
        page.say(f"picture: {options.plot}")
    return 0


def mebibytes(text: str) -> int:
    count = int(text)
    if not 0 < count <= MOST_MIB:
        raise argparse.ArgumentTypeError(f"the size is {count}; expected 1 to {MOST_MIB}")
    return count


def seconds(text: str) -> float:
    number = float(text)
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"the time is {number}; expected more than 0")
    return number


def ask_beforehand(options: argparse.Namespace) -> None:
    """Raises for impossible options before anything is measured."""
    if options.plot:
        need_matplotlib(options.plot)
    for name, path in (("--json", options.json), ("--plot", options.plot)):
        if path and not can_write(path):
            raise Error(f"{name}: {path} cannot be written")
    if options.only in (None, "file"):
        folder = Path(options.folder or tempfile.gettempdir())
        if not can_write(folder / SCRATCH):
            raise Error(f"--folder: {folder} takes no files")
    if options.only == "cuda" and device_count("cuda") == 0:
        raise UnsupportedError(f"--only cuda: {why_no_device()}")


def can_write(path: Path) -> bool:
    if path.exists():
        return not path.is_dir() and os.access(path, os.W_OK)
    return path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)


def need_matplotlib(path: Path) -> None:
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise UnsupportedError("--plot needs matplotlib: pip install matplotlib") from None
    known = importlib.import_module("matplotlib.backend_bases").FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise UnsupportedError(f"--plot: the name is {path.name!r}; expected one that ends in {', '.join(known)}")


def groups(options: argparse.Namespace, nbytes: int) -> Iterator[Callable[[], Group]]:
    """Made one after the other, so that no two are in memory."""
    if options.only in (None, "host"):
        yield functools.partial(host_group, nbytes)
    if options.only in (None, "cuda"):
        for number in range(device_count("cuda")):
            yield functools.partial(device_group, number, nbytes)
    if options.only in (None, "file"):
        yield functools.partial(file_group, options.folder, nbytes)


def usual_size() -> int:
    """Past every cache, and a small part of what memory there is; a power of two."""
    part = memory_available() // 16
    return max(SMALLEST, min(LARGEST, 1 << max(part, 1).bit_length() - 1))


def run_group(make: Callable[[], Group], seconds: float, page: Page, known: dict[str, float]) -> list[Row]:
    group = make()
    found = dict(known)
    rows = []
    cases = cases_with_limits(group, known)
    try:
        with page.progress(len(cases)) as step:
            for case in cases:
                step(case.name)
                rows.append(measure(group.title, case, seconds, found))
    finally:
        group.close()
    show(group.title, rows, page)
    return rows


def cases_with_limits(group: Group, known: dict[str, float]) -> list[Case]:
    """Without those whose limit is of a part that was not asked for."""
    names = {*known, *(case.name for case in group.cases)}
    return [case for case in group.cases if not case.limits or not names.isdisjoint(case.limits)]


def measure(group: str, case: Case, seconds: float, found: dict[str, float]) -> Row:
    """Puts what it found to the rest. What is faster than its limit shows that to be higher."""
    rate = found[case.name] = case.nbytes / median_seconds(case, seconds) / 1e9
    known = [name for name in case.limits if name in found]
    if not known:
        return Row(group, case.name, case.nbytes, rate)
    name = max(known, key=found.__getitem__)
    limit = max(found[name] * case.share, rate)
    return Row(group, case.name, case.nbytes, rate, name, limit, 100 * (rate / limit))


def median_seconds(case: Case, seconds: float) -> float:
    """Once to warm up, then as often as time allows."""
    case.run()
    taken: list[float] = []
    while len(taken) < RUNS and sum(taken) < seconds:
        if case.before is not None:
            case.before()
        start = time.perf_counter()
        case.run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def show(title: str, rows: list[Row], page: Page) -> None:
    page.say()
    page.heading(title)
    page.table(["", "GB/s", "limit", "of it"], [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    if row.limit_gb_per_s is None or row.percent is None:
        return [row.name, f"{row.gb_per_s:.1f}", "", ""]
    return [row.name, f"{row.gb_per_s:.1f}", f"{row.limit_gb_per_s:.1f}", f"{row.percent:.0f} %"]


def describe_machine() -> dict[str, object]:
    return {
        "viaduct": __version__,
        "cpu": device_info("cpu")["name"],
        "threads": num_threads(),
        "gpus": [device_info(f"cuda:{number}")["name"] for number in range(device_count("cuda"))],
        "driver": driver_version(nvidia_links()),
    }
