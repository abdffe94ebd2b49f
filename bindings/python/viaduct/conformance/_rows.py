"""What a row is, and the outcomes that it may have."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ._peers import Peer
from ._reader import Absent, Broken

Run = Callable[[Peer], None]
SameRun = TypeVar("SameRun", bound=Run)

OUTCOMES = ("pass", "refused", "absent", "fail", "crash")
DEVICE_LOST = 77  # the exit status of a child whose device does not work any more
PATIENCE = 3.0  # seconds: some runtimes release on threads of their own


class Refused(Exception):
    """The library said no, in words of its own, to what it may say no to; nothing was lost."""


@dataclass(frozen=True)
class Row:
    """A promise, and what tries it: run(peer) returns where it is kept, and raises where it is not."""

    name: str
    run: Run
    device: str = ""  # "cpu" or "cuda", if on one only

    def judge(self, peer: Peer) -> tuple[str, str]:
        """The outcome, and the words for it."""
        try:
            self.run(peer)
        except Refused as refusal:
            return "refused", str(refusal)
        except Absent as reason:
            return "absent", str(reason)
        except Broken as found:
            return "fail", str(found)
        except Exception as error:  # noqa: BLE001  (of any kind that the library has)
            return "fail", words_of(error)
        return "pass", ""


def words_of(error: BaseException) -> str:
    """The kind of an exception, and its first line in what any output can encode; a library may raise anything."""
    try:
        lines = str(error).encode(errors="backslashreplace").decode().strip().splitlines()
    except Exception:  # noqa: BLE001  (of its __str__)
        lines = ["it has no text"]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def settles(condition: Callable[[], bool]) -> bool:
    """Whether it comes true, once garbage has been collected and other threads have had time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        gc.collect()
        time.sleep(0.005)
    return True


class Rows:
    """The rows of one subject, in the order in which they are written down."""

    def __init__(self) -> None:
        self.all: list[Row] = []

    def __iter__(self) -> Iterator[Row]:
        return iter(self.all)

    def add(self, name: str, run: Run, device: str = "") -> None:
        self.all.append(Row(name, run, device))

    def row(self, name: str, device: str = "") -> Callable[[SameRun], SameRun]:
        def keep(run: SameRun) -> SameRun:
            self.add(name, run, device)
            return run

        return keep


def raised_by(call: Callable[[], Any]) -> Exception | None:
    """The exception of a call, without the frames that would keep what it held."""
    try:
        call()
    except (Broken, Absent):
        raise
    except Exception as error:  # noqa: BLE001  (of any kind that the library has)
        return error.with_traceback(None)
    return None
