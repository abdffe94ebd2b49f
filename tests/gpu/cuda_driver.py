"""The CUDA driver by ctypes: memory, streams and events that somebody else made, as the tests need them.

Streams are held by the fake driver's own means (`VIADUCT_LIBCUDA`), or by a wait for a word in pinned memory.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
import viaduct as via

NON_BLOCKING = 1
DISABLE_TIMING = 2
ATTACH_GLOBAL = 1
PORTABLE = 1
GREATER_OR_EQUAL = 0
HOLD_SECONDS = 20


@functools.cache
def opened() -> Any:
    """The driver, initialised; None where there is none with a device."""
    try:
        found = ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int()
    if found.cuInit(0) or found.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None
    return found


def device_count() -> int:
    count = ctypes.c_int()
    if opened() is not None:
        opened().cuDeviceGetCount(ctypes.byref(count))
    return count.value


def on_fake_driver() -> bool:
    return opened() is not None and hasattr(opened(), "fake_reset")


def need_fake_driver() -> None:
    if not on_fake_driver():
        pytest.skip("a process must not end with a stream held, but on the fake driver")


def need_kernels() -> None:
    routes = via.device_info("cuda:0")["routes"]
    if "kernels: on" not in routes:
        pytest.skip("kernels: " + routes.partition("kernels: ")[2].partition("\n")[0])


def call(name: str, *arguments: Any) -> None:
    result = getattr(opened(), name)(*arguments)
    assert result == 0, f"{name} answered {result}"


def use_device(number: int) -> None:
    """Makes the primary context of a device current."""
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
    call("cuCtxSetCurrent", context)


class Block:
    """Memory of one kind, freed with the object or by free()."""

    def __init__(self, nbytes: int, kind: str = "device") -> None:
        self.nbytes, self.kind = nbytes, kind
        address = ctypes.c_uint64()
        size = ctypes.c_size_t(nbytes)
        if kind == "device":
            call("cuMemAlloc_v2", ctypes.byref(address), size)
        elif kind == "managed":
            call("cuMemAllocManaged", ctypes.byref(address), size, ATTACH_GLOBAL)
        else:
            call("cuMemAllocHost_v2", ctypes.byref(address), size)
        self.ptr: int = address.value
        self.freed = False

    def free(self) -> None:
        if not self.freed:
            self.freed = True
            call("cuMemFreeHost" if self.kind == "pinned" else "cuMemFree_v2", ctypes.c_uint64(self.ptr))

    def __del__(self) -> None:
        self.free()


def copy_apart(dst: Any, src: Any, count: int) -> None:
    """On a stream of its own: the calls without Async would follow the legacy stream, which a test may hold."""
    stream = ForeignStream()
    number = ctypes.c_void_p(stream.number)
    call("cuMemcpyAsync", dst, src, ctypes.c_size_t(count), number)
    stream.synchronize()
    stream.destroy()


def write(address: int, data: bytes) -> None:
    """Puts bytes into memory of a device, at once."""
    if on_fake_driver():
        assert opened().fake_device_write(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))
    else:
        copy_apart(ctypes.c_uint64(address), data, len(data))


def read(address: int, count: int) -> bytes:
    """What memory of a device holds now, without waiting for anybody's stream."""
    room = ctypes.create_string_buffer(count)
    if on_fake_driver():
        assert opened().fake_device_read(ctypes.c_uint64(address), room, ctypes.c_size_t(count))
    else:
        copy_apart(room, ctypes.c_uint64(address), count)
    return room.raw


class ForeignStream:
    """A non-blocking stream that is none of Viaduct's, with the protocol of cuda.core."""

    def __init__(self) -> None:
        native = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(native), NON_BLOCKING)
        self.number: int = native.value or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number

    def synchronize(self) -> None:
        call("cuStreamSynchronize", ctypes.c_void_p(self.number))

    def fill(self, address: int, value: int, count: int) -> None:
        """Sets bytes in stream order."""
        call("cuMemsetD8Async", ctypes.c_uint64(address), value, ctypes.c_size_t(count), ctypes.c_void_p(self.number))

    def destroy(self) -> None:
        call("cuStreamDestroy_v2", ctypes.c_void_p(self.number))


def is_done(stream: int) -> bool:
    """Whether a CUstream has no work left."""
    return bool(opened().cuStreamQuery(ctypes.c_void_p(stream)) == 0)


class Hold:
    """One stream held on a real driver, for at most HOLD_SECONDS: whoever waits for it must not wait for ever."""

    _words: ClassVar[Any] = None
    _count: ClassVar[int] = 0

    def __init__(self, stream: int) -> None:
        if Hold._words is None:
            address = ctypes.c_void_p()
            call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(4 * MOST_HOLDS), PORTABLE)
            Hold._words = (ctypes.c_uint32 * MOST_HOLDS).from_address(address.value or 0)
        # Each word serves once: the device looks at it when it likes.
        assert Hold._count < MOST_HOLDS
        self.number = Hold._count
        Hold._count += 1
        self.overdue = False
        word = ctypes.c_uint64(ctypes.addressof(Hold._words) + 4 * self.number)
        call("cuStreamWaitValue32_v2", ctypes.c_void_p(stream), word, 1, GREATER_OR_EQUAL)
        self.timer = threading.Timer(HOLD_SECONDS, self.give_up)
        self.timer.daemon = True
        self.timer.start()

    def give_up(self) -> None:
        self.overdue = True
        Hold._words[self.number] = 1

    def end(self) -> None:
        self.timer.cancel()
        Hold._words[self.number] = 1
        assert not self.overdue, f"the stream was still held after {HOLD_SECONDS} s"


MOST_HOLDS = 4096
holds: dict[int, Hold] = {}


def hold(stream: int) -> None:
    """Nothing that is given to this CUstream from now on runs until it is released. On a real driver the hold itself is
    work of the stream."""
    if on_fake_driver():
        opened().fake_stream_hold(ctypes.c_void_p(stream))
    else:
        holds[stream] = Hold(stream)


def release(stream: int) -> None:
    """Does nothing for a stream that is not held."""
    if on_fake_driver():
        opened().fake_stream_release(ctypes.c_void_p(stream))
    elif stream in holds:
        holds.pop(stream).end()


@contextmanager
def held(stream: int) -> Iterator[None]:
    hold(stream)
    try:
        yield
    finally:
        release(stream)


def misused() -> int:
    """What the fake driver counts of calls that no correct program makes."""
    if not on_fake_driver():
        return 0
    opened().fake_misuse_total.restype = ctypes.c_int64
    return int(opened().fake_misuse_total())
