"""Bytes to make tensors of: the host's, or a CUDA device's by its driver alone."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from ._abi import CPU, CUDA

ALIGNMENT = 256


class Memory:
    """Some bytes, aligned as any library could wish, which live as long as this does."""

    device = (CPU, 0)

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._raw = ctypes.create_string_buffer(len(content) + ALIGNMENT)
        self.nbytes = len(content)
        self.address = -(-ctypes.addressof(self._raw) // ALIGNMENT) * ALIGNMENT
        self.write(content)

    def write(self, content: bytes) -> None:
        ctypes.memmove(self.address, content, len(content))


class DeviceMemory(Memory):
    """The same on the first CUDA device."""

    device = (CUDA, 0)

    def __init__(self, content: bytes) -> None:
        self.content = content
        pointer = ctypes.c_uint64()
        driver("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(content)))
        self.nbytes = len(content)
        self.address = pointer.value
        self.write(content)

    def write(self, content: bytes) -> None:
        driver("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), content, ctypes.c_size_t(len(content)))
        driver("cuCtxSynchronize")

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            answer("cuMemFree_v2", ctypes.c_uint64(self.address))


def read(device_type: int, address: int, nbytes: int) -> bytes:
    """The bytes at an address of the host, or of a device."""
    if device_type == CPU:
        return ctypes.string_at(address, nbytes)
    content = ctypes.create_string_buffer(max(1, nbytes))
    driver("cuCtxSynchronize")
    driver("cuMemcpyDtoH_v2", content, ctypes.c_uint64(address), ctypes.c_size_t(nbytes))
    return content.raw[:nbytes]


@functools.cache
def _opened() -> tuple[Any, Any]:
    """The CUDA driver, and the first device's primary context."""
    driver = ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1")
    count, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        raise OSError("the CUDA driver finds no device")
    if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        raise OSError("the CUDA driver makes no context")
    return driver, context


def answer(name: str, *arguments: Any) -> int:
    """What a function of the CUDA driver answers, on the first device."""
    found, context = _opened()
    found.cuCtxSetCurrent(context)
    return int(getattr(found, name)(*arguments))


def driver(name: str, *arguments: Any) -> None:
    """Calls a function of the CUDA driver, which has to succeed."""
    result = answer(name, *arguments)
    if result != 0:
        raise OSError(f"{name} answered {result}")


def device_is_well() -> bool:
    """Whether the device still works: a wrong access ends its context for the whole process."""
    return answer("cuCtxSynchronize") == 0
