"""The command: `python -m viaduct.conformance MODULE...`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import PEERS, Report, check
from ._rows import OUTCOMES

WIDTH = 118


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m viaduct.conformance",
        description="Checks how libraries exchange arrays by DLPack and the CUDA array interface.",
        epilog=f"Known by name: {', '.join(PEERS)}; on CUDA cupy and numba too. Expressions may use m, the module; x, an "
        "array of it; p, an object that exports memory. The status is 1 if a row failed.",
    )
    parser.add_argument("modules", nargs="+", metavar="MODULE", help="a library of the table, or any other module")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="device of the memory")
    parser.add_argument("--array", metavar="EXPR", default="", help="an array of the library: 'm.ones((2, 3))'")
    parser.add_argument(
        "--from-dlpack", metavar="EXPR", default="", help="how the library imports p; m.from_dlpack(p, **keywords)"
    )
    parser.add_argument(
        "--content", metavar="EXPR", default="", help="the bytes of the elements of x in row-major order"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every row to a file")
    parser.add_argument("--verbose", action="store_true", help="show every row, not only those that failed")
    return parser.parse_args(arguments)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def lines_of(report: Report, verbose: bool) -> list[str]:
    if report.problem:
        return [f"{report.peer}: not here: {report.problem}"]
    shown = report.results if verbose else report.failures
    lines = [f"{report.peer} {report.version}, {report.device}"]
    for result in shown:
        lines.append(cut(f"  {result.outcome:8}{result.row}", WIDTH))
        lines += [cut(f"          {result.words}", WIDTH)] if result.words else []
    return [*lines, ""]


def table_of(reports: list[Report]) -> list[str]:
    columns = ["rows", *OUTCOMES]
    lines = [f"{'':16}" + "".join(f"{name:>9}" for name in columns)]
    for report in reports:
        counts = report.as_dict()["counts"]
        lines.append(f"{report.peer:16}" + "".join(f"{counts[name]:>9}" for name in columns))
    return lines


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    expressions = {"array": options.array, "from_dlpack": options.from_dlpack, "content": options.content}
    reports = []
    for module in options.modules:
        report = check(module, options.device, **expressions)
        print(*lines_of(report, options.verbose), sep="\n", flush=True)
        reports.append(report)
    print(*table_of(reports), sep="\n")
    if options.json:
        reported = {"device": options.device, "peers": [report.as_dict() for report in reports]}
        options.json.write_text(json.dumps(reported, indent=1) + "\n")
    return 1 if any(report.failures or report.problem for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
