"""Places to allocate from, the caller's own among them."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import weakref
from typing import Any

import pytest
import viaduct as via
from test_lifetime import delete_without_gil, steal


class Pool:
    """An allocator in Python that notes its calls."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.allocated: list[tuple[int, int, int]] = []
        self.freed: list[tuple[int, int, int]] = []
        self.freed_on: list[int] = []

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        raw = (ctypes.c_char * (nbytes + alignment))()
        address = ctypes.addressof(raw) + -ctypes.addressof(raw) % alignment
        self.blocks[address] = raw
        self.allocated.append((nbytes, alignment, stream))
        return address

    def free(self, address: int, nbytes: int, stream: int) -> None:
        del self.blocks[address]
        self.freed.append((address, nbytes, stream))
        self.freed_on.append(threading.get_ident())

    def memory(self) -> via.Memory:
        return via.memory(alloc=self.alloc, free=self.free)


def test_new_memory_is_row_major_writable_and_aligned() -> None:
    a = via.empty((3, 5), "float64")
    assert a.c_contiguous and not a.readonly and a.ptr % 64 == 0
    assert a.owner is None
    assert via.stats()["host_bytes"] == 120


def test_host_memory_has_many_names() -> None:
    for options in ({}, {"device": "cpu"}, {"memory": "host"}, {"memory": via.memory()}, {"device": (1, 0)}):
        assert via.empty(4, "int8", **options).device == "cpu"  # type: ignore[arg-type]


def test_an_allocator_of_the_caller_serves_and_gets_its_blocks_back() -> None:
    pool = Pool()
    memory = pool.memory()
    a = via.empty((4, 4), "float32", memory=memory)
    assert a.ptr in pool.blocks
    assert pool.allocated[0][0] == 64 and pool.allocated[0][2] == 0
    a.fill(7)
    address = a.ptr
    view = a[1:]
    del a
    assert not pool.freed
    del view
    assert pool.freed == [(address, 64, 0)]


def test_arrays_outlive_the_memory_they_came_from() -> None:
    pool = Pool()
    a = via.empty(4, "float32", memory=pool.memory())
    b = via.empty(4, "float32", memory=via.memory(pool.memory()))
    a.fill(1)
    del a, b
    assert len(pool.freed) == 2 and not pool.blocks


def test_the_functions_of_an_allocator_are_released_with_it() -> None:
    pool = Pool()
    before = sys.getrefcount(pool)
    memory = pool.memory()
    a = via.empty(4, "float32", memory=memory)
    del memory
    assert sys.getrefcount(pool) > before
    del a
    assert sys.getrefcount(pool) == before


def test_a_block_released_without_the_gil_is_freed_by_the_main_thread() -> None:
    pool = Pool()
    tensor = steal(via.empty(4, "float32", memory=pool.memory()))
    delete_without_gil(tensor)
    via.stats()
    assert pool.freed_on == [threading.main_thread().ident]


def test_an_exception_of_the_allocator_arrives() -> None:
    def alloc(nbytes: int, alignment: int, stream: int) -> int:
        raise MemoryError(f"the pool has no {nbytes} bytes")

    memory = via.memory(alloc=alloc, free=lambda *_: None)
    with pytest.raises(MemoryError, match="the pool has no 16 bytes"):
        via.empty(4, "float32", memory=memory)


@pytest.mark.parametrize("returned", [None, "here", 1.5])
def test_an_allocator_must_give_an_address(returned: Any) -> None:
    memory = via.memory(alloc=lambda *_: returned, free=lambda *_: None)
    with pytest.raises(TypeError, match="alloc's result.*address"):
        via.empty(4, "float32", memory=memory)


def test_an_allocator_that_succeeds_with_null_is_refused() -> None:
    memory = via.memory(alloc=lambda *_: 0, free=lambda *_: None)
    with pytest.raises(via.CallbackError, match="NULL"):
        via.empty(4, "float32", memory=memory)


def test_a_free_that_raises_is_reported() -> None:
    reports: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, reports.append
    try:
        pool = Pool()

        def free(address: int, nbytes: int, stream: int) -> None:
            pool.free(address, nbytes, stream)
            raise RuntimeError("too late")

        a = via.empty(4, "float32", memory=via.memory(alloc=pool.alloc, free=free))
        del a
    finally:
        sys.unraisablehook = hook
    assert [str(report.exc_value) for report in reports] == ["too late"]
    del reports


def test_the_functions_of_an_allocator_outlive_a_free_that_another_thread_overtakes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What ends the allocator is run by another thread while free is still busy."""
    pool = Pool()
    events: list[str] = []

    def overtaken(address: int, nbytes: int, stream: int) -> None:
        pool.free(address, nbytes, stream)
        other = threading.Thread(target=via.stats)
        other.start()
        other.join()
        raise RuntimeError("too late")

    monkeypatch.setattr(sys, "unraisablehook", lambda report: events.append(str(report.exc_value)))
    free = functools.partial(overtaken)  # which no frame of the call holds
    weakref.finalize(free, events.append, "gone")
    tensor = steal(via.empty(4, "float32", memory=via.memory(alloc=pool.alloc, free=free)))
    del free
    delete_without_gil(tensor)
    via.stats()
    assert events == ["too late", "gone"]


def test_nothing_is_asked_of_an_allocator_for_no_elements() -> None:
    pool = Pool()
    a = via.empty((0, 4), "float32", memory=pool.memory())
    assert a.size == 0 and not pool.allocated
    del a
    assert not pool.freed


def test_memory_that_is_not_here_is_refused() -> None:
    for options in (
        {"memory": "pinned"},
        {"memory": "device"},
        {"memory": "pool"},
        {"memory": "managed"},
        {"device": "cuda:0"},
        {"device": "pinned"},
    ):
        with pytest.raises(NotImplementedError, match="CUDA"):
            via.empty(4, "float32", **options)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="device is not the device of memory"):
        via.empty(4, "float32", device="cuda:0", memory=via.memory())


def test_handles_are_made_by_functions_only() -> None:
    for kind in (via.Memory, via.Task, via.File):
        with pytest.raises(TypeError):
            kind()
