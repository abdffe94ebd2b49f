"""DLPack's structs and Python's capsules, by ctypes."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY, IS_COPIED, SUBBYTE_PADDED = 1, 2, 4
KNOWN_FLAGS = READ_ONLY | IS_COPIED | SUBBYTE_PADDED
NEWEST = (1, 3)

VERSIONED, LEGACY = b"dltensor_versioned", b"dltensor"


class Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ExchangeTable(ctypes.Structure):
    """DLPackExchangeAPI of 1.3: its header, and its functions as addresses."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

new_capsule: Any = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name: Any = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = [ctypes.py_object]
capsule_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
rename_capsule: Any = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.restype = ctypes.c_int
rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]

CapsuleType = type(new_capsule(1, b"a name", None))

USED = {VERSIONED: b"used_dltensor_versioned", LEGACY: b"used_dltensor"}


def mark_used(capsule: Any) -> None:
    """As a consumer does that has taken the tensor. The names live as long as the process."""
    rename_capsule(capsule, USED[capsule_name(capsule)])


def call_deleter(managed: Any) -> None:
    """With the GIL given up, as a consumer in C may."""
    if managed.deleter:
        Deleter(managed.deleter)(ctypes.addressof(managed))


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """What NULL strides mean: row-major."""
    sizes = itertools.accumulate(reversed(shape[1:]), lambda size, extent: size * extent, initial=1)
    return tuple(list(sizes)[::-1][: len(shape)])
