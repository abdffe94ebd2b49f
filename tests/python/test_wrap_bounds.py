"""An address given with the bytes that may be used from it on makes no array that reaches further."""

from __future__ import annotations

import ctypes
import itertools
import random
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import is_gone, numbers

VALUES = numbers(64, ctypes.c_uint8)
ADDRESS = ctypes.addressof(VALUES)


@pytest.mark.parametrize(
    ("shape", "dtype", "strides", "needed"),
    [
        ((3, 4), "float32", None, 48),
        ((), "float64", None, 8),
        ((5,), "int4", None, 3),
        ((5,), "float6_e2m3fn", None, 4),
        ((2,), "float32x4", None, 32),
        ((3,), "record7", None, 21),
        ((3, 4), "uint8", (16, 1), 36),
        ((4, 3), "uint8", (1, 16), 36),
        ((4,), "uint8", (0,), 1),
        ((1, 4), "uint8", (1 << 40, 1), 4),
        ((0, 1 << 40), "uint8", (8, 1 << 30), 0),
        ((0,), "float64", None, 0),
    ],
)
def test_an_array_is_made_of_just_enough_bytes_and_of_no_byte_less(
    shape: Any, dtype: str, strides: Any, needed: int
) -> None:
    made = via.wrap(ADDRESS, shape, dtype, strides=strides, nbytes=needed)
    assert made.shape == shape and made.ptr == ADDRESS
    via.wrap(ADDRESS, shape, dtype, strides=strides, nbytes=needed + 1)
    if needed > 0:
        with pytest.raises(via.PointerError, match=f"wrap: nbytes is {needed - 1}; expected {needed} or"):
            via.wrap(ADDRESS, shape, dtype, strides=strides, nbytes=needed - 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "strides"),
    [
        ((1 << 60,), "uint8", None),
        ((1 << 57,), "float64", None),
        ((1 << 30, 1 << 30), "uint8", None),
        ((1 << 20, 1 << 20), "uint8", (1 << 45, 1 << 45)),
    ],
)
def test_no_number_is_too_large_to_be_outside(shape: Any, dtype: str, strides: Any) -> None:
    with pytest.raises((via.PointerError, via.ExtentOverflowError), match="wrap: (nbytes is 64|shape reaches over)"):
        via.wrap(ADDRESS, shape, dtype, strides=strides, nbytes=64, check=False)


def test_strides_that_lead_to_before_the_address_are_refused() -> None:
    with pytest.raises(via.PointerError, match="strides reach 9 bytes before the address"):
        via.wrap(ADDRESS + 32, 4, "uint8", strides=(-3,), nbytes=32)
    assert via.wrap(ADDRESS + 32, 1, "uint8", strides=(-3,), nbytes=1).tolist() == [32]
    assert via.wrap(ADDRESS + 9, 4, "uint8", strides=(-3,)).tolist() == [9, 6, 3, 0]


def test_the_bytes_that_an_array_reaches_are_those_that_are_counted() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        ndim = chance.randint(0, 3)
        shape = tuple(chance.randint(0, 3) for _ in range(ndim))
        strides = tuple(chance.randint(-6, 9) for _ in range(ndim))
        size = chance.choice((1, 2, 4))
        places = [
            sum(i * step for i, step in zip(index, strides, strict=True))
            for index in itertools.product(*(range(extent) for extent in shape))
        ]
        low, high = min(places, default=0), max((place + size for place in places), default=0)
        nbytes = chance.randint(0, 40)
        try:
            via.wrap(ADDRESS + 20, shape, f"record{size}", strides=strides, nbytes=nbytes)
        except via.PointerError:
            assert low < 0 or high > nbytes, (shape, strides, size, nbytes)
        else:
            assert low >= 0 and high <= nbytes, (shape, strides, size, nbytes)


def test_what_no_sum_of_64_bits_holds_is_refused_as_without_a_bound() -> None:
    for shape, strides in (((1 << 40, 1 << 40), None), ((1 << 40,), (1 << 40,)), ((3, -1), None)):
        kinds = []
        for bound in ({}, {"nbytes": 64}):
            with pytest.raises((OverflowError, ValueError)) as error:
                via.wrap(ADDRESS, shape, "uint8", strides=strides, **bound)  # type: ignore[arg-type]
            kinds.append(type(error.value))
        assert kinds[0] is kinds[1]


@pytest.mark.parametrize(
    ("nbytes", "kind"),
    [(-1, ValueError), (1 << 64, OverflowError), ("64", TypeError), (64.0, TypeError)],
)
def test_a_bound_that_is_no_count_is_refused(nbytes: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="wrap: nbytes"):
        via.wrap(ADDRESS, 4, "uint8", nbytes=nbytes)


def test_whatever_was_to_be_kept_or_called_is_not_once_the_bound_refuses() -> None:
    class Owner:
        pass

    owner, called = Owner(), []
    alive = weakref.ref(owner)
    with pytest.raises(via.PointerError):
        via.wrap(ADDRESS, 65, "uint8", owner=owner, release=lambda: called.append(1), nbytes=64)
    del owner
    assert is_gone(alive) and not called
