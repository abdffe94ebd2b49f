"""Owners of device memory are released after the last view and export, and after the streams that were recorded."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest
import viaduct as via
from cuda_driver import Block, held, need_fake_driver


def exported(gone: list[int], count: int = 64) -> via.Array:
    block = Block(count)
    return via.wrap(
        block.ptr, count, "uint8", device="cuda:0", owner=block, release=lambda: gone.append(threading.get_ident())
    )


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of Python, which may import what lies next to this file."""
    command = [sys.executable, "-c", program, *arguments]
    here = Path(__file__).parent
    return subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60, check=False)


def settle(gone: list[int], count: int = 1) -> bool:
    deadline = time.monotonic() + 5
    while len(gone) < count and time.monotonic() < deadline:
        via.stats()
        time.sleep(0.001)
    return len(gone) == count


def test_views_and_exports_hold_the_owner() -> None:
    gone: list[int] = []
    a = exported(gone)
    view, capsule = a[::2], a.__dlpack__()
    del a
    assert not gone
    del view
    assert not gone
    del capsule
    assert gone == [threading.get_ident()]


def test_a_recorded_stream_holds_the_owner_until_its_work_has_run() -> None:
    gone: list[int] = []
    a = exported(gone)
    stream = via.Stream()
    with held(stream.handle):
        via.fill(a, 1, stream=stream)
        a.record_stream(stream)
        del a
        time.sleep(0.05)
        via.stats()
        assert not gone and via.stats()["pending_releases"] == 1
    assert settle(gone)


def test_the_release_of_a_pending_owner_runs_with_the_gil_on_the_main_thread() -> None:
    gone: list[int] = []
    a = exported(gone)
    stream = via.Stream()
    with held(stream.handle):
        via.fill(a, 1, stream=stream)
        a.set_ready(stream)
        del a
    assert settle(gone)
    assert gone == [threading.get_ident()]


def test_a_stream_of_which_the_work_has_run_holds_nobody() -> None:
    gone: list[int] = []
    a = exported(gone)
    stream = via.Stream()
    via.fill(a, 1, stream=stream)
    stream.synchronize()
    a.record_stream(stream)
    a.record_stream()
    del a
    assert settle(gone)


def test_asynchronous_copies_hold_both_arrays_by_themselves() -> None:
    gone: list[int] = []
    dst, src = exported(gone), exported(gone)
    stream = via.Stream()
    with held(stream.handle):
        via.copy(dst, src, stream=stream)
        del dst, src
        via.stats()
        assert not gone
    assert settle(gone, 2)


def test_a_stream_may_be_released_while_its_work_runs() -> None:
    gone: list[int] = []
    a = exported(gone)
    stream = via.Stream()
    with held(stream.handle):
        via.fill(a, 1, stream=stream)
        a.record_stream(stream)
    del stream, a
    assert settle(gone)


def test_an_owner_in_python_is_collected() -> None:
    class Owner:
        pass

    block, owner = Block(64), Owner()
    reference = weakref.ref(owner)
    a = via.wrap(block.ptr, 64, "uint8", device="cuda:0", owner=owner)
    del owner
    assert a.owner is reference()
    del a
    gc.collect()
    assert reference() is None


def test_allocations_are_counted_and_freed() -> None:
    for device, memory, counter in (
        ("cuda:0", "device", "device_bytes"),
        ("cuda:0", "pool", "device_bytes"),
        ("pinned", None, "pinned_bytes"),
        ("managed", None, "managed_bytes"),
    ):
        before = via.stats()[counter]
        a = via.empty(1000, "float32", device=device, memory=memory)
        assert via.stats()[counter] >= before + 4000, counter
        del a
        deadline = time.monotonic() + 5
        while via.stats()[counter] > before and time.monotonic() < deadline:
            time.sleep(0.001)
        assert via.stats()[counter] == before


def test_a_pool_allocates_in_the_order_of_a_stream() -> None:
    stream = via.Stream()
    a = via.empty(1 << 16, "uint8", device="cuda:0", memory="pool", stream=stream)
    via.fill(a, 5, stream=stream)
    a.set_ready(stream)
    assert set(bytes(memoryview(a.copy("cpu")))) == {5}


EXIT = """
import ctypes, os
import viaduct as via
driver = ctypes.CDLL(os.environ["VIADUCT_LIBCUDA"])
stream = via.Stream()
arrays = [via.empty(1 << 16, "uint8", memory=memory) for memory in ("device", "pool") for _ in range(4)]
owned = via.wrap(arrays[0].ptr, 64, "uint8", device="cuda:0", owner=object(), release=lambda: print("late"))
driver.fake_stream_hold(ctypes.c_void_p(stream.handle))
for a in [*arrays, owned]:
    via.fill(a, 1, stream=stream)
    a.record_stream(stream)
del a, owned
print("end", flush=True)
"""


def test_the_interpreter_ends_though_releases_are_pending() -> None:
    need_fake_driver()
    done = run(EXIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_forked_child_releases_without_the_driver_and_is_reported() -> None:
    program = """
import os
import viaduct as via
a = via.empty(64, "uint8", device="cuda:0")
gone = []
b = via.wrap(a.ptr, 64, "uint8", device="cuda:0", owner=a, release=lambda: gone.append(1))
child = os.fork()
if child == 0:
    try:
        via.Stream()
    except via.ForkedError:
        del b
        os._exit(0 if gone == [1] else 2)
    os._exit(1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert not gone
"""
    done = run(program)
    assert done.returncode == 0, done.stderr


CALLBACK = """
import ctypes
import sys
import time
import viaduct as via
from cuda_driver import ForeignStream, call, use_device

use_device(0)
array = via.zeros(64, "uint8", memory=sys.argv[1], device=sys.argv[2])
called = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def callback(_):
    time.sleep(0.2)
    called.append(1)

stream = ForeignStream()
call("cuLaunchHostFunc", ctypes.c_void_p(stream.number), callback, None)
view = array[2:]
del array
assert not called
del view
stream.synchronize()
assert called
"""


@pytest.mark.parametrize("memory", ["device", "pinned", "managed", "pool"])
def test_memory_is_freed_while_a_callback_of_the_device_waits_for_the_gil(memory: str) -> None:
    device = "cuda:0" if memory in ("device", "pool") else memory
    done = run(CALLBACK, memory, device)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [4])
def test_many_threads_export_take_and_release(threads: int) -> None:
    block = Block(1 << 12)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with via.Stream() as stream:
                for _ in range(100):
                    a = via.wrap(block.ptr, 1 << 12, "uint8", device="cuda:0", owner=block)
                    b = via.from_dlpack(a[::2])
                    b.record_stream()
                    assert b.ptr == block.ptr and stream == via.Stream.current()
        except BaseException as error:  # noqa: BLE001  (reported by the main thread)
            failures.append(error)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures
