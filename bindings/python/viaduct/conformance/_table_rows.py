"""The table of C functions that a type may have, `__dlpack_c_exchange_api__`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _abi
from ._peers import Peer
from ._producer import Producer
from ._reader import Absent, Broken, Taken, export
from ._rows import Rows, SameRun, raised_by, settles

ROWS = Rows()
NAME = b"dlpack_exchange_api"
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_abi.Tensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


def row(name: str, device: str = "") -> Callable[[SameRun], SameRun]:
    return ROWS.row(f"has a table {name}", device)


def table_of(x: Any) -> Any:
    capsule = getattr(type(x), "__dlpack_c_exchange_api__", None)
    if capsule is None:
        raise Absent("its type has no __dlpack_c_exchange_api__")
    if type(capsule) is not _abi.CapsuleType or _abi.capsule_name(capsule) != NAME:
        raise Broken(f"found {capsule!r}, not a capsule named {NAME.decode()}")
    return _abi.ExchangeTable.from_address(_abi.capsule_pointer(capsule, NAME))


def export_by_table(x: Any) -> Any:
    """The tensor that the table makes of an array; whoever asks deletes it."""
    out = ctypes.c_void_p()
    if FROM_OBJECT(table_of(x).from_object)(x, ctypes.byref(out)) != 0 or not out.value:
        raise Broken("managed_tensor_from_py_object_no_sync failed")
    return _abi.Versioned.from_address(out.value)


def import_of(x: Any, producer: Producer) -> tuple[int, Any]:
    """The status of handing a tensor over, which steals it, and the object made of it."""
    out = ctypes.c_void_p()
    status = TO_OBJECT(table_of(x).to_object)(ctypes.addressof(producer.managed), ctypes.byref(out))
    if status != 0 or not out.value:
        return status or -1, None
    made = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    return 0, made


@row("of version 1, with every function")
def _is_complete(peer: Peer) -> None:
    table = table_of(peer.make())
    if table.major != 1:
        raise Broken(f"its version is {table.major}.{table.minor}")
    needed = ("allocate", "from_object", "to_object", "current_stream")
    if missing := [name for name in needed if not getattr(table, name)]:
        raise Broken(f"without {', '.join(missing)}")


@row("that exports what __dlpack__() exports")
def _exports_the_same(peer: Peer) -> None:
    x = peer.make()
    managed = export_by_table(x)
    if managed.tensor.data + managed.tensor.byte_offset != export(x).address:
        raise Broken("exports other memory")
    if managed.major != 1 or managed.flags & ~_abi.KNOWN_FLAGS:
        raise Broken(f"exports version {managed.major}.{managed.minor} with flags {managed.flags:#x}")
    _abi.call_deleter(managed)


@row("that borrows what __dlpack__() exports")
def _borrows_the_same(peer: Peer) -> None:
    x = peer.make()
    table, tensor = table_of(x), _abi.Tensor()
    if not table.borrow:
        raise Absent("its table borrows nothing")
    if BORROW(table.borrow)(x, ctypes.byref(tensor)) != 0:
        raise Broken("dltensor_from_py_object_no_sync failed")
    if tensor.data + tensor.byte_offset != export(x).address:
        raise Broken("borrows other memory")


@row("that imports tensors, and releases them once")
def _takes(peer: Peer) -> None:
    producer = Producer(peer.memory(), (3,), (1,))
    status, made = import_of(peer.make(), producer)
    if status != 0:
        raise Broken("managed_tensor_to_py_object_no_sync failed")
    if export(made).address != producer.address:
        raise Broken("made an object of other memory")
    del made
    if not settles(lambda: producer.deleted == 1):
        raise Broken(f"the deleter was called {producer.deleted} times")


@row("that refuses a newer major version, and says so")
def _refuses(peer: Peer) -> None:
    producer = Producer(peer.memory(), (3,), (1,), version=(2, 0))
    made: list[Any] = []
    error = raised_by(lambda: made.append(import_of(peer.make(), producer)))
    if error is None:
        raise Broken("took it" if made[0][0] == 0 else "failed without an exception")
    if producer.deleted > 1:
        raise Broken(f"the deleter was called {producer.deleted} times")


@row("that knows no stream of the CPU")
def _has_no_stream_of_the_host(peer: Peer) -> None:
    table, out = table_of(peer.make()), ctypes.c_void_p()
    if not table.current_stream:
        raise Absent("its table knows no streams")
    error = raised_by(lambda: STREAM(table.current_stream)(_abi.CPU, 0, ctypes.byref(out)))
    if error is None and out.value:
        raise Broken(f"gave stream {out.value:#x}")


@row("whose tensors outlive the array")
def _exports_hold(peer: Peer) -> None:
    x = peer.make()
    managed = export_by_table(x)
    wanted = export(x).elements()
    del x
    capsule = _abi.new_capsule(ctypes.addressof(managed), _abi.VERSIONED, None)
    if Taken(capsule).elements() != wanted:
        raise Broken("the memory changed when the array was gone")
    _abi.call_deleter(managed)
