"""What each kernel is worth, from the times of all plans: how much longer copies would take without it, by the best of
the other plans, and how much longer the chosen plan takes than the best one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

KERNELS = ("elements", "rows", "channels", "tiles", "loose tiles", "box")
CLEARLY = 1.05  # two measurements of one plan differ by less

Times = dict[str, float]  # microseconds: of each kernel's best plan, and of the chosen plan


def times_of(row: dict[str, Any]) -> Times:
    times: Times = {}
    for plan in row["plans"]:
        name = next((kernel for kernel in KERNELS if plan["name"].startswith(kernel)), plan["name"])
        times[name] = min(plan["us"], times.get(name, math.inf))
    return times


def mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def without(times: Times, kernel: str) -> float:
    """The time of the best other plan, next to the best of all. Some other kernel has one: boxes and elements copy any
    layout."""
    rest = min(time for name, time in times.items() if name not in (kernel, "chosen"))
    return max(1.0, rest / times[kernel]) if kernel in times else 1.0


def worth(rows: Sequence[Times], kernel: str) -> dict[str, Any]:
    """`without`: of all layouts; `where_best`: of those where the kernel is clearly the best."""
    losses = [without(times, kernel) for times in rows]
    clear = [loss for loss in losses if loss >= CLEARLY]
    return {
        "kernel": kernel,
        "layouts": sum(kernel in times for times in rows),
        "clearly_best": len(clear),
        "without": mean(losses),
        "where_best": mean(clear) if clear else 1.0,
        "worst": max(losses),
    }


def regret(rows: Sequence[Times]) -> dict[str, float]:
    losses = sorted(times["chosen"] / min(times.values()) for times in rows)
    return {"mean": mean(losses), "95th": losses[len(losses) * 95 // 100], "worst": losses[-1]}


def summary(rows: Sequence[Times]) -> dict[str, Any]:
    return {"layouts": len(rows), "kernels": [worth(rows, kernel) for kernel in KERNELS], "chosen": regret(rows)}


def table(report: dict[str, Any]) -> Iterator[str]:
    for name, rows in report["rows"].items():
        yield f"{name.capitalize()}:"
        yield ""
        yield from lines_of(summary([row["us"] for row in rows]))
        yield ""


def lines_of(found: dict[str, Any]) -> list[str]:
    lines = [
        "| kernel | can copy | clearly the best | all without it | those without it | worst |",
        "| --- " * 6 + "|",
    ]
    for row in found["kernels"]:
        part = f"{row['layouts']} of {found['layouts']}"
        times = f"{row['without']:.3f} x | {row['where_best']:.2f} x | {row['worst']:.1f} x"
        lines.append(f"| {row['kernel']} | {part} | {row['clearly_best']} | {times} |")
    chosen = found["chosen"]
    words = f"{chosen['mean']:.3f} x in the mean, {chosen['95th']:.2f} x at the 95th percentile"
    return [*lines, "", f"The chosen plan takes {words}, and {chosen['worst']:.2f} x at most, next to the best plan."]
