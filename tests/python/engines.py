"""What the tests of engines that run work in other processes share: arrays to send, and what is seen of them there."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import viaduct as via
from peers import content, grid, numbers

PAGE = Path(__file__).resolve().parents[2] / "docs/guide/processes.md"

LAYOUTS: dict[str, Callable[[via.Array], via.Array]] = {
    "dense": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1:],
    "reversed": lambda a: a[::-1, ::-1],
    "broadcast": lambda a: a[1].broadcast_to((5, 4)),
    "one element": lambda a: a[1, 2],
    "no elements": lambda a: a[:0],
    "read-only": lambda a: a.as_readonly(),
}
DTYPES = ["bool", "uint64", "float16", "complex128", "bfloat16", "float8_e5m2", "complex32", "float32x4", "record12"]
LARGE = 64 * 1024  # floats: too many for an engine to put them among the words of a message


class Seen(NamedTuple):
    process: int
    shape: tuple[int, ...]
    dtype: str
    readonly: bool
    aligned: bool
    content: bytes


def look(a: via.Array) -> Seen:
    return Seen(os.getpid(), a.shape, a.dtype_name, a.readonly, a.aligned, content(a))


def of_dtype(dtype: str) -> via.Array:
    room = numbers(100)
    return via.wrap(ctypes.addressof(room), 5, dtype, owner=room)


def large() -> via.Array:
    return grid(LARGE // 1024, 1024)


def shown_on_the_page(engine: str) -> str:
    """The program for it that the documentation shows."""
    (program,) = re.findall(rf"^```python {engine}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(program)


def run_shown(engine: str, **given: Any) -> dict[str, Any]:
    """What it leaves behind; its functions travel by value, as those of a program do."""
    program = shown_on_the_page(engine)
    names = {"__name__": "__main__", "via": via, **given}
    exec(compile(program, str(PAGE), "exec"), names)  # noqa: S102  (text of this repository)
    return names
