"""DLPack's table of C functions: how it is laid out, and types of a library that there is not which have one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tensors import Versioned, new_capsule
from viaduct.conformance._abi import ExchangeTable as Table

TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
CURRENT_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))

# Tables are good for as long as the process, and so are the functions in them.
_KEPT: list[object] = []


def delete(managed: Any) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(ctypes.addressof(managed))


class Taken:
    """What a made-up library makes of a tensor: it deletes the tensor in its end."""

    __dlpack_c_exchange_api__: Any

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        delete(self.managed)


def new_kind(
    make: Callable[[Any], object | None] = Taken, stream: Callable[[int, int], int] | None = None, major: int = 1
) -> type[Any]:
    """A type whose table makes objects by make(tensor), which refuses by None, and works on stream(type, id)."""
    kind = type("Kind", (Taken,), {})

    def to_object(address: int, out: Any) -> int:
        made = make(Versioned.from_address(address))
        if made is None:
            return -1
        if isinstance(made, Taken):
            made.__class__ = kind
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        out[0] = id(made)
        return 0

    def current_stream(device_type: int, device_id: int, out: Any) -> int:
        assert stream is not None
        out[0] = stream(device_type, device_id)
        return 0

    functions = (TO_OBJECT(to_object), CURRENT_STREAM(current_stream))
    table = Table(major=major, minor=3)
    table.to_object = ctypes.cast(functions[0], ctypes.c_void_p)
    table.current_stream = ctypes.cast(functions[1], ctypes.c_void_p) if stream is not None else None
    _KEPT.append((functions, table))
    kind.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)
    return kind
