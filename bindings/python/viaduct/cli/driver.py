"""The CUDA driver's own copies, by ctypes: the limits that the library's are shown next to."""

from __future__ import annotations

import ctypes
import os
from typing import Any


def opened() -> Any:
    """The driver, initialised; None where there is none."""
    try:
        found = ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return None
    return found if found.cuInit(0) == 0 else None


def bus_address(number: int) -> str | None:
    """Where a device is on the PCI bus."""
    room = ctypes.create_string_buffer(32)
    found = opened()
    if found is None or found.cuDeviceGetPCIBusId(room, ctypes.c_int(len(room)), ctypes.c_int(number)) != 0:
        return None
    return room.value.decode()


def call(name: str, *arguments: Any) -> None:
    result = getattr(opened(), name)(*arguments)
    if result != 0:
        raise OSError(f"{name} answered {result}")


def use_device(number: int) -> None:
    """Makes a device's primary context, which the library uses too, this thread's."""
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(number))
    call("cuCtxSetCurrent", context)


def copy_to_device(dst: int, src: int, nbytes: int) -> None:
    call("cuMemcpyHtoD_v2", ctypes.c_uint64(dst), ctypes.c_void_p(src), ctypes.c_size_t(nbytes))


def copy_to_host(dst: int, src: int, nbytes: int) -> None:
    call("cuMemcpyDtoH_v2", ctypes.c_void_p(dst), ctypes.c_uint64(src), ctypes.c_size_t(nbytes))


def copy_on_device(dst: int, src: int, nbytes: int, times: int) -> None:
    """One after the other, and waited for once."""
    for _ in range(times):
        call("cuMemcpyDtoD_v2", ctypes.c_uint64(dst), ctypes.c_uint64(src), ctypes.c_size_t(nbytes))
    call("cuCtxSynchronize")
