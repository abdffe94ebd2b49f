"""The table of C functions on the type, called as an extension written in C calls it."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer
from tables import Table
from tensors import IS_COPIED, READ_ONLY, Producer, Tensor, Versioned, capsule_pointer

SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


@pytest.fixture
def table() -> Table:
    return Table.from_address(capsule_pointer(via.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def from_object(table: Table, a: via.Array) -> Any:
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(table.from_object)
    out = ctypes.c_void_p()
    status = function(a, ctypes.byref(out))
    assert status == 0 and out.value
    return Versioned.from_address(out.value)


def delete(managed: Any) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(ctypes.addressof(managed))


def to_object(table: Table, managed: Any) -> Any:
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))(table.to_object)
    out = ctypes.py_object()
    function(ctypes.addressof(managed), ctypes.byref(out))
    found = out.value
    ctypes.pythonapi.Py_DecRef(out)  # the reference that the function gave; `found` has its own
    return found


def borrow(table: Table, a: via.Array) -> Tensor:
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))(table.borrow)
    out = Tensor()
    function(a, ctypes.byref(out))
    return out


def test_the_table_is_complete_and_says_its_version(table: Table) -> None:
    assert table.major == 1 and table.minor >= 2
    assert table.previous is None
    assert all([table.allocate, table.from_object, table.to_object, table.borrow, table.current_stream])


@pytest.mark.parametrize("device", [(1, 7), (4, 0), (7, 0), (10, 0), (14, 0), (99, 0), (-1, 0)])
def test_no_memory_is_allocated_on_devices_of_others(table: Table, device: tuple[int, int]) -> None:
    function = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SET_ERROR
    )(table.allocate)
    said: list[bytes] = []
    report = SET_ERROR(lambda context, kind, text: said.append(kind + b": " + text))
    prototype, out, shape = Tensor(), ctypes.c_void_p(), (ctypes.c_int64 * 1)(4)
    prototype.device.device_type, prototype.device.device_id = device
    prototype.ndim, prototype.shape = 1, shape
    prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = 2, 32, 1
    assert function(ctypes.byref(prototype), ctypes.byref(out), None, report) == -1 and not out.value
    assert said[0].startswith(f"RuntimeError: device is type {device[0]}, number {device[1]}; expected".encode())


def test_it_belongs_to_the_type() -> None:
    assert "__dlpack_c_exchange_api__" in vars(via.Array)


def test_a_tensor_goes_out_and_comes_back(table: Table) -> None:
    a = grid()
    managed = from_object(table, a)
    assert managed.tensor.data == a.ptr
    back = to_object(table, managed)
    assert isinstance(back, via.Array) and back.ptr == a.ptr


def test_what_goes_out_holds_the_array(table: Table) -> None:
    a = grid()
    managed = from_object(table, a)
    del a
    assert via.stats()["outstanding_exports"] == 1
    delete(managed)
    assert via.stats()["outstanding_exports"] == 0


def test_flags_go_out(table: Table) -> None:
    managed = from_object(table, grid().as_readonly())
    assert managed.flags == READ_ONLY
    delete(managed)


def test_a_borrowed_tensor_points_into_the_array(table: Table) -> None:
    a = grid()[1:, ::2]
    tensor = borrow(table, a)
    assert tensor.data == a.ptr
    assert (tensor.ndim, tensor.shape[0], tensor.shape[1]) == (2, 2, 2)
    assert (tensor.strides[0], tensor.strides[1]) == (4, 2)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (2, 32, 1)
    assert via.stats()["outstanding_exports"] == 0


def test_what_a_bare_tensor_cannot_say_is_refused(table: Table) -> None:
    values = numbers(12)
    address = ctypes.addressof(values)
    for a, word in [
        (grid().as_readonly(), "read-only"),
        (via.wrap(address, 4, "record12", owner=values), "record"),
        (via.wrap(address, 3, "complex64", strides=12, owner=values), "whole elements"),
    ]:
        with pytest.raises(BufferError, match=word):
            borrow(table, a)


def test_records_are_refused_as_buffers(table: Table) -> None:
    values = numbers(12)
    with pytest.raises(BufferError, match="record"):
        from_object(table, via.wrap(ctypes.addressof(values), 4, "record12", owner=values))


def test_a_tensor_that_is_refused_is_deleted_since_it_was_stolen(table: Table) -> None:
    producer = Producer(version=(2, 0))
    with pytest.raises(BufferError):
        to_object(table, producer.managed)
    assert producer.deleted == 1


def test_a_tensor_is_made_like_its_prototype(table: Table) -> None:
    allocate = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SET_ERROR
    )(table.allocate)
    errors: list[tuple[bytes, bytes]] = []
    set_error = SET_ERROR(lambda _context, kind, message: errors.append((kind, message)))
    out = ctypes.c_void_p()
    prototype = Producer().managed.tensor
    assert allocate(ctypes.byref(prototype), ctypes.byref(out), None, set_error) == 0 and out.value
    managed = Versioned.from_address(out.value)
    assert (managed.tensor.shape[0], managed.tensor.shape[1]) == (2, 3)
    assert not managed.flags & IS_COPIED
    delete(managed)

    prototype.dtype.code = 99
    assert allocate(ctypes.byref(prototype), ctypes.byref(out), None, set_error) == -1
    assert errors[0][0] == b"TypeError" and b"99" in errors[0][1]
    prototype.dtype.code = 2
    prototype.device.device_type = 2
    assert allocate(ctypes.byref(prototype), ctypes.byref(out), None, set_error) == -1
    assert errors[1][0] == b"NotImplementedError"
    prototype.device.device_type = 1
    prototype.dtype.lanes = 65535
    assert allocate(ctypes.byref(prototype), ctypes.byref(out), None, set_error) == -1
    assert errors[2] == (b"TypeError", b"dtype.lanes is 65535; expected 1 to 32767")


def test_the_current_stream_of_host_memory_is_none(table: Table) -> None:
    current = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(
        table.current_stream
    )
    out = ctypes.c_void_p(7)
    assert current(1, 0, ctypes.byref(out)) == 0 and out.value is None


def test_asarray_takes_tensors_by_the_table() -> None:
    torch = peer("torch")
    tensor = torch.arange(4)
    assert via.asarray(tensor).ptr == tensor.data_ptr()


def test_tvm_ffi_takes_arrays_as_arguments_by_the_table() -> None:
    tvm_ffi = peer("tvm_ffi")
    echo = tvm_ffi.convert(lambda x: x)
    a = grid()
    back = echo(a)
    assert back.shape == (3, 4)
    assert via.from_dlpack(back).ptr == a.ptr
