"""Memory that is not Viaduct's: what a C library, a camera's driver or a simulation hands over is an address.

The other examples take it from here: of a CUDA device, by the driver itself, where there is one; else of the host.
"""

from __future__ import annotations

import array
import ctypes
import importlib
import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import viaduct as via

DEVICE = "cuda:0" if via.device_count() else "cpu"
ON_GPU = DEVICE != "cpu"


def say(text: str = "") -> None:
    print(text, flush=True)


def say_where(instead: str) -> None:
    """The first line of an example: what it runs on."""
    if ON_GPU:
        say(f"On {DEVICE}, {via.device_info(DEVICE)['name']}.")
    else:
        say(f"There is no CUDA device, so {instead} instead.")


def optional(name: str, title: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        say(f"  {title} is not installed, so it is left out.")
        return None


def optional_on_gpu(name: str, title: str, is_usable: Any) -> ModuleType | None:
    """A library that finds the device, too."""
    found = optional(name, title)
    try:
        if found is None or is_usable(found):
            return found
        reason = "it finds no CUDA device"
    except Exception as error:  # noqa: BLE001  (each library has its own for a device that it cannot use)
        reason = f"{type(error).__name__}: {error}"
    say(f"  {title} is left out: {reason}")
    return None


class Driver:
    """The CUDA driver by ctypes; each call is checked."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} answered {result}")


class Block:
    """An allocation with something in it: `ptr`, and free() for whoever owns it in the end."""

    def __init__(self, content: bytes) -> None:
        self.nbytes = len(content)
        self.freed = False
        if ON_GPU:
            self._driver = Driver()
            address = ctypes.c_uint64()
            self._driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.nbytes))
            self._driver.call("cuMemcpyHtoD_v2", address, content, ctypes.c_size_t(self.nbytes))
        else:
            self._libc = ctypes.CDLL(None)
            address = ctypes.c_uint64()
            self._libc.posix_memalign(ctypes.byref(address), ctypes.c_size_t(64), ctypes.c_size_t(self.nbytes))
            ctypes.memmove(address.value, content, self.nbytes)
        self.ptr = address.value

    def free(self) -> None:
        self.freed = True
        if ON_GPU:
            self._driver.call("cuMemFree_v2", ctypes.c_uint64(self.ptr))
        else:
            self._libc.free(ctypes.c_void_p(self.ptr))


def floats(values: Iterable[float]) -> bytes:
    """As a C program has them in memory."""
    return array.array("f", values).tobytes()
