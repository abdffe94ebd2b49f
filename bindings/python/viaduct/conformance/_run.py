"""Runs every row against a library, in child processes that may die."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from ._rows import DEVICE_LOST, OUTCOMES
from ._subjects import rows_for

STARTING, ROW = 300.0, 60.0  # seconds before a child that says nothing is ended


@dataclass
class Result:
    row: str
    outcome: str
    words: str = ""


@dataclass
class Report:
    """What a library did, row by row. `problem`: why there are none."""

    peer: str
    device: str
    version: str = ""
    problem: str = ""
    results: list[Result] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.outcome in ("fail", "crash")]

    def as_dict(self) -> dict[str, Any]:
        counts = {outcome: self.count(outcome) for outcome in OUTCOMES}
        return {**asdict(self), "counts": {"rows": len(self.results), **counts}}


class Child:
    """One worker, from one row on."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as this does)
        self.lines, out = os.pipe()
        command = [sys.executable, "-m", "viaduct.conformance._worker", json.dumps(order | {"out": out})]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors, pass_fds=[out]
        )
        os.close(out)
        self.unread = b""

    def next(self, seconds: float) -> dict[str, Any] | None:
        """What it says next; None once it says nothing any more, or takes too long."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.unread:
            if not select.select([self.lines], [], [], max(0.0, deadline - time.monotonic()))[0]:
                self.process.kill()
                return None
            read = os.read(self.lines, 65536)
            if not read:
                return None
            self.unread += read
        line, _, self.unread = self.unread.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def end(self) -> tuple[int, str]:
        """Its exit status, and the last line that it wrote."""
        os.close(self.lines)
        status = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        self.errors.close()
        return status, reporting(lines)


def reporting(lines: list[str]) -> str:
    """The last line that says what an exception of C++ was, or the last of all."""
    said = [line.strip() for line in lines if "what():" in line] or lines[-1:]
    return said[-1] if said else ""


def end_of(status: int, last_line: str) -> str:
    """How a child died, in words."""
    if status >= 0:
        return f"ended the process with status {status}: {last_line}"
    if status == -signal.SIGKILL:
        return "did not return"
    return f"ended the process by {signal.Signals(-status).name}: {last_line}"


class _Run:
    def __init__(self, peer: str, device: str, expressions: dict[str, str]) -> None:
        self.report = Report(peer, device)
        self.order = {"peer": peer, "device": device, "expressions": expressions, "first": 0}
        self.names = [row.name for row in rows_for(device)]

    def note(self, outcome: str, words: str) -> None:
        self.report.results.append(Result(self.names[len(self.report.results)], outcome, words))

    def go_on(self) -> bool:
        """Runs a child from the first row that is left; whether another has to follow it."""
        child = Child(self.order | {"first": len(self.report.results)})
        begun, done = self.listen(child)
        status, last_line = child.end()
        if done:
            return False
        if begun:
            self.note("crash", end_of(status, last_line))
        elif not self.report.version:
            self.report.problem = last_line or end_of(status, "it wrote nothing")
            return False
        elif status != DEVICE_LOST:
            self.note("crash", end_of(status, last_line))  # between two rows: what a row left behind
        return len(self.report.results) < len(self.names)

    def listen(self, child: Child) -> tuple[bool, bool]:
        """Notes what it says; whether it was in the middle of a row at the end, and whether it had done them all."""
        begun, seconds = False, STARTING
        while (said := child.next(seconds)) is not None:
            seconds = ROW
            if said.get("done"):
                return False, True
            self.report.version = said.get("version", self.report.version)
            begun = "begins" in said
            if "ends" in said:
                self.note(said["outcome"], said["words"])
        return begun, False


def check(peer: str, device: str = "cpu", **expressions: str) -> Report:
    """Runs every row against a library: one of PEERS, or any module with from_dlpack(). Expressions as in Peer."""
    run = _Run(peer, device, expressions)
    while run.go_on():
        pass
    return run.report
