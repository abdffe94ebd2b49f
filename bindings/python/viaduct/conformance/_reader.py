"""The checking consumer: takes a capsule apart, and says what is wrong with it."""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any

from . import _abi
from ._memory import read
from ._producer import Producer

MOST_BYTES = 1 << 20  # that the elements of a row may span


class Broken(Exception):
    """What a library did that it must not do, in words."""


class Absent(Exception):
    """Why a row says nothing about this library."""


class Taken:
    """The tensor of a capsule, which stays unused unless it is taken with take(); `deleted` counts its deleter's calls."""

    def __init__(self, capsule: Any) -> None:
        if type(capsule) is not _abi.CapsuleType:
            raise Broken(f"__dlpack__() gave {type(capsule).__name__}, not a capsule")
        self.name = _abi.capsule_name(capsule)
        if self.name not in _abi.USED:
            raise Broken(f"__dlpack__() gave a capsule named {self.name!r}")
        self.capsule = capsule
        self.versioned = self.name == _abi.VERSIONED
        kind: Any = _abi.Versioned if self.versioned else _abi.Legacy
        self.managed = kind.from_address(_abi.capsule_pointer(capsule, self.name))
        self.tensor = self.managed.tensor
        self.flags = int(self.managed.flags) if self.versioned else 0
        self.deleted = 0

    @property
    def version(self) -> tuple[int, int]:
        return (self.managed.major, self.managed.minor) if self.versioned else (0, 0)

    @property
    def address(self) -> int:
        return (self.tensor.data or 0) + int(self.tensor.byte_offset)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape[i] for i in range(self.tensor.ndim))

    @property
    def strides(self) -> tuple[int, ...]:
        if self.tensor.strides:
            return tuple(self.tensor.strides[i] for i in range(self.tensor.ndim))
        return _abi.dense_strides(self.shape)

    @property
    def bits(self) -> int:
        return int(self.tensor.dtype.bits) * int(self.tensor.dtype.lanes)

    def elements(self) -> bytes:
        """In row-major order; narrow elements only where they are packed and adjacent."""
        return gather(self.tensor.device.device_type, self.address, self.shape, self.strides, self.bits)

    def watch(self) -> None:
        """Puts a deleter before the tensor's own that counts the calls, and passes them on."""
        if not self.managed.deleter:
            raise Absent("the tensor has no deleter")
        own = _abi.Deleter(self.managed.deleter)

        def count(managed: int) -> None:
            self.deleted += 1
            own(managed)

        self._watching = _abi.Deleter(count)
        _KEPT.append(self._watching)
        self.managed.deleter = ctypes.cast(self._watching, ctypes.c_void_p)

    def take(self) -> None:
        _abi.mark_used(self.capsule)

    def end(self) -> None:
        """Deletes a tensor that was taken."""
        _abi.call_deleter(self.managed)


_KEPT: list[object] = []


def gather(device: int, address: int, shape: tuple[int, ...], strides: tuple[int, ...], bits: int) -> bytes:
    """The bytes of elements anywhere, in row-major order."""
    if 0 in shape:
        return b""
    if bits % 8 != 0:
        return gather_packed(device, address, shape, strides, bits)
    size = bits // 8
    reach = [(extent - 1) * stride * size for extent, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(0, each) for each in reach), sum(max(0, each) for each in reach) + size
    if high - low > MOST_BYTES:
        raise Broken(f"exports strides {strides} with shape {shape}")
    whole = read(device, address + low, high - low)
    places = (
        sum(i * stride for i, stride in zip(index, strides, strict=True)) * size - low
        for index in itertools.product(*map(range, shape))
    )
    return b"".join(whole[place : place + size] for place in places)


def gather_packed(device: int, address: int, shape: tuple[int, ...], strides: tuple[int, ...], bits: int) -> bytes:
    """The same of elements narrower than a byte, which have to be adjacent."""
    if strides != _abi.dense_strides(shape):
        raise Absent("elements narrower than a byte that are not adjacent")
    return read(device, address, (math.prod(shape) * bits + 7) // 8)


def expected(producer: Producer) -> bytes:
    """The bytes of the elements that a producer exports."""
    _, bits, lanes = producer.dtype
    where = producer.memory.device[0]
    return gather(where, producer.address, producer.shape, producer.element_strides(), bits * lanes)


def export(x: Any, **keywords: Any) -> Taken:
    """x.__dlpack__() with what it knows of the newest version."""
    try:
        return Taken(x.__dlpack__(max_version=_abi.NEWEST, **keywords))
    except TypeError:
        return Taken(x.__dlpack__(**keywords))
