"""The options of conversions, as the C API takes them."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

from ._extension import raw

_CASTINGS = {
    "same_kind": raw.VIA_CASTING_SAME_KIND,
    "safe": raw.VIA_CASTING_SAFE,
    "equiv": raw.VIA_CASTING_EQUIV,
    "unsafe": raw.VIA_CASTING_UNSAFE,
}
_OVERFLOWS = {"infinity": raw.VIA_OVERFLOW_INFINITY, "saturate": raw.VIA_OVERFLOW_SATURATE}
_BYTE_ORDERS = {"=": raw.VIA_BYTE_ORDER_NATIVE, "<": raw.VIA_BYTE_ORDER_LITTLE, ">": raw.VIA_BYTE_ORDER_BIG}


def choose(function: str, argument: str, table: dict[Any, Any], value: object) -> Any:
    if not isinstance(value, Hashable) or value not in table:
        names = ", ".join(repr(name) for name in table)
        raise raw.InvalidArgumentError(f"{function}: {argument} is {value!r}; expected one of {names}")
    return table[value]


def integer(function: str, argument: str, value: Any, expected: str = "an integer") -> int:
    """Returns an integer of any library; refuses whatever else, and bool."""
    with suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)
    raise raw.DTypeError(f"{function}: {argument} is of type {type(value).__name__}; expected {expected}")


def options(
    function: str,
    axes: tuple[int, ...],
    scale_axis: int,
    *,
    casting: str = "same_kind",
    overflow: str = "infinity",
    byteorder: str = "=",
    scale: Any = None,
    offset: Any = None,
) -> tuple[dict[str, int], tuple[Any, ...]]:
    """Returns the options of a conversion, and the numbers that they refer to. `axes` are the C API's for each axis."""
    found = {
        "casting": choose(function, "casting", _CASTINGS, casting),
        "overflow": choose(function, "overflow", _OVERFLOWS, overflow),
        "byte_order": choose(function, "byteorder", _BYTE_ORDERS, byteorder),
    }
    if scale is None and offset is None:
        return found, ()
    numbers = [_numbers_of(function, "scale", scale), _numbers_of(function, "offset", offset)]
    count = max(len(each) for each in numbers if each is not None)
    if any(each is not None and len(each) not in (1, count) for each in numbers):
        raise raw.ShapeError(f"{function}: scale and offset have different lengths; expected as many, or one")
    kept = [
        None if each is None else array("f", each if len(each) == count else list(each) * count) for each in numbers
    ]
    for name, each in zip(("scale", "offset"), kept, strict=True):
        found[name] = 0 if each is None else each.buffer_info()[0]
    axis = integer(function, "scale_axis", scale_axis)
    if count > 1 and not -len(axes) <= axis < len(axes):
        raise raw.OutOfRangeError(f"{function}: scale_axis is {axis}; expected an axis of {len(axes)} dimensions")
    found["scale_count"] = count
    found["scale_axis"] = axes[axis] if count > 1 else 0
    return found, tuple(kept)


def _numbers_of(function: str, argument: str, value: Any) -> list[float] | None:
    if value is None:
        return None
    try:
        found = [float(each) for each in _items_of(value)]
    except (TypeError, ValueError):
        raise raw.DTypeError(
            f"{function}: {argument} is {value!r}; expected a number or a sequence of numbers"
        ) from None
    if not found:
        raise raw.ShapeError(f"{function}: {argument} has no numbers; expected one or more")
    return found


def _items_of(value: Any) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        return [value]
