"""Boxes and arrows of characters; of plain ones where there are no others."""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import Array
from .page import Page

CORNER = 4
LOOP_LETTERS = 30


class Strokes(NamedTuple):
    """What lines are made of, on a terminal and elsewhere."""

    across: str
    down: str
    corners: tuple[str, str, str, str]
    head: str


FINE = Strokes("─", "│", ("┌", "┐", "└", "┘"), "▼")
PLAIN = Strokes("-", "|", ("+", "+", "+", "+"), "v")


def draw_flow(page: Page, stages: list[tuple[str, str]]) -> None:
    """A box for each place, one below the other, and next to each arrow what takes the bytes along it."""
    strokes = FINE if page.can_draw else PLAIN
    width = min(page.width - 2, max(len(text) for text, _ in stages) + 4)
    for text, way in stages:
        draw_box(page, strokes, text, width)
        if way:
            for line in page.folded(way, f"      {strokes.down} ", f"      {strokes.down} "):
                page.say(line)
            page.say(f"      {strokes.head}")


def draw_box(page: Page, strokes: Strokes, text: str, width: int) -> None:
    left, right, low_left, low_right = strokes.corners
    inner = width - 2
    page.say(f"  {left}{strokes.across * inner}{right}")
    for line in fold(page, text, inner - 2):
        page.say(f"  {strokes.down} {line:<{inner - 2}} {strokes.down}")
    page.say(f"  {low_left}{strokes.across * inner}{low_right}")


def fold(page: Page, text: str, width: int) -> list[str]:
    narrow = Page(width)
    return narrow.folded(text, "", "")


def draw_loops(page: Page, loops: str, element: str) -> None:
    """The loops as a program would have them, outermost first."""
    found = re.findall(r"(\d+) \(dst ([+-]\d+), src ([+-]\d+)\)", loops)
    page.say("  loops, with their steps in bytes:")
    lines = [f"{extent} times: source {src}, destination {dst}" for extent, dst, src in reversed(found)]
    for depth, line in enumerate([*lines, element]):
        indent = " " * min(4 + 2 * depth, max(4, page.width - LOOP_LETTERS))
        for part in page.folded(line, indent, f"{indent}    "):
            page.say(part)


def draw_layouts(page: Page, src: Array, dst: Array) -> None:
    """The first elements along the last two axes, as bytes from the first: source next to destination, or above it."""
    left, right = corner(src, page.width), corner(dst, page.width)
    width = max(len(left[0]), len("source"))
    if 2 + width + 4 + max(len(right[0]), len("destination")) > page.width:
        for name, array in (("source", src), ("destination", dst)):
            show_block(page, name, corner(array, page.width - 2))
        return
    say_where(page, "the first elements")
    for one, other in zip(["source", *left], ["destination", *right], strict=True):
        page.say(f"  {one:<{width}}    {other}".rstrip())


def show_block(page: Page, name: str, lines: list[str]) -> None:
    say_where(page, f"the first elements of the {name}")
    for line in lines:
        page.say(f"  {line}".rstrip())


def say_where(page: Page, elements: str) -> None:
    for line in page.folded(f"where {elements} lie, in bytes:", "  ", "  "):
        page.say(line)


def corner(array: Array, room: int) -> list[str]:
    """Lines of equal length, of as many numbers as there is room for, with dots where there is more."""
    strides = array.strides or (0,) * array.ndim
    rows, columns = (1, array.shape[0]) if array.ndim == 1 else array.shape[-2:]
    down, across = (0, strides[0]) if array.ndim == 1 else strides[-2:]
    lines = [[str(i * down + j * across) for j in range(min(columns, CORNER))] for i in range(min(rows, CORNER))]
    width = max(len(text) for line in lines for text in line)
    shown = min(len(lines[0]), max(1, (room - len(" ...") + 1) // (width + 1)))
    more = " ..." if columns > shown else ""
    out = [" ".join(text.rjust(width) for text in line[:shown]) + more for line in lines]
    return [*out, "...".ljust(len(out[0]))] if rows > CORNER else out
