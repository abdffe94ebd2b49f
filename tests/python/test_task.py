"""Tasks within host memory: their results, and how asyncio waits for them."""

from __future__ import annotations

import asyncio
import resource
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from test_lifetime import run_python


def copying(count: int = 64) -> via.Task:
    return via.copy_submit(via.zeros(count, "uint8"), via.ones(count, "uint8"))


@pytest.fixture
def failing(tmp_path: Path) -> via.Task:
    """A write beyond what this process may write to a file."""
    path = tmp_path / "numbers"
    path.write_bytes(bytes(1 << 16))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with via.open(path, "r+") as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, hard))
        try:
            task = file.write_submit(via.zeros(1 << 16, "uint8"))
            while not task.done():
                time.sleep(0.001)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return task


def test_the_result_of_a_task_is_none_once_it_has_ended() -> None:
    task = copying()
    assert task.result() is None and task.result(timeout=5) is None and task.result(5) is None
    assert task.exception() is None and task.exception(timeout=5) is None
    assert task.done() and not task.cancelled()
    assert repr(task) == "<viaduct.Task done, 64 bytes>"


def test_a_task_that_failed_raises_its_failure_and_gives_it_as_its_exception(failing: via.Task) -> None:
    with pytest.raises(via.Error) as raised:
        failing.result()
    error = failing.exception()
    assert type(error) is type(raised.value) and str(error) == str(raised.value)
    assert isinstance(error, via.Error) and error.status == raised.value.status
    assert failing.done() and not failing.cancelled()
    assert repr(failing).startswith("<viaduct.Task failed with VIA_ERROR_")


def test_callbacks_are_removed_by_what_was_added() -> None:
    task = copying()
    task.wait()

    def heard(_task: via.Task) -> None:
        raise AssertionError

    assert task.remove_done_callback(heard) == 0
    with pytest.raises(TypeError, match="remove_done_callback"):
        task.remove_done_callback()  # type: ignore[call-arg]


def test_outside_of_a_loop_a_callback_of_a_task_that_has_ended_runs_at_once() -> None:
    task = copying()
    task.wait()
    heard: list[tuple[bool, int]] = []
    task.add_done_callback(lambda t: heard.append((t is task, threading.get_ident())))
    assert heard == [(True, threading.get_ident())]


def test_a_callback_that_is_added_as_the_task_ends_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python code may run on other threads until it is added, here since asyncio is patched."""
    called: list[str] = []
    task = via.copy_submit(via.zeros(1 << 26, "uint8"), via.ones(1 << 26, "uint8"))
    task.add_done_callback(lambda _: called.append("first"))

    def ends_meanwhile() -> None:
        while called == []:
            time.sleep(0.001)

    monkeypatch.setattr(asyncio, "_get_running_loop", ends_meanwhile)
    task.add_done_callback(lambda _: called.append("second"))
    assert called == ["first", "second"]


def test_a_child_of_fork_calls_callbacks_for_the_tasks_of_its_parent() -> None:
    """Those that it adds itself, also where the parent had added some."""
    output = run_python("""
import asyncio, os, warnings
import viaduct as via
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # since Python 3.12
a, b = via.ones(1 << 28, "uint8"), via.empty(1 << 28, "uint8")
task = [via.copy_submit(b, a) for _ in range(4)][-1]
task.add_done_callback(lambda task: None)
child = os.fork()
if child == 0:
    task.add_done_callback(lambda task: print("called", flush=True))
    async def wait(): await task
    try:
        asyncio.run(asyncio.wait_for(wait(), 20))
    except via.ForkedError:
        print("refused", flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
task.wait()
""")
    assert output == "called\nrefused\n"


def test_a_small_copy_waits_for_a_task_without_the_gil() -> None:
    """The task waits for a thread; every one is in a callback, which needs the GIL to end."""
    output = run_python("""
import time
import viaduct as via
a, b = via.ones(1 << 28, "uint8"), via.empty(1 << 28, "uint8")
before = via.copy_submit(b, a)
others = [via.empty(8, "uint8") for _ in range(64)]  # the most threads that there are for tasks
for other in others:
    via.copy_submit(other, b[:8]).add_done_callback(lambda task: time.sleep(0.2))
last = via.empty(8, "uint8")
via.copy_submit(last, other)
small = via.empty(8, "uint8")
via.copy(small, last)
print(small.tolist())
""")
    assert output == "[1, 1, 1, 1, 1, 1, 1, 1]\n"


def test_in_a_running_loop_callbacks_run_on_its_thread() -> None:
    heard: list[int] = []

    async def main() -> None:
        called = asyncio.Event()
        for task in [copying(1 << 20) for _ in range(8)]:
            called.clear()
            task.add_done_callback(lambda _: (heard.append(threading.get_ident()), called.set()))
            await asyncio.wait_for(called.wait(), 20)

    asyncio.run(main())
    assert heard == [threading.get_ident()] * 8


async def waited(tasks: set[via.Task], **options: Any) -> tuple[set[via.Task], set[via.Task]]:
    """asyncio.wait(), which is typed for futures alone."""
    waits: Any = asyncio.wait
    done, pending = await waits(tasks, **options)
    return done, pending


def test_asyncio_wait_takes_tasks_as_they_are() -> None:
    async def main() -> None:
        tasks = {copying(1 << 20) for _ in range(4)}
        done, pending = await waited(tasks, timeout=20)
        assert done == tasks and not pending
        done, pending = await waited(tasks, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        assert done == tasks

    asyncio.run(main())


def test_asyncio_wait_reports_a_failure_from_an_end(failing: via.Task) -> None:
    async def main() -> None:
        done, _ = await waited({failing}, timeout=20, return_when=asyncio.FIRST_EXCEPTION)
        assert done == {failing}
        with pytest.raises(via.Error):
            await failing

    asyncio.run(main())
