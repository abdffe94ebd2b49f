"""The hostile producer: a tensor with every field as a row wants it, which notes what is done with it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from . import _abi
from ._memory import Memory

FLOAT32 = (2, 32, 1)
DEFAULT_BYTES = ctypes.string_at((ctypes.c_float * 64)(*range(64)), 256)
POISON = -0x0123456789ABCDEF

# As the context of a tensor would keep them; for good, as a deleter cannot free the code that it runs in.
_KEPT: list[object] = []


class Producer:
    """Six floats by default. `deleted` counts calls of the deleter, `asked` the keywords of each __dlpack__().

    `unasked`: the form was not one that the consumer asked for, so it was not given.
    """

    def __init__(
        self,
        memory: Memory | None = None,
        shape: Sequence[int] = (2, 3),
        strides: Sequence[int] | None = (3, 1),
        dtype: tuple[int, int, int] = FLOAT32,
        *,
        legacy: bool = False,
        byte_offset: int = 0,
        shift: int = 0,
        data: int | None = None,
        device: tuple[int, int] | None = None,
        reported_device: tuple[int, int] | None = None,
        flags: int = 0,
        version: tuple[int, int] = (1, 0),
        ndim: int | None = None,
        null_shape: bool = False,
        has_deleter: bool = True,
        context: int | None = None,
        knows: Sequence[str] | None = None,
    ) -> None:
        _KEPT.append(self)
        self.memory = memory or Memory(DEFAULT_BYTES)
        self.shape, self.strides, self.dtype, self.shift = tuple(shape), strides, dtype, shift + byte_offset
        self.legacy, self.knows, self.has_deleter = legacy, knows, has_deleter
        self.deleted, self.deleted_on = 0, list[int]()
        self.asked: list[dict[str, Any]] = []
        self.unasked = False
        self.capsules: list[Any] = []
        self._deleter = _abi.Deleter(self._delete)
        self.managed: Any = (_abi.Legacy if legacy else _abi.Versioned)()
        if not legacy:
            self.managed.major, self.managed.minor = version
            self.managed.flags = flags
        self.managed.manager_ctx = context
        self.managed.deleter = ctypes.cast(self._deleter, ctypes.c_void_p) if has_deleter else None
        self.reported_device = reported_device or device or self.memory.device
        self._describe(byte_offset, shift, data, device, ndim, null_shape)

    def _describe(
        self,
        byte_offset: int,
        shift: int,
        data: int | None,
        device: tuple[int, int] | None,
        ndim: int | None,
        null_shape: bool,
    ) -> None:
        self._shape = (ctypes.c_int64 * max(1, len(self.shape)))(*self.shape)
        strides = self.strides
        self._strides = (ctypes.c_int64 * max(1, len(strides)))(*strides) if strides is not None else None
        tensor = self.managed.tensor
        tensor.data = self.memory.address + shift if data is None else data or None
        tensor.device = _abi.Device(*(device or self.memory.device))
        tensor.ndim = len(self.shape) if ndim is None else ndim
        tensor.dtype = _abi.DataType(*self.dtype)
        tensor.shape = None if null_shape else self._shape
        tensor.strides = self._strides
        tensor.byte_offset = byte_offset

    def _delete(self, _managed: int) -> None:
        """Shape and strides are gone from now on, and whoever reads them still reads nonsense."""
        self.deleted += 1
        self.deleted_on.append(threading.get_ident())
        for i in range(len(self._shape)):
            self._shape[i] = POISON
        for i in range(len(self._strides or ())):
            self._strides[i] = POISON  # type: ignore[index]

    @property
    def address(self) -> int:
        """Of the first element."""
        return self.memory.address + self.shift

    def element_strides(self) -> tuple[int, ...]:
        return tuple(self.strides) if self.strides is not None else _abi.dense_strides(self.shape)

    def capsule(self, name: bytes | None = None) -> Any:
        made = _abi.new_capsule(
            ctypes.addressof(self.managed), name or (_abi.LEGACY if self.legacy else _abi.VERSIONED), None
        )
        self.capsules.append(made)
        return made

    def is_marked(self) -> bool:
        """Whether a consumer has renamed a capsule, and so has the tensor."""
        return any(_abi.capsule_name(capsule) in _abi.USED.values() for capsule in self.capsules)

    def end_unused(self) -> None:
        """What the destructor of a capsule does: delete the tensor if nobody has taken it."""
        if not self.is_marked():
            _abi.call_deleter(self.managed)
        self.capsules.clear()

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        unknown = set(keywords) - set(self.knows if self.knows is not None else keywords)
        if unknown:
            raise TypeError(f"__dlpack__() got unexpected keyword arguments {sorted(unknown)}")
        if not self.legacy and (keywords.get("max_version") or (0, 0))[0] < 1:
            self.unasked = True
            raise BufferError("the versioned form is for consumers that ask for it")
        if keywords.get("copy"):
            self._copy()
        return self.capsule()

    def _copy(self) -> None:
        """As whoever exports has to where a copy is asked for."""
        self.copied = type(self.memory)(self.memory.content)
        self.managed.tensor.data = self.copied.address + (self.managed.tensor.data - self.memory.address)
        if not self.legacy:
            self.managed.flags |= _abi.IS_COPIED

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.reported_device
