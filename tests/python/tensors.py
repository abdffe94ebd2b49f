"""DLPack tensors made by hand, with every field as a test wants it, and a count of how often they were deleted."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from viaduct.conformance._abi import (
    CPU,
    IS_COPIED,
    READ_ONLY,
    DataType,
    Deleter,
    Device,
    Legacy,
    Tensor,
    Versioned,
    capsule_name,
    capsule_pointer,
    new_capsule,
)

__all__ = [
    "CPU",
    "FLOAT32",
    "IS_COPIED",
    "READ_ONLY",
    "Legacy",
    "Producer",
    "Tensor",
    "Versioned",
    "capsule_name",
    "capsule_pointer",
    "new_capsule",
    "open_capsule",
]

FLOAT32 = (2, 32, 1)

# As the context of a tensor would keep them; for good, as a deleter cannot free the code it runs in.
_KEPT: list[object] = []


class Producer:
    """Six floats by default. `deleted` counts calls of the deleter, `deleted_on` names their threads."""

    def __init__(
        self,
        shape: Sequence[int] = (2, 3),
        strides: Sequence[int] | None = (3, 1),
        dtype: tuple[int, int, int] = FLOAT32,
        *,
        byte_offset: int = 0,
        shift: int = 0,
        data: int | None = None,
        device: tuple[int, int] = (CPU, 0),
        flags: int = 0,
        version: tuple[int, int] = (1, 1),
        ndim: int | None = None,
        null_shape: bool = False,
        has_deleter: bool = True,
        legacy: bool = False,
    ) -> None:
        _KEPT.append(self)
        self.deleted = 0
        self.deleted_on: list[int] = []
        self.memory = (ctypes.c_float * 64)(*range(64))
        self._deleter = Deleter(self._delete)
        self._shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self._strides = (ctypes.c_int64 * max(1, len(strides)))(*strides) if strides is not None else None
        self.managed: Any = (Legacy if legacy else Versioned)()
        self.legacy = legacy
        if not legacy:
            self.managed.major, self.managed.minor = version
            self.managed.flags = flags
        self.managed.deleter = ctypes.cast(self._deleter, ctypes.c_void_p) if has_deleter else None
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.memory) + shift if data is None else data or None
        tensor.device = Device(*device)
        tensor.ndim = len(shape) if ndim is None else ndim
        tensor.dtype = DataType(*dtype)
        tensor.shape = None if null_shape else self._shape
        tensor.strides = self._strides
        tensor.byte_offset = byte_offset

    def _delete(self, _managed: int) -> None:
        self.deleted += 1
        self.deleted_on.append(threading.get_ident())

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)

    def capsule(self, name: bytes | None = None) -> Any:
        # A capsule keeps a pointer to its name.
        self.name = name or (b"dltensor" if self.legacy else b"dltensor_versioned")
        return new_capsule(ctypes.addressof(self.managed), self.name, None)

    def __dlpack__(self, **_keywords: object) -> Any:
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.managed.tensor.device
        return device.device_type, device.device_id


def open_capsule(capsule: Any) -> Any:
    """The struct in a capsule, which it keeps."""
    name = capsule_name(capsule)
    kind = Legacy if name == b"dltensor" else Versioned
    found = kind.from_address(capsule_pointer(capsule, name))
    found.capsule = capsule
    return found
