"""The libraries that arrays are exchanged with, and memory to exchange."""

from __future__ import annotations

import ctypes
import gc
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import viaduct as via

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


COUNTED = ("live_arrays", "live_storages", "outstanding_exports", "host_bytes")


def alive() -> dict[str, int]:
    stats = via.stats()
    return {name: stats[name] for name in COUNTED}


def more_than(before: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in alive().items() if count > before[name]}


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """What runs within ends with no more alive than before."""
    before = alive()
    yield
    # Collecting takes long where much is loaded, and some runtimes release on threads of their own, a moment later.
    # That takes seconds on a busy machine.
    deadline = time.monotonic() + 20
    while more_than(before) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    left = more_than(before)
    assert not left, f"{left}, where there was {before}"


def peer(name: str) -> Any:
    """A library, or a skip that says in one line which is not here."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def numbers(count: int, ctype: Any = ctypes.c_float) -> Any:
    """A ctypes array of 0, 1, 2, ..., aligned as any consumer could wish."""
    raw = (ctypes.c_char * (count * ctypes.sizeof(ctype) + 64))()
    offset = -ctypes.addressof(raw) % 64
    values = (ctype * count).from_buffer(raw, offset)
    values[:] = range(count)
    return values


def grid(rows: int = 3, columns: int = 4) -> via.Array:
    """A float32 array of 0, 1, 2, ... whose owner is the ctypes array behind it."""
    values = numbers(rows * columns)
    return via.wrap(ctypes.addressof(values), (rows, columns), "float32", owner=values)


def content(a: via.Array) -> bytes:
    """The elements as bytes, in row-major order."""
    dense = a.copy()
    return bytes(memoryview(dense.reshape(dense.size).view("uint8"))) if dense.size else b""


def is_gone(reference: weakref.ref[Any]) -> bool:
    """Whether nothing holds the object any more, once what other threads release has been ended."""
    via.stats()
    if reference() is not None:
        gc.collect()
        via.stats()
    return reference() is None


def address_of_torch(tensor: Any) -> int:
    return int(tensor.data_ptr())


def address_of_jax(array: Any) -> int:
    return int(array.unsafe_buffer_pointer())


def address_of_arrow(array: Any) -> int:
    """Of the first value: the last buffer of a column, with its offset."""
    while hasattr(array, "storage"):
        array = array.storage
    while hasattr(array.type, "value_type"):
        array = array.flatten()
    return int(array.buffers()[-1].address) + array.offset * array.type.bit_width // 8
