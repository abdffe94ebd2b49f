"""The buffer protocol: what memoryview, ctypes, sockets and files take, both ways."""

from __future__ import annotations

import array
import ctypes
import hashlib
import io
import struct
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer

SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 1, 4, 8, 0x18
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x38, 0x58, 0x98


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


def ask(a: via.Array, flags: int) -> Any:
    """What a consumer that asks for `flags` is given: a copy of the struct, already released."""
    buffer = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(a), ctypes.byref(buffer), flags)
    seen = (buffer.buf, bool(buffer.format), bool(buffer.shape), bool(buffer.strides), buffer.readonly)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return seen


def test_a_consumer_is_given_what_it_asked_for_and_no_more() -> None:
    a = grid()
    assert ask(a, SIMPLE) == (a.ptr, False, False, False, 0)
    assert ask(a, ND) == (a.ptr, False, True, False, 0)
    assert ask(a, STRIDES | FORMAT) == (a.ptr, True, True, True, 0)
    assert ask(a, C_CONTIGUOUS) == (a.ptr, False, True, True, 0)
    assert ask(a, ANY_CONTIGUOUS) == (a.ptr, False, True, True, 0)
    assert ask(a.T, F_CONTIGUOUS) == (a.ptr, False, True, True, 0)


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (SIMPLE, "without strides"),
        (ND, "without strides"),
        (C_CONTIGUOUS, "row-major"),
        (F_CONTIGUOUS, "column-major"),
        (ANY_CONTIGUOUS, "contiguous"),
    ],
)
def test_strided_memory_is_not_passed_off_as_dense(flags: int, word: str) -> None:
    with pytest.raises(BufferError, match=word):
        ask(grid()[:, ::2], flags)


def test_read_only_memory_is_not_exported_for_writing() -> None:
    a = grid().as_readonly()
    assert ask(a, STRIDES)[-1] == 1
    with pytest.raises(BufferError, match="read-only"):
        ask(a, WRITABLE)
    with pytest.raises(TypeError):
        io.BytesIO(bytes(48)).readinto(a)  # type: ignore[arg-type]


def test_an_array_is_a_buffer_to_who_asks_by_type() -> None:
    a = grid()
    view = a.__buffer__(STRIDES | FORMAT)
    assert view.tolist() == a.tolist()
    a.__release_buffer__(view)
    with pytest.raises(ValueError, match="released"):
        view.tolist()
    with pytest.raises(BufferError, match="read-only"):
        a.as_readonly().__buffer__(WRITABLE)


FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "l", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "L", "float16": "e", "float32": "f", "float64": "d", "complex64": "Zf", "complex128": "Zd",
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_says_the_dtype(name: str) -> None:
    a = via.empty((2, 3), name)
    view = memoryview(a)
    assert view.format == FORMATS[name]
    assert view.itemsize == a.itemsize and view.nbytes == a.nbytes
    assert view.shape == (2, 3) and view.strides == a.strides
    assert via.asarray(view).dtype_name == name


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "complex32", "int4", "float4_e2m1fn", "float32x4"])
def test_what_has_no_format_is_refused_with_a_way_out(name: str) -> None:
    a = via.empty((2, 4), name)
    with pytest.raises(BufferError, match=f"{name}.*DLPack"):
        memoryview(a)


def test_a_record_is_exported_as_bytes_of_its_size() -> None:
    values = numbers(12)
    a = via.wrap(ctypes.addressof(values), 4, "record12", owner=values)
    view = memoryview(a)
    assert (view.format, view.itemsize, view.shape) == ("T{12x:bytes:}", 12, (4,))
    assert view.cast("B").tobytes() == bytes(values)
    assert via.asarray(view).dtype_name == "record12"


@pytest.mark.parametrize("size", [1, 3, 8, 12, 1000])
def test_numpy_copies_a_record_whole(size: int) -> None:
    numpy = peer("numpy")
    room = bytes(i % 251 for i in range(6 * size - 2)) + b"\0\0"
    a = via.asarray(bytearray(room)).view(f"record{size}")
    strided = a.reshape(3, 2)[::-1, 1]
    for made in (numpy.array(a), numpy.asarray(a).copy(), numpy.ascontiguousarray(a), numpy.concatenate([a])):
        assert made.dtype.itemsize == size and made.tobytes() == room
        assert made[-1].tobytes() == room[-size:]
    assert numpy.array(a, dtype=f"V{size}").tobytes() == room
    assert numpy.array(strided).tobytes() == b"".join(room[i * size :][:size] for i in (5, 3, 1))
    assert a.numpy().dtype == numpy.dtype(f"V{size}") and a.numpy().tobytes() == room
    saved = io.BytesIO()
    numpy.save(saved, numpy.asarray(a))
    assert saved.getvalue().endswith(room)


