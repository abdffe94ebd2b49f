"""The picture of a run's rows: what copies across the link reach, next to its limit and to their peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot
from PIL import Image

Row = dict[str, Any]

OURS = "#3563a8"
LIMIT = "#b00020"
GRID = "#d9d9d9"
COLOURS = 64
SPREAD = 0.62  # of a bar's place, over which its peers' marks are spread
# Colour and marker of every peer. Calls of the driver are one peer.
PEERS = {
    "torch": ("PyTorch", "#e4572e", "o"),
    "CuPy": ("CuPy", "#3a9d5d", "s"),
    "cuMemcpyHtoD": ("the driver's copy", "#111111", "v"),
    "cuMemcpyDtoH": ("the driver's copy", "#111111", "v"),
    "cuMemcpy2DAsync": ("the driver's copy", "#111111", "v"),
    "driver": ("the driver's copy", "#111111", "v"),
}


@dataclass
class Bars:
    """One panel: a bar a row, with the peers marked on it."""

    title: str
    rows: list[Row]
    labels: list[str]
    limit: float  # in the rows' unit


def draw_peers(axis: Any, bars: Bars, place: int) -> None:
    """Marks above one another where there are several, so that none is hidden."""
    row = bars.rows[place]
    found = [(PEERS[name], value) for name, value in row["peers"].items() if name in PEERS]
    for i, ((label, colour, marker), value) in enumerate(found):
        height = place + SPREAD * ((i + 0.5) / len(found) - 0.5)
        axis.plot(
            value, height, marker, color=colour, markersize=6, label=label, markeredgecolor="white",
            markeredgewidth=0.8, linestyle="none", zorder=4,
        )  # fmt: skip


def draw_bars(axis: Any, bars: Bars) -> None:
    places = range(len(bars.rows))
    ours = [row["viaduct"] for row in bars.rows]
    axis.barh(places, ours, height=0.7, color=OURS, label="Viaduct", zorder=2)
    for place, value in enumerate(ours):
        axis.annotate(
            f"{value:.0f}", (value, place), (-4, 0), textcoords="offset points", ha="right", va="center", color="white",
            fontsize=8, zorder=5,
        )  # fmt: skip
        draw_peers(axis, bars, place)
    axis.axvline(bars.limit, color=LIMIT, linewidth=1.4, linestyle=(0, (5, 3)), label="the limit", zorder=1)
    axis.set_yticks(list(places), bars.labels, fontsize=9)
    axis.set_ylim(len(bars.rows) - 0.4, -0.6)
    axis.set_xlim(0, max(1.06 * bars.limit, 1.02 * max(ours, default=0)))
    axis.set_title(bars.title, fontsize=11, loc="left", fontweight="bold")
    axis.grid(axis="x", color=GRID, zorder=0)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def add_legend(figure: Any, axes: Any, title: str) -> None:
    """One for all panels, under the title of the picture; what each stands for is reported once."""
    found = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = ["Viaduct", *(name for name in found if name not in ("Viaduct", "the limit")), "the limit"]
    figure.legend(
        [found[name] for name in names], names, loc="outside upper left", ncols=len(names), frameon=False, fontsize=9,
        title=title, title_fontproperties={"weight": "bold", "size": 13}, alignment="left",
    )  # fmt: skip


def save(panels: list[Bars], title: str, unit: str, note: str, path: Path) -> None:
    counts = [len(bars.rows) for bars in panels]
    figure, axes = pyplot.subplots(
        len(panels), 1, squeeze=False, figsize=(9, 1.5 + 0.27 * sum(counts) + 0.4 * len(panels)),
        height_ratios=counts, layout="constrained",
    )  # fmt: skip
    for axis, bars in zip(axes[:, 0], panels, strict=True):
        draw_bars(axis, bars)
    axes[-1, 0].set_xlabel(unit, fontsize=9)
    add_legend(figure, axes[:, 0], title)
    figure.supxlabel(note, fontsize=8, color="#555555", x=0.01, ha="left")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    # A third of the bytes: these are flat colours.
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


# ------------------------------------------------------------------------------------------------- which rows are shown


def machine_of(report: dict[str, Any]) -> str:
    machine = report["machine"]
    gpus = ", ".join(machine.get("gpus", []))
    parts = [gpus, f"{machine['cpu']}, {machine['cores']} cores"]
    drawn = {name.partition("-")[0].lower() for name in PEERS}
    versions = [f"{name} {version}" for name, version in machine["peers"].items() if name.partition("-")[0] in drawn]
    return "; ".join([*filter(None, parts), *versions, f"commit {report['commit']}"])


def strided_panel(rows: list[Row], limit: float) -> Bars:
    shown = [row for row in rows if ", strided, " in row["case"] and "mean" not in row["case"]]
    labels = [row["case"].replace(", strided, ", ": ") for row in shown]
    return Bars("strided, 256 MiB of payload", shown, labels, limit)


CONTIGUOUS = (
    ("pinned to device, 1 GiB", "pinned to device"),
    ("device to pinned, 1 GiB", "device to pinned"),
    ("pageable to device, 1 GiB", "pageable to device"),
    ("device to pageable, touched, 1 GiB", "device to pageable"),
    ("device to pageable, new pages, 1 GiB", "device to new pages"),
    ("NumPy array to device, 1024 MiB; torch", "Python: NumPy array to device"),
    ("device to NumPy array, touched, 1024 MiB; CuPy", "Python: device to NumPy array"),
    ("device to new host array, 1024 MiB; torch", "Python: device to new array"),
)


def contiguous_panel(rows: list[Row], limit: float) -> Bars:
    found = {row["case"]: row for row in rows}
    shown = [(found[case], label) for case, label in CONTIGUOUS if case in found]
    return Bars("contiguous, 1 GiB", [row for row, _ in shown], [label for _, label in shown], limit)


def draw_link(report: dict[str, Any], path: Path) -> None:
    rows = report["rows"]
    limits = [row["limit"] for row in rows if row["case"] in ("pinned to device, 1 GiB", "device to pinned, 1 GiB")]
    if not limits:
        return
    panels = [contiguous_panel(rows, max(limits)), strided_panel(rows, max(limits))]
    title = "Between host and GPU: GB/s of payload, next to the link's limit"
    save([bars for bars in panels if bars.rows], title, "GB/s", machine_of(report), path)


def draw(report: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draw_link(report, folder / "gpu-link.png")
