"""GGUF files made by hand, right and wrong ones."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

TYPES = {"float32": 0, "float16": 1, "int8": 24, "int16": 25, "int32": 26, "int64": 27, "float64": 28}
# The type, the elements and the bytes of a block.
BLOCKS = {"Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "MXFP4": (39, 32, 17)}
UINT32, FLOAT32, BOOL, STRING, ARRAY, INT64 = 4, 6, 7, 8, 9, 11


def text(value: str | bytes) -> bytes:
    given = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(given)) + given


def value(kind: int, given: Any) -> bytes:
    """A value of metadata with its type."""
    if kind == STRING:
        return struct.pack("<I", kind) + text(given)
    return struct.pack("<I" + {UINT32: "I", FLOAT32: "f", BOOL: "B", INT64: "q"}[kind], kind, given)


def texts(*given: str) -> bytes:
    return struct.pack("<IIQ", ARRAY, STRING, len(given)) + b"".join(text(each) for each in given)


def entry(name: str | bytes, dims: list[int], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def whole(
    entries: list[bytes], data: bytes, metadata: dict[str, bytes] | None = None, *, version: int = 3, align: int = 32
) -> bytes:
    """A file of entries, metadata and data, which begin at a multiple of `align`."""
    given = metadata or {}
    head = b"GGUF" + struct.pack("<IQQ", version, len(entries), len(given))
    head += b"".join(text(name) + each for name, each in given.items()) + b"".join(entries)
    return head + bytes(-len(head) % align) + data


def of_arrays(
    arrays: dict[str, np.ndarray[Any, Any]], metadata: dict[str, bytes] | None = None, *, align: int = 32, **more: int
) -> bytes:
    """A file of plain arrays, and of blocks: uint8 arrays whose names begin with that of their type and a colon."""
    entries, data = [], b""
    for name, array in arrays.items():
        data += bytes(-len(data) % align)
        dims = list(array.shape[::-1])
        block = BLOCKS.get(name.partition(":")[0])
        kind = TYPES[array.dtype.name] if block is None else block[0]
        if block is not None:
            dims[0] = dims[0] // block[2] * block[1]
        entries.append(entry(name, dims, kind, len(data)))
        data += array.tobytes()
    given = {"general.alignment": value(UINT32, align)} if align != 32 else {}
    return whole(entries, data, {**given, **(metadata or {})}, align=align, **more)
