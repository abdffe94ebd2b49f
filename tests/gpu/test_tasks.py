"""copy_submit(): tasks that are waited for, polled, cancelled, joined, called back from and awaited."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import cuda_driver
import pytest
import viaduct as via
from cuda_driver import held

COUNT = 1 << 20


def pair(count: int = COUNT) -> tuple[via.Array, via.Array]:
    source = via.asarray(bytearray(os.urandom(256)) * (count // 256))
    return via.empty(count, "uint8", device="cuda:0"), source


def same(a: via.Array, b: via.Array) -> bool:
    return bytes(memoryview(a.copy("cpu"))) == bytes(memoryview(b.copy("cpu")))


def test_a_task_ends_with_the_bytes_where_they_belong() -> None:
    dst, src = pair()
    task = via.copy_submit(dst, src)
    task.wait()
    assert task.done() and task.progress() == (COUNT, COUNT)
    assert same(dst, src)
    task.wait()
    task.cancel()
    task.wait(timeout=0)


def test_a_copy_that_cannot_be_is_refused_at_once() -> None:
    dst, src = pair()
    with pytest.raises(ValueError, match="via_copy_submit"):
        via.copy_submit(dst, src[1:])
    with pytest.raises(ValueError, match="read-only"):
        via.copy_submit(dst.as_readonly(), src)


def test_a_task_starts_after_the_streams_work_so_far() -> None:
    dst, src = pair()
    stream = via.Stream()
    with held(stream.handle):
        via.fill(dst, 7, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        with pytest.raises(TimeoutError, match="0.05"):
            task.wait(timeout=0.05)
        assert not task.done() and task.progress() == (0, COUNT)
    task.wait(timeout=20)
    assert same(dst, src)


def test_arrays_are_held_until_the_task_has_ended_though_nobody_holds_it() -> None:
    dst, src = pair()
    kept = dst[:]
    stream = via.Stream()
    gone: list[int] = []
    view = via.wrap(dst.ptr, COUNT, "uint8", device="cuda:0", owner=dst, release=lambda: gone.append(1))
    with held(stream.handle):
        via.fill(dst, 7, stream=stream)
        via.copy_submit(view, src, stream=stream)
        del view, dst
        via.stats()
        assert not gone
    deadline = time.monotonic() + 20
    while not gone and time.monotonic() < deadline:
        via.stats()
    assert gone == [1]
    assert same(kept, src)


def test_a_task_that_waits_can_be_cancelled() -> None:
    dst, src = pair()
    via.fill(dst, 9)
    stream = via.Stream()
    with held(stream.handle):
        via.fill(via.empty(4, "int8", device="cuda:0"), 0, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        task.cancel()
    with pytest.raises(via.CancelledError):
        task.wait()
    assert task.done() and set(bytes(memoryview(dst.copy("cpu")))) == {9}


def test_a_stream_joins_a_task() -> None:
    dst, src = pair()
    first, second = via.Stream(), via.Stream()
    result = via.empty(COUNT, "uint8", device="cuda:0")
    task = via.copy_submit(dst, src, stream=first)
    task.join(second)
    via.copy(result, dst, stream=second)
    second.synchronize()
    task.wait()
    assert same(result, src)


@pytest.mark.parametrize("join", [via.Task.join, via.raw.via_task_join])
def test_a_join_that_waits_for_a_task_lets_other_threads_run(join: Callable[[via.Task, via.Stream], None]) -> None:
    dst, src = pair()
    first, second = via.Stream(), via.Stream()
    with held(first.handle):
        via.fill(dst, 7, stream=first)
        task = via.copy_submit(dst, src, stream=first)
        thread = threading.Thread(target=join, args=(task, second))
        thread.start()
        time.sleep(0.05)
        assert thread.is_alive()
    thread.join(20)
    assert not thread.is_alive()
    second.synchronize()
    task.wait()
    assert same(dst, src)


def test_callbacks_run_once_each_in_order_whether_added_before_or_after_the_end() -> None:
    dst, src = pair()
    stream = via.Stream()
    heard: list[tuple[str, bool]] = []
    ended = threading.Event()
    with held(stream.handle):
        via.fill(dst, 1, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        task.add_done_callback(lambda t: heard.append(("first", t.done())))
        task.add_done_callback(lambda t: ended.set())
        assert not heard
    assert ended.wait(20)
    task.add_done_callback(lambda t: heard.append(("late", t is task)))
    assert heard == [("first", True), ("late", True)]


def test_what_a_task_comes_to_is_reported_while_it_waits_and_after() -> None:
    dst, src = pair()
    stream = via.Stream()
    with held(stream.handle):
        via.fill(dst, 7, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        assert repr(task) == f"<viaduct.Task under way, 0 of {COUNT} bytes>"
        for wait in (task.result, task.exception):
            with pytest.raises(TimeoutError, match=f"Task.{wait.__name__}: .*0.02"):
                wait(timeout=0.02)
        assert not task.cancelled()
        task.cancel()
    for ask in (task.result, task.exception, task.wait):
        with pytest.raises(via.CancelledError):
            ask()
    assert task.cancelled() and repr(task) == f"<viaduct.Task cancelled, 0 of {COUNT} bytes>"


def test_a_callback_that_was_removed_is_not_called_and_each_of_its_copies_counts() -> None:
    dst, src = pair()
    stream = via.Stream()
    heard: list[str] = []

    def first(_task: via.Task) -> None:
        heard.append("first")

    ended = threading.Event()
    with held(stream.handle):
        via.fill(dst, 1, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        task.add_done_callback(first)
        task.add_done_callback(first)
        assert task.remove_done_callback(first) == 2 and task.remove_done_callback(first) == 0
        task.add_done_callback(lambda _: heard.append("second"))
        task.add_done_callback(lambda _: ended.set())
    assert ended.wait(20)
    assert heard == ["second"] and task.remove_done_callback(first) == 0


async def waited(tasks: set[via.Task], **options: Any) -> tuple[set[via.Task], set[via.Task]]:
    """asyncio.wait(), which is typed for futures alone."""
    waits: Any = asyncio.wait
    done, pending = await waits(tasks, **options)
    return done, pending


def test_asyncio_wait_gives_up_a_task_and_takes_its_callback_along() -> None:
    dst, src = pair()
    stream = via.Stream()

    async def main() -> None:
        with held(stream.handle):
            via.fill(dst, 1, stream=stream)
            slow, quick = via.copy_submit(dst, src, stream=stream), via.copy_submit(src[:4], src[4:8])
            done, pending = await waited({slow, quick}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            assert (done, pending) == ({quick}, {slow})
            done, pending = await waited({slow}, timeout=0.02)
            assert (done, pending) == (set(), {slow})
            for _ in range(3):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(slow, 0.01)
        done, pending = await waited({slow}, timeout=20)
        assert (done, pending) == ({slow}, set())

    asyncio.run(main())


def test_a_callback_that_fails_is_reported_and_the_next_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.append(unraisable.exc_value))
    dst, src = pair()
    task = via.copy_submit(dst, src)
    ended = threading.Event()
    error = RuntimeError("on purpose")

    def fail(_task: via.Task) -> None:
        raise error

    task.add_done_callback(fail)
    task.add_done_callback(lambda _: ended.set())
    assert ended.wait(20)
    assert reported == [error]
    reported.clear()
    error.__traceback__ = None
    with pytest.raises(TypeError, match="add_done_callback"):
        task.add_done_callback(3)  # type: ignore[arg-type]


def test_waiting_for_a_task_inside_its_callback_is_refused() -> None:
    dst, src = pair()
    stream = via.Stream()
    found: list[BaseException] = []
    ended = threading.Event()
    other = via.copy_submit(dst, src)
    other.wait()

    def wait(task: via.Task) -> None:
        try:
            with held(stream.handle):
                via.fill(dst, 1, stream=stream)
                via.copy_submit(dst, src, stream=stream).wait()
        except via.Error as error:
            found.append(error.with_traceback(None))
        ended.set()

    with held(stream.handle):
        via.fill(dst, 1, stream=stream)
        task = via.copy_submit(dst, src, stream=stream)
        task.add_done_callback(wait)
    assert ended.wait(20)
    stream.synchronize()
    assert [type(error) for error in found] == [via.WouldDeadlockError]
    found.clear()


def test_tasks_are_awaited_next_to_other_work() -> None:
    stream = via.Stream()
    pairs = [pair() for _ in range(4)]
    ticks = 0

    async def main() -> None:
        nonlocal ticks
        tasks = [via.copy_submit(dst, src, stream=stream) for dst, src in pairs]

        async def tick() -> None:
            nonlocal ticks
            while not all(task.done() for task in tasks):
                ticks += 1
                await asyncio.sleep(0.001)

        async def wait(task: via.Task) -> None:
            await task

        await asyncio.wait_for(asyncio.gather(tick(), *map(wait, tasks)), 20)
        await tasks[0]

    asyncio.run(main())
    assert all(same(dst, src) for dst, src in pairs)


def test_awaiting_raises_what_the_task_failed_with() -> None:
    dst, src = pair()
    stream = via.Stream()

    async def main() -> None:
        with held(stream.handle):
            via.fill(dst, 1, stream=stream)
            task = via.copy_submit(dst, src, stream=stream)
            task.cancel()
        with pytest.raises(via.CancelledError):
            await task

    asyncio.run(main())


def test_a_loop_that_is_closed_meanwhile_does_no_harm() -> None:
    dst, src = pair()
    stream = via.Stream()

    async def main() -> via.Task:
        task = via.copy_submit(dst, src, stream=stream)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting(task), 0.02)
        return task

    async def waiting(task: via.Task) -> None:
        await task

    with held(stream.handle):
        via.fill(dst, 1, stream=stream)
        task = asyncio.run(main())
    task.wait()
    assert same(dst, src)


FINALIZATION = """
import ctypes, os, sys
import viaduct as via
driver = ctypes.CDLL(os.environ["VIADUCT_LIBCUDA"])
dst, src = via.empty(1 << 20, "uint8", device="cuda:0"), via.asarray(bytearray(1 << 20))
stream = via.Stream()
driver.fake_stream_hold(ctypes.c_void_p(stream.handle))
via.fill(dst, 1, stream=stream)
tasks = [via.copy_submit(dst, src, stream=stream) for _ in range(8)]
for task in tasks:
    task.add_done_callback(lambda task: print("called", flush=True))
if sys.argv[1] == "running":
    driver.fake_stream_release(ctypes.c_void_p(stream.handle))
sys.stdout.write("end\\n")  # in one piece, whatever other threads write
sys.stdout.flush()
"""


@pytest.mark.parametrize("state", ["running", "held"])
def test_the_interpreter_ends_though_tasks_are_pending(state: str) -> None:
    cuda_driver.need_fake_driver()
    for _ in range(5 if state == "running" else 1):
        done = subprocess.run(
            [sys.executable, "-c", FINALIZATION, state], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "end\n" in done.stdout and done.stderr == ""
