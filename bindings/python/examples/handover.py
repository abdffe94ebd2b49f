"""An array of 256 MiB for another process: in place, next to what else hands one over. No GPU is looked for.

Timed from the call that gives it away until its first byte is known to have been read there, with nothing there that was
mapped before; medians of turns, all ways in each. That the receiver releases it afterwards is not timed for any of them.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import viaduct as via

try:
    import torch.multiprocessing  # which teaches pipes to take tensors
except ImportError:
    torch = None  # type: ignore[assignment]

NBYTES = 256 << 20
VALUE = 7
TURNS = 21
TURNS_OF_COPIES = 1  # a second or so
REST = 0.005


class Way(NamedTuple):
    name: str
    give: Callable[[], object]  # what goes through the pipe
    turns: int
    note: str


def work(connection: Connection[Any, Any]) -> None:
    """The child: answers with the first byte of whatever comes, and again once it has released it."""
    for name, given in iter(connection.recv, None):
        if name == "viaduct":
            array = via.import_ipc(given)
            connection.send(array[0].item())
            del array
        elif name == "shared_memory":
            block = SharedMemory(given)
            connection.send((block.buf or b" ")[0])
            block.close()
        else:
            connection.send(int(given[0]))
        del given
        connection.send("released")


def time_once(connection: Connection[Any, Any], way: Way) -> float:
    """In milliseconds, once what the turn before has left running is at rest."""
    time.sleep(REST)
    start = time.perf_counter()
    connection.send((way.name, way.give()))
    assert connection.recv() == VALUE
    taken = time.perf_counter() - start
    connection.recv()
    return 1e3 * taken


def medians(connection: Connection[Any, Any], ways: list[Way]) -> dict[str, float]:
    """A first turn of each is not counted: modules are loaded in it, and a thread started."""
    times: dict[str, list[float]] = {way.name: [] for way in ways}
    for turn in range(TURNS + 1):
        for way in ways:
            if turn <= way.turns:
                times[way.name].append(time_once(connection, way))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def has_room(blocks: int) -> bool:
    """Containers have 64 MiB by default, and who touches more than there is dies of it."""
    room = os.statvfs("/dev/shm")
    return room.f_bavail * room.f_frsize > blocks * NBYTES


def ways_of_others(array: via.Array, named: SharedMemory) -> list[Way]:
    via.copyto(via.asarray(memoryview(named.buf or b""))[:NBYTES], array)
    ways = [Way("shared_memory", lambda: named.name, TURNS, "no copy; its name stays until somebody unlinks it")]
    if torch is not None:
        tensor = torch.full((NBYTES,), VALUE, dtype=torch.uint8).share_memory_()  # type: ignore[no-untyped-call]
        note = "no copy; a thread of the sender's hands a descriptor over, once for each receiver"
        ways.append(Way("torch", lambda: tensor, TURNS, note))
    return ways


def show(found: dict[str, float], ways: list[Way]) -> None:
    print(f"{NBYTES >> 20} MiB of host memory, until the other process has read the first byte:")
    for way in ways:
        print(f"  {way.name}: {found[way.name]:.3f} ms; {way.note}")
    for name in {"shared_memory", "torch"} - found.keys():
        print(f"  {name}: left out: {'PyTorch is not installed' if has_room(2) else '/dev/shm is too small'}")


def main() -> None:
    spawn = multiprocessing.get_context("spawn")
    connection, theirs = spawn.Pipe()
    child = spawn.Process(target=work, args=(theirs,))
    child.start()
    array = via.empty(NBYTES, "uint8", memory="shared")
    array.fill(VALUE)
    content = bytes(memoryview(array))
    named = SharedMemory(create=True, size=NBYTES) if has_room(2) else None
    try:
        ways = [Way("viaduct", array.export_ipc, TURNS, "no copy; gone with its last user")]
        ways += ways_of_others(array, named) if named else []
        ways.append(Way("pickle", lambda: content, TURNS_OF_COPIES, "copied to a pipe and from it"))
        show(medians(connection, ways), ways)
    finally:
        if named:
            named.close()
            named.unlink()
    connection.send(None)
    child.join()


if __name__ == "__main__":
    main()
