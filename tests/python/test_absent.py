"""What an Array has not, on purpose, it says; and what it seems to have, it has."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import viaduct as via
from peers import grid, peer

BINARY: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.iadd, operator.imul,
]  # fmt: skip


@pytest.mark.parametrize("compute", BINARY)
def test_arithmetic_is_refused_with_the_way_to_it(compute: Callable[[Any, Any], Any]) -> None:
    a = grid()
    for other in (1, 2.5, 1j, True, grid(), a):
        for left, right in ((a, other), (other, a)):
            with pytest.raises(TypeError, match=r"no arithmetic, on purpose.*numpy\(\)"):
                compute(left, right)
    for what in ("text", None, object()):
        with pytest.raises(TypeError):
            compute(a, what)


def test_signs_and_sums_are_refused_as_well() -> None:
    for call in (operator.neg, abs, sum):
        with pytest.raises(TypeError, match="no arithmetic"):
            call(grid())  # type: ignore[operator]


@pytest.mark.parametrize("compute", BINARY[:-2])
def test_other_libraries_compute_with_an_array_as_they_do_with_any_buffer(compute: Callable[[Any, Any], Any]) -> None:
    numpy = peer("numpy")
    a, theirs = via.empty((4, 4), "float32"), numpy.full((4, 4), 2, "float32")
    a.fill(3)
    for found, expected in (
        (compute(a, theirs), compute(a.numpy(), theirs)),
        (compute(theirs, a), compute(theirs, a.numpy())),
    ):
        assert type(found) is numpy.ndarray and numpy.array_equal(found, expected, equal_nan=True)
    if compute is not operator.matmul:
        assert compute(a, numpy.float32(2)).shape == compute(numpy.float64(2), a).shape == (4, 4)


def test_somebody_elses_reflected_operator_is_heard() -> None:
    class Other:
        def __radd__(self, other: object) -> str:
            return "theirs"

    assert grid() + Other() == "theirs"  # type: ignore[operator]


def test_membership_is_refused_where_it_would_be_wrong() -> None:
    a = grid()
    for what in (3, a, a[0], None):
        with pytest.raises(TypeError, match=r"elements are not compared.*in a.numpy\(\)"):
            what in a  # noqa: B015
    assert a in [grid(), a] and a not in [grid()]


def test_iterating_gives_the_rows_and_is_refused_without_dimensions() -> None:
    a = grid()
    assert isinstance(a, Iterable) and [row.tolist() for row in a] == a.tolist()
    assert list(a[:0]) == []
    first, *others = a
    assert first.ptr == a.ptr and len(others) == 2
    for call in (iter, list, tuple, sum):
        with pytest.raises(TypeError, match="no axis"):
            call(via.empty((), "int8"))  # type: ignore[operator]
    with pytest.raises(TypeError, match="len: the array has no dimensions; expected at least one"):
        len(via.empty((), "int8"))


def test_there_is_no_array_namespace_to_find() -> None:
    a = grid()
    assert not hasattr(a, "__array_namespace__") and not hasattr(type(a), "__array_namespace__")


def test_a_text_is_no_index_and_the_way_to_a_field_is_reported(tmp_path: Any) -> None:
    a = via.empty((2, 2), "record8")
    for key in ("x", ("x", 0), (0, "x")):
        with pytest.raises(TypeError, match=r"key is of type str.*field\(offset, dtype\)"):
            a[key]  # type: ignore[index]
        with pytest.raises(TypeError, match="key is of type str"):
            a[key] = b"12345678"  # type: ignore[index]
    (tmp_path / "file").write_bytes(bytes(8))
    with (
        via.open(tmp_path / "file") as file,
        pytest.raises(via.DTypeError, match="key is of type str; expected integers"),
    ):
        file["x"]  # type: ignore[index]
