"""Another process, started anew by multiprocessing, that imports arrays, checks them and ends as it is asked to."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import viaduct as via

SPAWN = multiprocessing.get_context("spawn")


class Other:
    """Runs functions of a module, one after another: what they keep is the other process's own."""

    def __init__(self) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs,))
        self.process.start()
        theirs.close()

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.connection.send((function, arguments))
        return self.connection.recv()

    def end(self, how: str = "return") -> int:
        """By `return`, which unwinds all there is; by `exit` or `kill`, which release nothing. Its exit code."""
        if how == "kill":
            self.process.kill()
        elif how == "exit":
            self.connection.send((os._exit, (0,)))
        self.connection.close()
        self.process.join(60)
        return self.process.exitcode if self.process.exitcode is not None else 1000


def serve(connection: Connection[Any, Any]) -> None:
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        connection.send(function(*arguments))


# ------------------------------------------------------------------------------------------------ what it is asked to do

held: list[via.Array] = []


class Layout(NamedTuple):
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    device: str
    readonly: bool


def layout_of(a: via.Array) -> Layout:
    return Layout(a.shape, a.strides, a.dtype_name, a.device, a.readonly)


def bytes_of(a: via.Array) -> bytes:
    """In row-major order."""
    host = a.copy("cpu")
    return bytes(memoryview(host.reshape(host.size).view("uint8"))) if host.size else b""


def take(description: bytes) -> Layout:
    held.append(via.import_ipc(description))
    return layout_of(held[-1])


def content() -> bytes:
    return bytes_of(held[-1])


def fill(value: float) -> None:
    held[-1].fill(value)


def add_by_numpy(number: int) -> None:
    import numpy

    numbers = numpy.asarray(held[-1])
    numbers += number


def write_by_numpy() -> str:
    """What NumPy has against it."""
    import numpy

    try:
        numpy.asarray(held[-1])[...] = 0
    except ValueError as error:
        return str(error)
    return ""


def make(count: int, value: int) -> bytes:
    """An array of this process's own, described."""
    held.append(via.empty(count, "uint8", memory="shared"))
    held[-1].fill(value)
    return held[-1].export_ipc()


def make_on_device(count: int) -> bytes:
    held.append(via.empty(count, "uint8", device="cuda:0"))
    return held[-1].export_ipc()


def hand_on() -> bytes:
    return held[-1].export_ipc()


def release() -> int:
    """How many arrays are left."""
    held.clear()
    gc.collect()
    return via.stats()["live_arrays"]


def release_and_count_pending() -> int:
    release()
    return via.stats()["pending_releases"]
