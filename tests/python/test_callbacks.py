"""What a callback of the library may do: all that does not wait for another thread. And what it may not hold up."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import viaduct as via
from repeats import repeats

COUNT = 100_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "values.bin"
    made.write_bytes(bytes(i % 251 for i in range(COUNT)))
    return made


def reported(work: Callable[[], None], failures: list[str]) -> None:
    """In a callback nobody sees an exception."""
    try:
        work()
    except Exception:  # noqa: BLE001  (reported by the test)
        failures.append(traceback.format_exc())


def in_done_callback(work: Callable[[], None]) -> None:
    """On a thread of the library."""
    failures: list[str] = []
    called = threading.Event()

    def done(_task: via.Task) -> None:
        reported(work, failures)
        called.set()

    task = via.copy_submit(via.empty(16 << 20, "uint8"), via.empty(16 << 20, "uint8"))
    task.add_done_callback(done)
    assert called.wait(30)
    assert failures == []


def in_release_callback(work: Callable[[], None]) -> None:
    """On this thread."""
    failures: list[str] = []
    calls = []
    values = (ctypes.c_uint8 * 8)()

    def release() -> None:
        reported(work, failures)
        calls.append(1)

    array = via.wrap(ctypes.addressof(values), 8, "uint8", owner=values, release=release)
    del array
    assert (failures, calls) == ([], [1])


@pytest.mark.parametrize("inside", [in_done_callback, in_release_callback])
def test_files_are_read_and_written_in_a_callback(inside: Callable[[Callable[[], None]], None], path: Path) -> None:
    def work() -> None:
        with via.open(path, "r+") as file:
            values = file.read()
            assert values[COUNT - 1].item() == (COUNT - 1) % 251
            values[0] = 7
            file.write(values)
            assert file[:3].read().tolist() == [7, 1, 2]

    inside(work)
    assert path.read_bytes()[:2] == b"\x07\x01"


@pytest.mark.parametrize("inside", [in_done_callback, in_release_callback])
def test_blocks_of_a_file_are_streamed_in_a_callback(inside: Callable[[Callable[[], None]], None], path: Path) -> None:
    copied = path.with_name("copied.npy")

    def work() -> None:
        seen = 0
        for block in via.stream_blocks(path, 30_000, output=copied):
            block.write(block.array)
            seen += block.array.size
        assert seen == COUNT

    inside(work)
    with via.open(copied) as file:
        assert file.read()[COUNT - 1].item() == (COUNT - 1) % 251


def test_a_file_that_cannot_be_read_in_a_callback_says_so_and_not_that_it_would_wait(path: Path) -> None:
    def work() -> None:
        with via.open(path) as file, pytest.raises(via.ReadOnlyError):
            file.write(via.empty(3, "uint8"))

    in_done_callback(work)


def test_a_task_is_still_not_waited_for_in_a_callback() -> None:
    big = 64 << 20
    dst, src = via.empty(big, "uint8"), via.empty(big, "uint8")
    refused = []

    def work() -> None:
        task = via.copy_submit(dst, src)
        try:
            task.wait()
        except via.WouldDeadlockError:
            refused.append(task)

    for _ in range(10):
        in_release_callback(work)
    for task in refused:
        task.wait()
    assert refused


# ------------------------------------------------------------------------------------------------ the program's end

AT_EXIT = """
import threading, time
import viaduct as via
started = threading.Event()
def done(task):
    started.set()
    {body}
task = via.copy_submit(via.empty(64 << 20, "uint8"), via.empty(64 << 20, "uint8"))
task.add_done_callback(done)
assert started.wait(20)
"""


def run_to_the_end(body: str) -> tuple[float, float, str]:
    """Seconds that went by, seconds of processors, and what was printed."""
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", AT_EXIT.format(body=body)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, output


def test_a_callback_that_runs_as_the_program_ends_is_waited_for_without_a_processor() -> None:
    _, nothing, _ = run_to_the_end("pass")
    _, processors, output = run_to_the_end("time.sleep(3); print('called', flush=True)")
    assert output == "called\n"
    assert processors < nothing + 0.3


@pytest.mark.heavy
def test_a_callback_that_never_ends_does_not_keep_the_program_for_ever() -> None:
    bodies = ("time.sleep(1000)", "\n    while True: time.sleep(0.001)", "\n    while True: pass")
    bodies = bodies[: repeats(len(bodies), quick=2)]  # the last one keeps a processor busy
    with ThreadPoolExecutor(len(bodies)) as pool:
        assert all(elapsed < 30 for elapsed, _, _ in pool.map(run_to_the_end, bodies))
