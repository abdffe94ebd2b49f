"""The CUDA driver by ctypes: memory, streams and events that somebody else made, as the tests need them.

Where the driver is the stand-in (`VIADUCT_LIBCUDA`), streams can be held; on a real one what needs that is skipped.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NON_BLOCKING = 1
DISABLE_TIMING = 2
ATTACH_GLOBAL = 1


@functools.cache
def library() -> Any:
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
    if library() is not None:
        library().cuDeviceGetCount(ctypes.byref(count))
    return count.value


def on_stand_in() -> bool:
    return library() is not None and hasattr(library(), "fake_reset")


def need_stand_in() -> None:
    if not on_stand_in():
        pytest.skip("streams can be held on the stand-in only")


def call(name: str, *arguments: Any) -> None:
    result = getattr(library(), name)(*arguments)
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


def write(address: int, data: bytes) -> None:
    """Puts bytes into memory of a device, at once."""
    if on_stand_in():
        assert library().fake_device_write(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))
    else:
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))


def read(address: int, count: int) -> bytes:
    """What memory of a device holds now; on the stand-in without waiting for anything."""
    room = ctypes.create_string_buffer(count)
    if on_stand_in():
        assert library().fake_device_read(ctypes.c_uint64(address), room, ctypes.c_size_t(count))
    else:
        call("cuMemcpyDtoH_v2", room, ctypes.c_uint64(address), ctypes.c_size_t(count))
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
    return bool(library().cuStreamQuery(ctypes.c_void_p(stream)) == 0)


@contextmanager
def held(stream: int) -> Iterator[None]:
    """Nothing further of this CUstream runs inside; only on the stand-in."""
    need_stand_in()
    library().fake_stream_hold(ctypes.c_void_p(stream))
    try:
        yield
    finally:
        library().fake_stream_release(ctypes.c_void_p(stream))


def misused() -> int:
    """What the stand-in counts of calls that no correct program makes."""
    if not on_stand_in():
        return 0
    library().fake_misuse_total.restype = ctypes.c_int64
    return int(library().fake_misuse_total())
