"""What a command says, on a terminal by rich where that is installed, else as plain text."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Step = Callable[[str], None]

WIDEST = 100
WIDTH_OF_PIPES = 78
NARROWEST = 40


class Page:
    """Plain text, as wide as the terminal; what goes into a pipe has no more than lines."""

    def __init__(self, width: int) -> None:
        self.width = width

    @property
    def can_draw(self) -> bool:
        """Whether lines and arrows are drawn by characters of their own: on a terminal that has them."""
        return sys.stdout.isatty() and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"

    def say(self, line: str = "", style: str = "") -> None:
        print(line)

    def heading(self, name: str, text: str = "") -> None:
        for line in textwrap.wrap(f"{name}  {text}".rstrip(), self.width, subsequent_indent="  "):
            self.say(line, "bold")

    def fact(self, name: str, text: str, style: str = "") -> None:
        for line in self.folded(f"{name}: {text}", "  ", "    "):
            self.say(line, style)

    def paragraph(self, text: str) -> None:
        for line in self.folded(text, "", ""):
            self.say(line)

    def folded(self, text: str, first: str, others: str) -> list[str]:
        return textwrap.wrap(text, self.width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """The first column is text and gives way to the others, which are numbers."""
        lines = [columns, *rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
        widths[0] = min(widths[0], self.width - sum(widths[1:]) - 2 * (len(columns) - 1))
        for line in lines:
            self._row(line, widths)

    def _row(self, cells: Sequence[str], widths: Sequence[int]) -> None:
        names = textwrap.wrap(cells[0], widths[0], subsequent_indent="  ") or [""]
        for name in names[:-1]:
            self.say(name)
        numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        self.say("  ".join([names[-1].ljust(widths[0]), *numbers]).rstrip())

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        """Called with the name of each step as it begins."""
        is_shown = sys.stderr is not None and sys.stderr.isatty()
        done = 0

        def step(name: str) -> None:
            nonlocal done
            done += 1
            if is_shown:
                line = textwrap.shorten(f"{done} of {total}: {name}", self.width - 1, placeholder="...")
                print(f"\r{line:<{self.width - 1}}", end="", file=sys.stderr, flush=True)

        try:
            yield step
        finally:
            if is_shown:
                print(f"\r{'':<{self.width - 1}}\r", end="", file=sys.stderr, flush=True)

    def fail(self, text: str) -> None:
        print(f"viaduct: {text}", file=sys.stderr)


class RichPage(Page):
    """The same words with colours, tables that are ruled, and a bar for what takes long."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        from rich.console import Console

        self._console = Console(width=width, highlight=False, soft_wrap=True)

    def say(self, line: str = "", style: str = "") -> None:
        self._console.print(line, style=style or None, markup=False)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        table.add_column(columns[0], overflow="fold")
        for name in columns[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        self._console.print(table, soft_wrap=False)

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        bar = BarColumn(bar_width=max(self.width - 48, 8))
        with Progress(
            bar, MofNCompleteColumn(), TextColumn("{task.description}"), console=self._console, transient=True
        ) as shown:
            task = shown.add_task("", total=total)

            def step(name: str) -> None:
                shown.update(task, advance=1, description=textwrap.shorten(name, 32, placeholder="..."))

            yield step


def open_page() -> Page:
    width = width_of_output()
    return RichPage(width) if sys.stdout.isatty() and has_rich() else Page(width)


def width_of_output() -> int:
    """As wide as a terminal is, within what is read well; of a pipe what COLUMNS says, else the usual."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))
    return WIDTH_OF_PIPES


def has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def in_bytes(count: float) -> str:
    """1536 as "1.5 KiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"
