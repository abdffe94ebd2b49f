"""Pickles arrays: out of band with protocol 5, so that Dask and Ray send the bytes without a copy.

Without buffers, as in multiprocessing, the pickle holds a copy of the bytes. Shared memory goes through multiprocessing
by its description instead: see below.

Host memory, including pinned and managed memory, is restored as host memory on the unpickler's buffer. Within a process
that is the memory itself. Dense arrays keep the order of their axes; others become a row-major copy. A misaligned
buffer, such as a part of a larger message, is copied once more, since most consumers would refuse the array. An array
on a CUDA device goes through host memory, after its pending work, to the device of the same number; without that
device, unpickling raises DeviceError.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from ._extension import raw

Reduced: TypeAlias = tuple[Callable[..., raw.Array], tuple[Any, ...]]


def reduce(array: raw.Array, protocol: int) -> Reduced:
    """Implements __reduce_ex__."""
    if raw.via_array_flags(array) & raw.VIA_ARRAY_SUBBYTE_PADDED:
        raise raw.UnsupportedError(f"pickle: the elements of {array.dtype_name} have a byte each; expected packed ones")
    axes = axes_as_they_lie(array)
    transposed = array.transpose(axes)
    on_device = array.device if array.device.startswith("cuda:") else None
    content: Any = None
    if array.size > 0:
        is_row_major = transposed.c_contiguous and on_device is None
        flat = bytes_of(transposed if is_row_major else transposed.copy(device="cpu"))
        content = pickle.PickleBuffer(flat) if protocol >= 5 else in_band(flat)
    return restore, (content, array.dtype_name, transposed.shape, axes, array.readonly, on_device)


def bytes_of(array: raw.Array) -> raw.Array:
    """Returns the bytes of a row-major array. Copies if the elements end within a byte, and clears the rest of it."""
    flat = array.reshape(array.size)
    if flat.size * raw.via_dtype_bits(raw.via_array_dtype(flat)) % 8 == 0:
        return flat.view("uint8")
    whole = raw.empty(flat.nbytes, "uint8")
    whole.fill(0)
    raw.copy(on_bytes(whole, flat.dtype_name, flat.shape), flat)
    return whole.as_readonly() if flat.readonly else whole


def on_bytes(whole: raw.Array, dtype: str, shape: tuple[int, ...]) -> raw.Array:
    """Returns the array whose elements are exactly those bytes."""
    array = raw.wrap(whole.ptr, shape, dtype, owner=whole, readonly=whole.readonly, nbytes=whole.nbytes)
    if array.nbytes != whole.nbytes:
        raise raw.ShapeError(f"Array: the pickle has {whole.nbytes} bytes; expected {array.nbytes} of {shape} {dtype}")
    return array


def in_band(flat: raw.Array) -> bytes | bytearray:
    """Returns writable bytes for a writable array, as pickle with protocol 5 does."""
    return bytes(memoryview(flat)) if flat.readonly else bytearray(memoryview(flat))


def axes_as_they_lie(array: raw.Array) -> tuple[int, ...]:
    """Returns the axes of a dense array by falling steps, which is row-major; other arrays keep their axes."""
    axes = tuple(range(array.ndim))
    steps = array.strides or array.element_strides or ()
    return tuple(sorted(axes, key=lambda axis: -steps[axis])) if array.contiguous else axes


def restore(
    content: Any, dtype: str, shape: tuple[int, ...], axes: tuple[int, ...], readonly: bool, device: str | None
) -> raw.Array:
    """Returns the array on those bytes; read-only if they are."""
    if content is None:
        dense = raw.empty(shape, dtype, device=device or "cpu")
    else:
        dense = on_bytes(raw.asarray(memoryview(content).cast("B")), dtype, shape)
        readonly |= dense.readonly and device is None
        if device or not dense.aligned:
            dense = dense.copy(device=device)
    array = dense.transpose([axes.index(axis) for axis in range(len(axes))])
    return array.as_readonly() if readonly else array


# --------------------------------------------------------------------------------------------- multiprocessing
#
# Its pickles go to a process that is there: an array of memory="shared" travels as its description, and is the same
# memory there. A description is good only while its sender holds the memory. So the sender keeps the array until the
# receiver says that it has opened it, through the thread by which multiprocessing hands over descriptors.


def share_with_multiprocessing() -> None:
    """Registers with multiprocessing, when the first shared memory is made or imported: only then is its import worth
    it."""
    with suppress(ImportError):
        importlib.import_module("multiprocessing.reduction").ForkingPickler.register(raw.Array, reduce_for_process)


def reduce_for_process(array: raw.Array) -> Reduced:
    """Implements ForkingPickler, which does not report its protocol: bytes are pickled so that every protocol accepts
    them."""
    description = description_of(array)
    return reduce(array, 4) if description is None else (open_shared, (description, keep_until_opened(array)))


def description_of(array: raw.Array) -> bytes | None:
    """Returns the description of an array in shared memory, otherwise None. Device memory goes through the host, since
    not every process can import it."""
    if array.device != "cpu":
        return None
    try:
        return array.export_ipc()
    except raw.UnsupportedError:
        return None


def keep_until_opened(array: raw.Array) -> tuple[Any, int]:
    """Returns an address at which the receiver reports that it has opened the array, which is held until then."""
    held = [array]
    where: tuple[Any, int] = descriptor_thread().register(lambda _connection, _process: None, held.clear)
    return where


def open_shared(description: bytes, where: tuple[Any, int]) -> raw.Array:
    """Imports the array. Raises ExchangeError if the sender has ended."""
    array = raw.import_ipc(description)
    with suppress(OSError, EOFError, importlib.import_module("multiprocessing").AuthenticationError):
        descriptor_thread().get_connection(where).close()
    return array


def descriptor_thread() -> Any:
    """Returns the thread of multiprocessing that passes descriptors, started by the first registration."""
    return importlib.import_module("multiprocessing.resource_sharer")._resource_sharer
