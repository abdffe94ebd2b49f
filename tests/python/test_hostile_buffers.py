"""Buffers that no well-meaning exporter would give: each is refused by name, or read no further than it reaches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import viaduct as via
from peers import numbers
from test_buffer import Buffer

GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)
GIVE_BACK = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(Buffer))


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(Slot)),
    ]


class Exporter:
    """Twelve float32 as a buffer of one axis, but for the fields that are changed. `object` is what exports it."""

    def __init__(self, **changes: Any) -> None:
        self.values = numbers(12)
        self.given_back = 0
        self.changes = changes
        self.functions = GET(self.get), GIVE_BACK(self.give_back)
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in self.functions]
        self.slots = (Slot * 3)(Slot(1, addresses[0]), Slot(2, addresses[1]), Slot(0, None))  # Py_bf_getbuffer, ...
        spec = Spec(b"hostile.Exporter", 0, 0, 0, self.slots)
        make: Any = ctypes.pythonapi.PyType_FromSpec
        make.restype = ctypes.py_object
        self.object = make(ctypes.byref(spec))()

    def get(self, exporter: object, view: Any, _flags: int) -> int:
        shape, strides = (ctypes.c_ssize_t * 65)(12), (ctypes.c_ssize_t * 65)(4)
        usual: dict[str, Any] = {
            "len": 48,
            "itemsize": 4,
            "readonly": 0,
            "ndim": 1,
            "format": b"f",
            "shape": shape,
            "strides": strides,
        }
        fields = {"buf": ctypes.addressof(self.values), "suboffsets": None, "internal": None} | usual | self.changes
        for name, value in fields.items():
            is_pointer = name in ("shape", "strides") and value is not None
            setattr(view.contents, name, ctypes.cast(value, ctypes.POINTER(ctypes.c_ssize_t)) if is_pointer else value)
        view.contents.obj = exporter
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(exporter))  # the view's own
        self.kept = fields
        return 0

    def give_back(self, _exporter: object, _view: Any) -> None:
        self.given_back += 1


def sizes(*values: int) -> Any:
    return (ctypes.c_ssize_t * len(values))(*values)


def test_what_nobody_changed_is_taken() -> None:
    exporter = Exporter()
    a = via.asarray(exporter.object)
    assert a.ptr == ctypes.addressof(exporter.values) and a.tolist() == list(range(12))
    assert exporter.given_back == 0
    del a
    assert exporter.given_back == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"suboffsets": ctypes.addressof(numbers(1, ctypes.c_ssize_t))}, "suboffsets"),
        ({"buf": None}, "NULL"),
        ({"shape": None}, "shape is NULL"),
        ({"shape": sizes(-12)}, r"shape\[0\] is -12"),
        ({"shape": sizes(1 << 62)}, "overflow|fit|large|address space"),
        ({"strides": sizes(1 << 62)}, "overflow|fit|large|address space"),
        ({"strides": sizes(-(1 << 63))}, "overflow|fit|large|address space"),
        ({"ndim": -1}, "ndim is -1"),
        ({"ndim": 65}, "ndim is 65"),
        ({"format": b">f"}, ">f"),
        ({"format": b"!d", "itemsize": 8}, "!d"),
        ({"format": b"f", "itemsize": 3}, "format"),
        ({"format": b"f", "itemsize": 36}, "format"),  # in a byte of bits, and one of lanes, that is float32 twice
        ({"format": b"f", "itemsize": -1}, "format"),
        ({"format": b"f", "itemsize": (1 << 61) + 4}, "format"),
        ({"format": b"B", "itemsize": 0}, "format"),
        ({"format": b"B", "itemsize": -4}, "format"),
        ({"format": b"B", "itemsize": 1 << 40}, "format"),
        ({"format": b"B", "itemsize": 5}, "of 48 bytes"),
        ({"format": None, "itemsize": 0}, "format"),
        ({"format": None, "itemsize": -4}, "format"),
        ({"format": b"12x", "itemsize": 0}, "format"),
        ({"format": b"12x", "itemsize": 1 << 40}, "format"),
        ({"format": b"", "itemsize": 4}, "format"),
        ({"format": b"T{O:a:}", "itemsize": 8}, "format"),
        ({"format": b"g", "itemsize": 16}, '"g"'),
        ({"format": b"\xff", "itemsize": 4}, "format"),
        ({"format": b"f", "itemsize": 8, "shape": sizes(6), "strides": sizes(8)}, 'format "f"'),
        ({"format": b"d"}, 'format "d"'),
        ({"format": b"e"}, 'format "e"'),
        ({"format": b"?"}, "format"),
        ({"format": b"b"}, 'format "b"'),
        ({"format": b"h"}, 'format "h"'),
        ({"format": b"i", "itemsize": 8, "shape": sizes(6), "strides": sizes(8)}, 'format "i"'),
        ({"format": b"q"}, 'format "q"'),
        ({"format": b"l", "itemsize": 2}, 'format "l"'),
        ({"format": b"Zf"}, 'format "Zf"'),
        ({"format": b"Zd", "itemsize": 8, "shape": sizes(6), "strides": sizes(8)}, 'format "Zd"'),
        ({"format": b"Zg", "itemsize": 32, "shape": sizes(1), "strides": sizes(32)}, 'format "Zg"'),
    ],
    ids=lambda given: " and ".join(given) if isinstance(given, dict) else "",
)
def test_a_hostile_buffer_is_refused_by_name_and_given_back_once(changes: dict[str, Any], words: str) -> None:
    exporter = Exporter(**changes)
    with pytest.raises(BufferError, match=words):
        via.asarray(exporter.object)
    assert exporter.given_back == 1


def backwards(exporter: Exporter) -> dict[str, Any]:
    return {"buf": ctypes.addressof(exporter.values) + 44, "strides": sizes(-4)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (backwards, list(range(11, -1, -1))),
        (lambda _: {"strides": None}, list(range(12))),
        (lambda _: {"strides": sizes(0)}, [0] * 12),
        (lambda _: {"ndim": 0, "shape": None, "strides": None}, 0.0),
        (lambda _: {"shape": sizes(0), "buf": None}, []),
        (lambda _: {"ndim": 2, "shape": sizes(2, 3), "strides": sizes(24, 8)}, [[0, 2, 4], [6, 8, 10]]),
    ],
    ids=["backwards", "no strides", "repeated", "no axes", "nothing", "two axes"],
)
def test_a_rare_buffer_is_taken_as_it_says(change: Callable[[Exporter], dict[str, Any]], expected: Any) -> None:
    exporter = Exporter()
    exporter.changes = change(exporter)
    assert via.asarray(exporter.object).tolist() == expected
    assert exporter.given_back == 1


def test_items_without_a_format_are_bytes_as_many_as_each_has() -> None:
    exporter = Exporter(format=None)
    a = via.asarray(exporter.object)
    assert (a.dtype_name, a.shape, a.nbytes) == ("record4", (12,), 48)
    assert a.view("float32").tolist() == list(range(12))
    assert (
        via.asarray(Exporter(format=None, itemsize=1, shape=sizes(48), strides=sizes(1)).object).dtype_name == "uint8"
    )


def test_read_only_stays_read_only() -> None:
    assert via.asarray(Exporter(readonly=1).object).readonly


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("tag", ctypes.c_uint8), ("value", ctypes.c_double)]


class Either(ctypes.Union):
    _fields_ = [("number", ctypes.c_int32), ("bytes", ctypes.c_uint8 * 4)]


@pytest.mark.parametrize("kind", [Packed, Either])
def test_items_that_ctypes_has_no_format_for_are_records(kind: Any) -> None:
    nbytes = ctypes.sizeof(kind)
    items = (kind * 3).from_buffer_copy(bytes(range(3 * nbytes)))
    assert memoryview(items).format == "B"
    a = via.asarray(items)
    assert (a.dtype_name, a.shape, a.ptr) == (f"record{nbytes}", (3,), ctypes.addressof(items))
    assert bytes(memoryview(a.view("uint8"))) == bytes(items)
    assert via.asarray(items[0]).dtype_name == f"record{nbytes}"
