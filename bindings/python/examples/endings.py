"""What becomes of memory that processes share when one of them ends or is killed: tried, as a table in Markdown.

By this library; by `multiprocessing.shared_memory`, whose processes share one tracker if one program has started them, and
else have one each; by tensors of PyTorch in its two ways, where it is installed. Names on the command line are the
columns that are wanted. No GPU is looked for.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, Protocol

import viaduct as via

NBYTES = 1_234_567  # as no other file in /dev/shm has
VALUE = 7
SETTLED = 5.0  # seconds: who cleans up behind the dead has done so by then, if anybody does


class Sharing(Protocol):
    """What a process holds, until it ends: memory that it made, or imported by a description."""

    def make(self) -> None: ...
    def describe(self) -> bytes: ...
    def take(self, description: bytes) -> None: ...
    def read(self) -> int: ...


class ByViaduct:
    def make(self) -> None:
        self.array = via.empty(NBYTES, "uint8", memory="shared")
        self.array.fill(VALUE)

    def describe(self) -> bytes:
        return self.array.export_ipc()

    def take(self, description: bytes) -> None:
        self.array = via.import_ipc(description)

    def read(self) -> int:
        return int(self.array[0].item())


class BySharedMemory:
    def make(self) -> None:
        self.block = SharedMemory(create=True, size=NBYTES)
        memoryview(self.block.buf or b"")[0] = VALUE

    def describe(self) -> bytes:
        return self.block.name.encode()

    def take(self, description: bytes) -> None:
        self.block = SharedMemory(description.decode())

    def read(self) -> int:
        return (self.block.buf or b" ")[0]


class ByTorch:
    def __init__(self, strategy: str) -> None:
        import torch.multiprocessing

        torch.multiprocessing.set_sharing_strategy(strategy)  # type: ignore[no-untyped-call]
        self.torch = torch

    def make(self) -> None:
        self.tensor = self.torch.full((NBYTES,), VALUE, dtype=self.torch.uint8)
        self.tensor.share_memory_()  # type: ignore[no-untyped-call]

    def describe(self) -> bytes:
        return bytes(ForkingPickler.dumps(self.tensor))

    def take(self, description: bytes) -> None:
        self.tensor = pickle.loads(description)

    def read(self) -> int:
        return int(self.tensor[0])


# ------------------------------------------------------------------------------------------------ processes

WAYS: dict[str, Callable[[], Sharing]] = {
    "viaduct": ByViaduct,
    "shared_memory": BySharedMemory,
    "shared_memory, separate programs": BySharedMemory,
    "torch, file_descriptor": lambda: ByTorch("file_descriptor"),
    "torch, file_system": lambda: ByTorch("file_system"),
}


def serve(connection: Connection[Any, Any], way: str) -> None:
    """A process: does what it is asked to, and answers, with what is in the way too, until nobody asks any more."""
    sharing = WAYS[way]()
    while True:
        try:
            what, *arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(getattr(sharing, what)(*arguments))
        except Exception as error:  # noqa: BLE001  (the question is which)
            connection.send(error)


class Member:
    """One of the processes that share: started by multiprocessing, or as a program of its own."""

    def __init__(self, way: str) -> None:
        self.started: Any
        if way.endswith("separate programs"):
            with tempfile.TemporaryDirectory() as folder, Listener(f"{folder}/socket") as listener:
                self.started = subprocess.Popen([sys.executable, __file__, "--serve", str(listener.address), way])
                self.connection = listener.accept()
        else:
            spawn = get_context("spawn")
            self.connection, theirs = spawn.Pipe()
            self.started = spawn.Process(target=serve, args=(theirs, way))
            self.started.start()
            theirs.close()

    def ask(self, what: str, *arguments: object) -> Any:
        self.connection.send((what, *arguments))
        return self.connection.recv()

    def end(self, kill: bool = False) -> None:
        if kill:
            self.started.kill()
        self.connection.close()
        (self.started.wait if isinstance(self.started, subprocess.Popen) else self.started.join)()


# ------------------------------------------------------------------------------------------------ what is tried


def files() -> set[str]:
    """Of this size; PyTorch has some of its own in front."""
    found = set()
    for file in Path("/dev/shm").iterdir():
        with suppress(FileNotFoundError):
            if 0 <= file.stat().st_size - NBYTES < 4096:
                found.add(file.name)
    return found


class Trial:
    """An exporter with memory of its own; files that are there before are somebody else's."""

    def __init__(self, way: str) -> None:
        self.before = files()
        self.way = way
        self.exporter = Member(way)
        self.exporter.ask("make")

    def importer(self) -> Member:
        """One that has the memory."""
        importer = Member(self.way)
        assert importer.ask("take", self.exporter.ask("describe")) is None
        assert importer.ask("read") == VALUE
        return importer

    def settle(self) -> bool:
        """Waits until nothing is left, or for as long as that may take: whether something is."""
        end = time.monotonic() + SETTLED
        while files() - self.before and time.monotonic() < end:
            time.sleep(0.01)
        return bool(files() - self.before)


def outcome(taken: Any, found: str = "the memory") -> str:
    return f"`{type(taken).__name__}`" if isinstance(taken, Exception) else found


def killed_before(way: str) -> str:
    trial, late = Trial(way), Member(way)
    description = trial.exporter.ask("describe")
    trial.exporter.end(kill=True)
    trial.settle()
    taken = late.ask("take", description)
    late.end()
    return outcome(taken)


def killed_after(way: str) -> str:
    trial = Trial(way)
    importer = trial.importer()
    trial.exporter.end(kill=True)
    trial.settle()
    read = importer.ask("read")
    importer.end()
    return outcome(read, "reads on" if read == VALUE else f"reads {read}")


def importer_gone(way: str, kill: bool) -> str:
    trial, late = Trial(way), Member(way)
    trial.importer().end(kill)
    trial.settle()
    taken = late.ask("take", trial.exporter.ask("describe"))
    late.end()
    trial.exporter.end()
    return outcome(taken)


def all_killed(way: str) -> str:
    trial = Trial(way)
    importer = trial.importer()
    importer.end(kill=True)
    trial.exporter.end(kill=True)
    return "a file" if trial.settle() else "nothing"


ROWS: dict[str, Callable[[str], str]] = {
    "the exporter is killed; who imports then gets": killed_before,
    "the exporter is killed; who had imported before": killed_after,
    "an importer ends; the next one gets": lambda way: importer_gone(way, kill=False),
    "an importer is killed; the next one gets": lambda way: importer_gone(way, kill=True),
    "all are killed; in `/dev/shm` there is": all_killed,
}


def columns_here() -> list[str]:
    has_torch = importlib.util.find_spec("torch") is not None
    return [way for way in WAYS if has_torch or not way.startswith("torch")]


def main() -> None:
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning"  # the trackers' own, of what is seen here anyway
    ways = sys.argv[1:] or columns_here()
    print(f"Python {platform.python_version()}:\n")
    print("| what happens |", " | ".join(ways), "|")
    print("| --- |" + " --- |" * len(ways))
    for happens, found in ROWS.items():
        print(f"| {happens} |", " | ".join(map(found, ways)), "|", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Client(sys.argv[2]), sys.argv[3])
    else:
        main()
