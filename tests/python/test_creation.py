"""empty() and its kin: new arrays by the names that NumPy, CuPy and torch have for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import viaduct as via
from peers import content, grid, peer

MAKERS: list[Callable[..., via.Array]] = [via.empty, via.zeros, via.ones]


@pytest.mark.parametrize("make", MAKERS)
def test_a_new_array_has_the_shape_dtype_and_place_asked_for(make: Callable[..., via.Array]) -> None:
    a = make((2, 3), "int16", device="cpu", memory="shared")
    assert (a.shape, a.dtype_name, a.device, a.c_contiguous, a.readonly) == ((2, 3), "int16", "cpu", True, False)
    assert len(a.export_ipc()) > 0
    assert make(4, "float32").shape == (4,) and make((), "float64").shape == ()


@pytest.mark.parametrize("make", MAKERS)
def test_the_place_is_reported_by_name_only(make: Callable[..., via.Array]) -> None:
    with pytest.raises(TypeError, match="2 positional"):
        make((2, 3), "int16", "cpu")


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float32", "float64", "complex64", "complex128"])
def test_zeros_ones_and_full_are_numpys(name: str) -> None:
    numpy = peer("numpy")
    for made, expected in (
        (via.zeros((2, 3), name), numpy.zeros((2, 3), name)),
        (via.ones((2, 3), name), numpy.ones((2, 3), name)),
        (via.full((2, 3), 1, name), numpy.full((2, 3), 1, name)),
        (via.full(fill_value=1, shape=(2, 3), dtype=name), numpy.full((2, 3), 1, name)),
    ):
        assert made.dtype == expected.dtype and made.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["record12", "bfloat16", "float8_e4m3fn", "int4", "float32x4"])
def test_zeros_of_every_dtype_are_zero_bytes(name: str) -> None:
    assert not any(content(via.zeros((2, 4), name)))


def test_full_takes_the_bytes_of_an_element() -> None:
    assert content(via.full(2, b"abc", "record3")) == b"abcabc"


LIKE: list[Callable[..., via.Array]] = [via.empty_like, via.zeros_like, via.ones_like]


@pytest.mark.parametrize("make", LIKE)
def test_arrays_like_another_share_its_shape_dtype_and_device_and_nothing_else(make: Callable[..., via.Array]) -> None:
    original = grid().as_readonly()
    a = make(original)
    assert (a.shape, a.dtype_name, a.device, a.readonly) == ((3, 4), "float32", "cpu", False)
    assert a.ptr != original.ptr and a.c_contiguous
    assert make(original.T).shape == (4, 3) and make(original.T).c_contiguous
    b = make(original, "int8", memory="shared")
    assert (b.shape, b.dtype_name) == ((3, 4), "int8") and len(b.export_ipc()) > 0


def test_arrays_are_made_like_those_of_other_libraries() -> None:
    numpy = peer("numpy")
    original = numpy.arange(6, dtype="int32").reshape(2, 3)
    assert via.zeros_like(original).tolist() == numpy.zeros_like(original).tolist()
    assert via.ones_like(original).tolist() == numpy.ones_like(original).tolist()
    assert via.full_like(original, 7).tolist() == numpy.full_like(original, 7).tolist()
    assert via.full_like(original, 7.5, dtype="float64").tolist() == [[7.5] * 3] * 2


def test_a_value_that_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(OverflowError, match="full: value"):
        via.full(2, 256, "uint8")
    with pytest.raises(OverflowError, match="full_like: value"):
        via.full_like(bytearray(2), 256)
    with pytest.raises(TypeError, match="full_like: x"):
        via.full_like([1, 2], 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: via.zeros((2, -1), "int8"),
        lambda: via.zeros(4, "x"),
        lambda: via.ones(4, "int8", memory="disk"),
        lambda: via.empty_like(grid(), device="disk"),
        lambda: via.empty(4, "int8", device="cpu", memory="device"),
        lambda: via.empty(4, "int8", device="cuda:0", memory="host"),
        lambda: via.empty(4, "int8", device="cuda:0", memory="shared"),
    ],
)
def test_what_cannot_be_made_is_refused_as_empty_refuses_it(call: Callable[[], Any]) -> None:
    with pytest.raises(via.Error, match="shape|dtype|memory|device"):
        call()


# ------------------------------------------------------------------------------------------------ copyto


def test_copyto_copies_as_numpys_does() -> None:
    numpy = peer("numpy")
    for source in (numpy.arange(12).reshape(3, 4), numpy.arange(4), numpy.arange(3)[:, None], numpy.array(5), 7):
        target, expected = numpy.zeros((3, 4), "int64"), numpy.zeros((3, 4), "int64")
        via.copyto(target, source)
        numpy.copyto(expected, source)
        assert target.tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(1, 1, 3, 4), (1, 4), (1, 1, 1, 1), (1, 3, 1), (1, 1, 4)])
def test_axes_of_one_in_front_do_not_count_as_in_numpy(shape: tuple[int, ...]) -> None:
    numpy = peer("numpy")
    source = numpy.arange(numpy.prod(shape), dtype="float32").reshape(shape)
    for wanted in ((3, 4), (4,)):
        target, expected = numpy.zeros(wanted, "float32"), numpy.zeros(wanted, "float32")
        try:
            numpy.copyto(expected, source)
        except ValueError:
            with pytest.raises(via.ShapeError, match="broadcasts"):
                via.copyto(target, source)
            continue
        via.copyto(target, source)
        assert target.tolist() == expected.tolist()
        via.asarray(target)[...] = source
        assert target.tolist() == expected.tolist()


def test_copyto_refuses_what_does_not_repeat_to_the_destination() -> None:
    with pytest.raises(ValueError, match=r"copyto: src has shape \(3, 3\); expected one that broadcasts to \(3, 4\)"):
        via.copyto(grid(), grid(3, 3))
    with pytest.raises(TypeError, match="copyto: src is of type list"):
        via.copyto(grid(), [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        via.copyto(grid().as_readonly(), grid())
    with pytest.raises(TypeError, match="copyto: stream"):
        via.copyto(grid(), grid(), stream="7")


# ------------------------------------------------------------------------------------------------ asarray


def test_asarray_of_what_is_so_already_is_the_same_memory() -> None:
    a = grid()
    for options in ({}, {"dtype": "float32"}, {"device": "cpu"}, {"copy": False}, {"copy": None, "dtype": None}):
        assert via.asarray(a, **options).ptr == a.ptr
    assert via.asarray(a) is a and via.asarray(a, "float32") is a


def test_asarray_copies_where_it_is_asked_to() -> None:
    a = grid()
    b = via.asarray(a.T, copy=True)
    assert b.ptr != a.ptr and b.tolist() == a.T.tolist() and b.c_contiguous


def test_asarray_converts_to_a_dtype_of_the_same_kind_unless_it_must_not_copy() -> None:
    for copy in (None, True):
        assert via.asarray(grid(), dtype="float64", copy=copy).numpy().tolist() == grid().numpy().tolist()
        with pytest.raises(via.DTypeError, match=r"does not take float32 to int32; expected unsafe"):
            via.asarray(grid(), dtype="int32", copy=copy)
    with pytest.raises(via.NeedsCopyError, match=r"asarray: dtype is float64, and copy is False; expected float32"):
        via.asarray(grid(), dtype="float64", copy=False)
    with pytest.raises(TypeError, match="asarray: dtype"):
        via.asarray(grid(), dtype="x")


def test_asarray_refuses_a_device_that_is_none() -> None:
    with pytest.raises(via.DeviceError, match="asarray: device"):
        via.asarray(grid(), device="disk")
    with pytest.raises(TypeError, match="asarray"):
        via.asarray(grid(), order="F")  # type: ignore[call-arg]


def test_asarray_forbidden_to_copy_refuses_another_device() -> None:
    with pytest.raises(via.NeedsCopyError, match=r"asarray: copy is False; expected True or None, .* cpu .* cuda:0"):
        via.asarray(grid(), device="cuda:0", copy=False)


# ------------------------------------------------------------------------------------------------ iteration


def test_iteration_goes_over_the_first_axis_and_over_none_of_a_number() -> None:
    a = grid()
    assert [row.tolist() for row in iter(a)] == a.tolist()
    assert hasattr(type(a), "__iter__")
    with pytest.raises(TypeError, match="no axis"):
        iter(a[0, 0])
