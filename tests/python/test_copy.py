"""Copies, fills and assignments write what NumPy writes, and refuse what cannot be right."""

from __future__ import annotations

import ctypes
import random
import threading
import time
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer

NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def random_view(chance: random.Random, n: Any) -> Any:
    """A view of a NumPy array: sliced, reversed, permuted."""
    key = tuple(
        slice(chance.randint(0, 1), extent - chance.randint(0, 1), chance.choice([1, 2, -1, -2]))
        if chance.random() < 0.7
        else slice(None)
        for extent in n.shape
    )
    key = tuple(slice(None, None, k.step) if k.step is not None and k.step < 0 else k for k in key)
    axes = list(range(n.ndim))
    chance.shuffle(axes)
    return n[key].transpose(axes)


@pytest.mark.parametrize("name", NAMES)
def test_copies_between_any_layouts_are_numpys(name: str) -> None:
    numpy = peer("numpy")
    chance = random.Random(name)
    for _ in range(60):
        shape = [chance.randint(2, 9) for _ in range(chance.randint(1, 4))]
        source = random_view(chance, numpy.arange(numpy.prod(shape)).astype(name).reshape(shape))
        target = numpy.zeros([2 * extent for extent in source.shape], name)[tuple(slice(None, None, 2) for _ in shape)]
        expected = target.copy()
        expected[...] = source
        via.copy(target, source)
        assert (target == expected).all()
        assert via.asarray(source).copy().tolist() == source.tolist()


def test_a_copy_is_row_major_and_its_own() -> None:
    a = grid().T
    b = a.copy()
    assert b.c_contiguous and b.ptr != a.ptr and not b.readonly
    assert b.tolist() == a.tolist()
    assert a.as_readonly().copy("cpu").readonly is False


def test_gaps_of_the_destination_are_not_written() -> None:
    a = grid()
    via.copy(a[:, ::2], grid(6, 2)[::2])
    assert a.tolist() == [[0, 1, 1, 3], [4, 5, 5, 7], [8, 9, 9, 11]]


def test_records_and_misaligned_elements_are_copied_as_bytes() -> None:
    values = numbers(12)
    a = via.wrap(ctypes.addressof(values), 3, "record12", strides=16, owner=values)
    b = a.copy()
    assert b.dtype_name == "record12" and b.nbytes == 36
    assert b.field(0, "float32", 3).tolist() == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]
    odd = via.wrap(ctypes.addressof(values) + 1, 3, "float64", owner=values)
    assert not odd.aligned
    assert bytes(memoryview(odd.copy())) == bytes(values)[1:25]


def test_assignment_broadcasts() -> None:
    numpy = peer("numpy")
    a, n = grid(), numpy.arange(12, dtype="float32").reshape(3, 4)
    for key, value in [
        (..., numpy.float32(5) * numpy.ones((1, 4), "float32")),
        (0, numpy.arange(4, dtype="float32")),
        ((slice(None), 1), numpy.arange(3, dtype="float32")),
        ((slice(None, None, 2), slice(1, 3)), numpy.array([[7], [8]], "float32")),
        ((1, 2), numpy.array(42, "float32")),
        ((2, ..., None), numpy.ones((4, 1), "float32")),
    ]:
        a[key] = value
        n[key] = value
        assert a.tolist() == n.tolist()


def test_assignment_takes_numbers() -> None:
    numpy = peer("numpy")
    a = grid()
    a[0] = 1
    a[1, :2] = 2.5
    a[2] = True
    a[1, 2:] = numpy.float64(9)
    a[0, 0] = numpy.int64(-3)
    assert a.tolist() == [[-3, 1, 1, 1], [2.5, 2.5, 9, 9], [1, 1, 1, 1]]


def test_assignment_takes_whatever_exports_its_memory() -> None:
    a = grid()
    a[0] = numbers(4)
    a[1] = memoryview(numbers(4))
    a[2] = peer("torch").full((4,), 3.0)
    assert a.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [3, 3, 3, 3]]


def test_elements_cannot_be_deleted() -> None:
    a = grid()
    with pytest.raises(TypeError, match="deleted"):
        del a[0]


VALUES: dict[str, list[Any]] = {
    "bool": [True, False, 1, 0],
    "int8": [-128, 127],
    "int16": [-(1 << 15), (1 << 15) - 1],
    "int32": [-(1 << 31), (1 << 31) - 1],
    "int64": [-(1 << 63), (1 << 63) - 1],
    "uint8": [0, 255],
    "uint16": [65535],
    "uint32": [(1 << 32) - 1],
    "uint64": [(1 << 64) - 1, 1 << 63],
    "float16": [1.5, -0.0, 65504.0, float("inf")],
    "float32": [1.5, float("-inf"), 3],
    "float64": [1.1, 1e300],
    "complex64": [1 + 2j, 3, 2.5],
    "complex128": [1.1 - 2.2j],
}


@pytest.mark.parametrize("name", VALUES)
def test_every_number_that_fits_is_filled_in(name: str) -> None:
    numpy = peer("numpy")
    a = via.empty((3, 5), name)
    for value in VALUES[name]:
        a.fill(value)
        assert (a.numpy() == numpy.full((3, 5), value, name)).all()
        via.fill(a[::2, ::2], value)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e3m4"])
