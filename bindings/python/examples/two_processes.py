"""One array, two processes: a child works on its parent's array where it is, in host memory and on a GPU if there is one.

Through the pipe goes a description of a few hundred bytes, never the array. Whoever ends first, nothing is left behind.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import viaduct as via

ROWS, COLUMNS = 1000, 250


def say(text: str) -> None:
    print(text, flush=True)


def work(connection: Connection[Any, Any]) -> None:
    """The child: fills a row of each array whose description it gets, in place, and once more when the parent has released them."""
    for description in iter(connection.recv, None):
        array = via.import_ipc(description)
        array[1].fill(7)
        connection.send(via.stats()["live_arrays"])
        connection.recv()
        connection.send(float(array[1, COLUMNS - 1].copy("cpu").item()))
        del array


def share(connection: Connection[Any, Any], where: str, array: via.Array) -> None:
    array.fill(1)
    description = array.export_ipc()
    connection.send(description)
    connection.recv()
    rows = [array[row, 0].copy("cpu").item() for row in range(3)]
    say(
        f"  {where}: {array.nbytes} bytes, described in {len(description)}; the child has filled row 1 in place: {rows}"
    )
    del array
    connection.send("the parent has released it")
    say(f"  {where}: the parent has released it, and the child still reads {connection.recv()}")


def main() -> None:
    found = via.device_count()
    say(f"{found} CUDA device(s) found" if found else "There is no CUDA device: host memory alone is shared")
    spawn = multiprocessing.get_context("spawn")
    connection, theirs = spawn.Pipe()
    child = spawn.Process(target=work, args=(theirs,))
    child.start()
    share(connection, "host memory", via.empty((ROWS, COLUMNS), "float32", memory="shared"))
    if found:
        share(connection, "memory of cuda:0", via.empty((ROWS, COLUMNS), "float32", device="cuda:0"))
    connection.send(None)
    child.join()
    say(f"left alive: {via.stats()['live_arrays']} arrays; the child ended with {child.exitcode}")


if __name__ == "__main__":
    main()
