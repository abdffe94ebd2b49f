"""Signals during waits: Ctrl-C ends them, other handlers run while they go on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import viaduct as via
from cuda_driver import Block, held, release

LIMIT = 10  # seconds, of what ends at once


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Python leaves SIGINT alone where it began with it ignored, as what a shell runs in the background does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def signalled(number: int) -> Iterator[None]:
    """The signal comes a moment after the scope has begun."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
    finally:
        timer.join()


class Late:
    """Work of a stream that is held, and everything that can be waited for because of it."""

    def __init__(self, stream: via.Stream) -> None:
        self.stream, self.block = stream, Block(64, "pinned")
        self.array = via.wrap(self.block.ptr, 64, "uint8", device="pinned")
        self.source = via.asarray(bytearray(64))
        via.fill(self.array, 1, stream=stream)
        self.array.set_ready(stream)
        self.task = via.copy_submit(via.empty(64, "uint8", device="cuda:0"), self.source, stream=stream)
        self.event = stream.record()


WAITS: dict[str, Callable[[Late], Any]] = {
    "Task.wait": lambda late: late.task.wait(),
    "Task.wait with a timeout": lambda late: late.task.wait(timeout=6 * LIMIT),
    "Stream.synchronize": lambda late: late.stream.synchronize(),
    "Event.synchronize": lambda late: late.event.synchronize(),
    "Array.synchronize": lambda late: late.array.synchronize(),
    "memoryview": lambda late: memoryview(late.array),
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    stream = via.Stream()
    with held(stream.handle):
        late = Late(stream)
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt), signalled(signal.SIGINT):
            WAITS[wait](late)
            time.sleep(LIMIT)  # where the signal is still to come
        assert time.monotonic() - before < LIMIT
        assert not late.task.done() and not late.array.ready
    WAITS[wait](late)


@pytest.mark.parametrize("wait", WAITS)
def test_another_handler_runs_and_the_wait_goes_on(wait: str) -> None:
    stream, heard = via.Stream(), []

    def handle(number: int, _frame: object) -> None:
        heard.append(number)
        release(stream.handle)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with held(stream.handle):
            late = Late(stream)
            with signalled(signal.SIGUSR1):
                WAITS[wait](late)
            assert heard == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)
    late.task.wait()


def test_a_wait_of_another_thread_is_its_own() -> None:
    stream, ended = via.Stream(), []
    with held(stream.handle):
        late = Late(stream)
        thread = threading.Thread(target=lambda: ended.append(late.task.wait()))
        thread.start()
        with pytest.raises(KeyboardInterrupt), signalled(signal.SIGINT):
            time.sleep(LIMIT)
        assert thread.is_alive() and not ended
    thread.join(LIMIT)
    assert ended == [None]


def test_a_wait_in_a_callback_is_refused_and_not_begun() -> None:
    stream, found = via.Stream(), []
    with held(stream.handle):
        late = Late(stream)

        def release() -> None:
            try:
                late.task.wait()
            except via.WouldDeadlockError as error:
                found.append(str(error))

        a = via.wrap(late.block.ptr, 64, "uint8", device="pinned", release=release)
        del a
        assert len(found) == 1 and "callback" in found[0]
    late.task.wait()
