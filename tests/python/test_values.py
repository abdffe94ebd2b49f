"""Numbers of every library become elements whole, or not at all."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import viaduct as via
from peers import peer

COMPLEX = ("complex64", "complex128")
REAL = ("float64", "float32", "float16", "bfloat16", "float8_e5m2")


def filled(dtype: str, value: Any) -> list[Any]:
    """What each of the three ways to set an element leaves there."""
    found = []
    for fill in (via.Array.fill, via.fill, lambda a, it: a.__setitem__(0, it)):
        a = via.empty(1, dtype)
        a.fill(bytes(a.nbytes))
        fill(a, value)
        found.append(a)
    return [a.view("float16").tolist() if dtype == "complex32" else a.tolist()[0] for a in found]


class Complex:
    """A number of somebody's own."""

    def __init__(self, value: complex) -> None:
        self.value = complex(value)

    def __complex__(self) -> complex:
        return self.value

    def __float__(self) -> float:
        return self.value.real


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_complex_numbers_of_numpy_keep_their_imaginary_part(dtype: str, kind: str) -> None:
    numpy = peer("numpy")
    for value in (numpy.dtype(kind).type(1 + 2j), numpy.array(1 + 2j, kind)):
        assert filled(dtype, value) == [1 + 2j] * 3


def test_a_number_that_says_its_complex_value_is_asked_for_it() -> None:
    for dtype in COMPLEX:
        a = via.empty(2, dtype)
        a.fill(Complex(3 - 4j))
        assert a.tolist() == [3 - 4j] * 2


def test_halves_of_a_complex_number_are_both_stored() -> None:
    numpy = peer("numpy")
    a = via.empty(1, "complex32")
    for value in (1 + 2j, numpy.complex64(1 + 2j), Complex(1 + 2j)):
        a.fill(b"\xff" * 4)
        a.fill(value)
        assert a.view("float16").tolist() == [1, 2]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", REAL)
def test_an_imaginary_part_is_never_dropped(dtype: str) -> None:
    numpy = peer("numpy")
    a = via.empty(2, dtype)
    a.fill(7)
    for value in (1 + 2j, numpy.complex64(1 + 2j), numpy.complex128(1 + 2j), numpy.array(1 + 2j, "c8"), Complex(2j)):
        for fill in (via.Array.fill, via.fill):
            with pytest.raises(via.DTypeError, match=f"fill: value.*{dtype}"):
                fill(a, value)
    for value in (numpy.complex64(1 + 2j), numpy.array(1 + 2j, "c8")):
        with pytest.raises(via.DTypeError):
            a[0] = value
    assert a.tolist() == [7, 7]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", REAL)
def test_every_real_number_is_taken(dtype: str) -> None:
    numpy = peer("numpy")
    a = via.empty(1, dtype)
    for value in (
        1.5,
        Decimal("1.5"),
        Fraction(3, 2),
        numpy.float32(1.5),
        numpy.array(1.5),
        numpy.complex64(1.5),
        Complex(1.5),
    ):
        a.fill(0)
        a.fill(value)
        assert a.tolist() == [1.5]


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint64", "int4", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    + ["float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn", "complex32", "complex64", "complex128", "opaque64"],
)
@pytest.mark.parametrize("value", ["1.5", "", [1], [], None, {}, object(), (1,)], ids=repr)
def test_what_is_no_number_is_refused_for_every_type_by_name(dtype: str, value: Any) -> None:
    a = via.empty(4, dtype)
    a.fill(bytes(a.nbytes // 4 or 1))
    for fill in (via.Array.fill, via.fill):
        with pytest.raises(via.DTypeError, match=f"fill: value.*{dtype}"):
            fill(a, value)
    assert not any(bytes(memoryview(a.view("uint8"))))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "complex32"]
)
def test_a_number_is_rounded_once_as_a_conversion_rounds_it(dtype: str) -> None:
    """1 + 2**-8 + 2**-30 lies above the middle of two bfloat16; as a float32 it would be the middle."""
    numbers = [(1 + 2.0**-bits) * (1 + sign * 2.0**-30) for bits in range(1, 13) for sign in (-1, 0, 1)]
    numbers += [65519.99, 5e-324, 0.0, -0.0, math.inf, -math.inf]
    numbers += [] if dtype in ("float16", "complex32") else [65520.0, 1e300, -1e300]
    for number in numbers:
        a, b = via.full(4, number, dtype), via.full(4, number, "float64").astype(dtype)
        assert a.view("uint8").tolist() == b.view("uint8").tolist(), number


def test_a_number_of_a_type_that_nobody_rounds_to_is_refused_with_a_way_out() -> None:
    with pytest.raises(via.DTypeError, match="Array.fill: value.*opaque64.*bytes"):
        via.empty(4, "opaque64").fill(1.5)


@pytest.mark.parametrize("dtype", ["int64", "float64", "float16", "bfloat16", "complex32", "complex64"])
@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_more_digits_than_python_prints_is_out_of_range(dtype: str, digits: int) -> None:
    with pytest.raises(via.ExtentOverflowError, match="Array.fill: value") as error:
        via.empty(1, dtype).fill(10**digits)
    assert len(str(error.value)) < 500
