"""What each kernel is worth: `./dev bench kernels [--seed N] [--count N] [--json F]`.

Measures every plan with bench_gpu_kernels: of random layouts, half of them strided at the source and half at the
destination, and of the layouts of programs. kernel_worth.py says what follows from the times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from bench import describe_machine, find_commit
from kernel_worth import table, times_of
from layouts_programs import Program, programs
from populations import MIB


def measure(arguments: Sequence[str], layouts: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows of 1 MiB and more. `layouts`: lines for the program's input."""
    program = Path(os.environ["VIADUCT_BUILD_DIR"]) / "bench/bench_gpu_kernels"
    given = "".join(f"{line}\n" for line in layouts)
    output = subprocess.run([program, *arguments], check=True, input=given, stdout=subprocess.PIPE, text=True).stdout
    rows = []
    for line in output.splitlines():
        row = json.loads(line)
        if row["nbytes"] >= MIB:
            kept = {key: row[key] for key in ("item", "shape", "strides", "nbytes", "chosen")}
            rows.append({**kept, "us": times_of(row)})
    return rows


def numbers_of(program: Program) -> str:
    """A layout as the program reads it."""
    view = program.view(torch.empty(program.shape, dtype=torch.uint8, device="meta"))
    numbers = (program.dtype.itemsize, view.ndim, *view.shape, *view.stride(), view.storage_offset())
    return " ".join(map(str, numbers))


def measure_programs(into: bool) -> list[dict[str, Any]]:
    lines = [numbers_of(program) for program in programs() if program.into == into]
    return measure([*(["scatter"] if into else []), "-"], lines)


def measure_random(count: int, seed: int, into: bool) -> list[dict[str, Any]]:
    return measure([*(["scatter"] if into else []), str(count), str(seed)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="layouts, those below 1 MiB counted")
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    given = parser.parse_args()
    rows = {
        "random layouts": [row for into in (False, True) for row in measure_random(given.count // 2, given.seed, into)],
        "layouts of programs": [row for into in (False, True) for row in measure_programs(into)],
    }
    report = {
        "machine": describe_machine("gpu"),
        "commit": find_commit(),
        "settings": {"seed": given.seed, "count": given.count},
        "rows": rows,
    }
    print(*table(report), sep="\n")
    if given.json:
        given.json.write_text(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
