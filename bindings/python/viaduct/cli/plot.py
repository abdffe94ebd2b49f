"""The picture of `bench`: what part of its limit each route reaches."""

from __future__ import annotations

import importlib
import textwrap
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bench import Row

OURS = "#3563a8"
LIMIT = "#b00020"
GRID = "#d9d9d9"
GREY = "#555555"
WIDTH = 9.0
LOWEST_END = 103
NOTE_LETTERS = 140


def open_figure(width: float, height: float) -> Any:
    """Without a window and without what a window would need."""
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def draw(rows: list[Row], machine: dict[str, Any], path: Path) -> None:
    """A panel for each group, its rows one below the other."""
    panels = [
        (title, list(found)) for title, found in groupby((row for row in rows if row.percent), lambda row: row.group)
    ]
    if not panels:
        raise ValueError("there is no row with a limit")
    counts = [len(found) for _, found in panels]
    figure = open_figure(WIDTH, 1.6 + 0.3 * sum(counts) + 0.45 * len(panels))
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=counts)[:, 0]
    end = max([LOWEST_END, *(1.02 * row.percent for row in rows if row.percent)])
    for axis, (title, found) in zip(axes, panels, strict=True):
        draw_panel(axis, title, found, end)
    axes[-1].set_xlabel("percent of the limit, which is the dashed line", fontsize=9)
    figure.suptitle(
        "What part of this machine's limits Viaduct's copies reach", fontweight="bold", fontsize=13, x=0.01, ha="left"
    )
    figure.supxlabel(note(rows, machine), fontsize=8, color=GREY, x=0.01, ha="left")
    figure.get_layout_engine().set(w_pad=0.08)
    figure.savefig(path, dpi=100)


def draw_panel(axis: Any, title: str, rows: list[Row], end: float) -> None:
    places = range(len(rows))
    axis.barh(places, [row.percent for row in rows], height=0.7, color=OURS, zorder=2)
    for place, row in enumerate(rows):
        text = f"{row.gb_per_s:.4g} of {row.limit_gb_per_s:.4g} GB/s"
        label(axis, text, row.percent or 0, place, end)
    axis.axvline(100, color=LIMIT, linewidth=1.4, linestyle=(0, (5, 3)), zorder=3)
    axis.set_yticks(list(places), [row.name for row in rows], fontsize=9)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(0, end)
    axis.set_title(title, fontsize=11, loc="left", fontweight="bold")
    axis.grid(axis="x", color=GRID, zorder=0)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def label(axis: Any, text: str, value: float, place: int, end: float) -> None:
    """Where the bar begins if it is long enough, else behind it."""
    inside = value > 0.35 * end
    axis.annotate(
        text, (0 if inside else value, place), (5, 0), textcoords="offset points", ha="left", va="center",
        color="white" if inside else "black", fontsize=8, zorder=5,
    )  # fmt: skip


def note(rows: list[Row], machine: dict[str, Any]) -> str:
    threads = f"{machine['threads']} thread{'s' if machine['threads'] > 1 else ''}"
    devices = [machine["cpu"], threads, *machine["gpus"]]
    limits = "; ".join(f"{row.name} {row.gb_per_s:.4g}" for row in rows if row.percent is None)
    text = f"viaduct {machine['viaduct']}; {', '.join(devices)}. Next to it, in GB/s: {limits}."
    return textwrap.fill(text, NOTE_LETTERS)