def test_buffers_of_records_are_equal_only_if_their_bytes_are() -> None:
    """Of padding alone, which the struct module reads as nothing, all are equal."""
    a, b = via.empty(2, "record4"), via.empty(2, "record4")
    a.fill(b"abcd")
    b.fill(b"efgh")
    assert memoryview(a) != memoryview(b)


def test_bytes_go_to_files_and_come_from_files() -> None:
    a = grid()
    stream = io.BytesIO()
    stream.write(a)  # type: ignore[arg-type]
    assert stream.getvalue() == bytes(a.owner)
    b = via.empty((3, 4), "float32")
    stream.seek(0)
    assert stream.readinto(b) == 48  # type: ignore[arg-type]
    assert b.tolist() == a.tolist()


@pytest.mark.parametrize("shape", [(), (8,), (4, 2), (2, 2, 2)])
def test_bytes_are_hashed_whatever_the_axes(shape: tuple[int, ...]) -> None:
    a = via.empty(shape, "float32")
    a.fill(1.5)
    assert hashlib.sha256(a).digest() == hashlib.sha256(bytes(a)).digest()
    assert hashlib.blake2b(a).digest() == hashlib.blake2b(bytes(a)).digest()


def test_struct_packs_into_an_array() -> None:
    a = via.empty((8,), "uint8")
    struct.pack_into("<2f", a, 0, 1.5, 2.5)
    assert a.view("float32").tolist() == [1.5, 2.5]


def test_values_of_strided_views_are_read() -> None:
    assert memoryview(grid()[::-1, ::2]).tolist() == [[8, 10], [4, 6], [0, 2]]
    assert memoryview(grid()[1, 2]).tolist() == 6


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_every_code_of_array_comes_in(code: str) -> None:
    made = array.array(code, [1, 2, 3])
    a = via.asarray(made)
    assert a.itemsize == made.itemsize
    assert a.tolist() == [1, 2, 3]


def test_structures_of_ctypes_come_in_as_records() -> None:
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_double)]

    points = (Point * 3)(Point(1, 2), Point(3, 4), Point(5, 6))
    a = via.asarray(points)
    assert a.dtype_name == "record16" and a.shape == (3,)
    assert a.field(Point.y.offset, "float64").tolist() == [2, 4, 6]
    a.field(Point.x.offset, "float32").fill(9)
    assert points[2].x == 9


def test_structured_arrays_of_numpy_come_in_as_records() -> None:
    numpy = peer("numpy")
    made = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    a = via.asarray(made)
    assert a.ptr == made.ctypes.data and a.dtype_name == "record12"
    assert a.field(4, "float64").tolist() == [2.5, 4.5]


def test_foreign_byte_order_is_refused() -> None:
    numpy = peer("numpy")
    with pytest.raises(BufferError, match=r">"):
        via.asarray(numpy.arange(3, dtype=">i4"))


def test_python_objects_are_refused() -> None:
    numpy = peer("numpy")
    for made in (numpy.array([object()]), numpy.array([(1, None)], dtype=[("a", "i4"), ("b", "O")])):
        with pytest.raises(BufferError, match="could not be imported"):
            via.asarray(made)


def test_texts_are_refused() -> None:
    with pytest.raises(BufferError, match="format"):
        via.asarray(array.array("u", "abc"))


def test_a_closed_memoryview_is_refused() -> None:
    view = memoryview(bytearray(4))
    view.release()
    with pytest.raises(via.Error, match="released"):
        via.asarray(view)


def test_the_buffer_is_released_with_the_last_view() -> None:
    made = bytearray(16)
    a = via.asarray(made).view("float32")
    row = a[1:]
    del a
    with pytest.raises(BufferError):
        made.clear()
    del row
    made.clear()
