"""What the tests of every library on the GPU have in common."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import cuda_driver
import pytest
import viaduct as via

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
USUAL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
TORCH_FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


def gpu_peer(name: str, is_usable: Callable[[Any], bool]) -> Any:
    """A library that finds a device, or a skip that says in one line which does not."""
    if cuda_driver.on_fake_driver():
        pytest.skip(f"{name} needs a real GPU", allow_module_level=True)
    try:
        module = importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed", allow_module_level=True)
    try:
        usable = is_usable(module)
    except Exception as error:  # noqa: BLE001  (of the kind that the library has for it)
        usable, name = False, f"{name} ({type(error).__name__}: {error})"
    if not usable:
        pytest.skip(f"{name} finds no device", allow_module_level=True)
    return module


def counted(count: int = 12, dtype: str = "float32", shape: tuple[int, ...] | None = None) -> via.Array:
    """0, 1, 2, ... on device 0, in memory that a raw pointer names."""
    itemsize = max(1, int(via.empty(1, dtype).itemsize))
    block = cuda_driver.Block(count * itemsize)
    host = via.empty(count, dtype)
    for i in range(count):
        host[i] = bool(i % 2) if dtype == "bool" else i % 8
    a = via.wrap(block.ptr, shape or (count,), dtype, device="cuda:0", owner=block)
    via.copy(a.reshape(count), host)
    return a


def on_host(a: via.Array) -> bytes:
    """The bytes of the elements, in row-major order."""
    host = a.copy("cpu")
    return bytes(memoryview(host.reshape(host.size).view("uint8"))) if host.size else b""


def ends(released: list[int]) -> bool:
    """Whether an owner has been notified of the end, once what other threads release has been ended."""
    import gc
    import time

    deadline = time.monotonic() + 5
    while not released and time.monotonic() < deadline:
        gc.collect()
        via.stats()
        time.sleep(0.001)
    return len(released) == 1