def test_narrow_floats_are_rounded_as_ml_dtypes_rounds(name: str) -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    a = via.empty((4,), name)
    for value in (0.5, 1.0, 3.14159, 200):
        a.fill(value)
        assert (a.numpy() == numpy.full(4, value, getattr(ml_dtypes, name))).all()
        assert a.tolist() == a.numpy().tolist()


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("int8", 128, OverflowError),
        ("int8", -129, OverflowError),
        ("uint8", -1, OverflowError),
        ("uint64", 1 << 64, OverflowError),
        ("int64", 1 << 63, OverflowError),
        ("int4", 8, OverflowError),
        ("uint4", 16, OverflowError),
        ("float16", 1e6, OverflowError),
        ("float32", 1 << 2000, OverflowError),
        ("complex64", 1 << 2000, OverflowError),
        ("int32", 1.5, TypeError),
        ("float32", 1j, TypeError),
        ("float32", "1", TypeError),
        ("float32", None, TypeError),
        ("complex64", "1", TypeError),
        ("record12", 0, TypeError),
        ("record12", b"short", ValueError),
        ("float32", b"toolong", ValueError),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: Any, kind: type[Exception]) -> None:
    a = via.empty((2, 2), name)
    a.fill(bytes(-(-a.nbytes // a.size)) if name.startswith("record") else 0)
    before = bytes(memoryview(a.view("uint8")))
    with pytest.raises(kind, match="Array.fill: value|element of"):
        a.fill(value)
    assert bytes(memoryview(a.view("uint8"))) == before


def test_the_bytes_of_an_element_fill_any_type() -> None:
    a = via.empty((2, 2), "record3")
    a.fill(b"abc")
    assert bytes(memoryview(a)) == b"abc" * 4
    b = via.empty((2,), "float32x2")
    b.fill(1.5)
    assert b.view("float32").tolist() == [1.5] * 4
    c = via.empty((2, 4), "int4")
    c.fill(-3)
    assert bytes(memoryview(c.view("uint8"))) == b"\xdd" * 4


@pytest.mark.parametrize(
    ("name", "value", "lane", "lanes"),
    [
        ("uint1x8", 1, 1, 8),
        ("uint2x4", 1, 1, 4),
        ("int4x2", -3, 0xD, 2),
        ("int4x3", -3, 0xD, 3),
        ("uint4x8", 10, 0xA, 8),
        ("float4_e2m1fnx2", 1.5, 0x3, 2),
        ("float6_e3m2fnx4", 1.5, 0xE, 4),
    ],
)
def test_every_lane_of_an_element_narrower_than_a_byte_is_filled(name: str, value: Any, lane: int, lanes: int) -> None:
    if name.startswith("float"):
        peer("ml_dtypes")
    bits = via.raw.via_dtype_bits(via.raw.via_dtype_from_name(name)) // lanes
    wanted = sum(lane << at * bits for at in range(4 * lanes)).to_bytes(4 * lanes * bits // 8, "little")
    for fill in (via.Array.fill, via.fill, lambda a, value: a.__setitem__(..., value)):
        a = via.empty(4, name)
        host = via.wrap(a.ptr, len(wanted), "uint8", owner=a)
        host.fill(0x77)
        fill(a, value)
        assert bytes(memoryview(host)) == wanted  # type: ignore[arg-type]


def test_one_element_is_a_python_value() -> None:
    assert grid()[1, 2].item() == 6.0
    assert grid()[1:2, 2:3].item() == 6.0
    assert grid().view("complex64")[0, 1].item() == 2 + 3j
    with pytest.raises(ValueError, match="12 elements"):
        grid().item()


def test_a_large_copy_lets_other_threads_run() -> None:
    a, b = via.empty((128 << 20,), "uint8"), via.empty((128 << 20,), "uint8")
    a.fill(1)
    ticks = [0]
    ended = threading.Event()

    def tick() -> None:
        while not ended.is_set():
            ticks[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    for _ in range(3):
        via.copy(b, a)
    after = ticks[0]
    ended.set()
    thread.join()
    assert after > before
    assert b[-1].item() == 1


def test_arrays_of_any_kind_may_be_copied_between() -> None:
    torch, numpy = peer("torch"), peer("numpy")
    tensor = torch.zeros(3, 4)
    via.copy(tensor, numpy.arange(12, dtype="float32").reshape(3, 4))
    assert tensor.tolist() == grid().tolist()
    target = bytearray(4)
    via.copy(target, b"abcd")
    assert target == b"abcd"


def test_the_plan_of_a_copy_is_reported() -> None:
    a = grid()
    text = via.copy_explain(via.empty((4, 3), "float32"), a.T)
    assert "route" in text and "bytes" in text
    assert via.copy_explain(dst=a.copy(), src=a)


def test_the_number_of_threads_is_a_setting() -> None:
    usual = via.num_threads()
    try:
        via.set_num_threads(1)
        assert via.num_threads() == 1
    finally:
        via.set_num_threads(0)
    assert via.num_threads() == usual


def test_a_copy_of_nothing_is_nothing() -> None:
    a = via.empty((0, 4), "float32")
    via.copy(a, a.copy())
    a.fill(1)
    assert a.tolist() == []


def test_packed_elements_are_copied_in_any_order_of_axes() -> None:
    def nibbles(a: via.Array) -> list[int]:
        return [byte >> shift & 15 for byte in bytes(memoryview(a.view("uint8"))) for shift in (0, 4)]

    data = bytearray(range(17, 17 + 12))
    a = via.wrap(ctypes.addressof(ctypes.c_char.from_buffer(data)), (4, 6), "int4", owner=data)
    transposed = via.empty((6, 4), "int4")
    via.copy(transposed.T, a)
    found = nibbles(transposed.reshape(-1))
    assert [found[i * 4 + j] for j in range(4) for i in range(6)] == nibbles(a.reshape(-1))
    assert nibbles(transposed.T.copy().reshape(-1)) == nibbles(a.reshape(-1))
    assert "route: bits" in via.copy_explain(transposed.T, a)
