"""Elements that a mask hides are exported to nobody in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import viaduct as via
from peers import peer

numpy: Any = peer("numpy")
ma: Any = peer("numpy.ma")

TAKE: dict[str, Callable[[Any], Any]] = {
    "asarray": via.asarray,
    "from_dlpack": via.from_dlpack,
    "from_dlpack with a copy": lambda x: via.from_dlpack(x, copy=True),
    "copy from": lambda x: via.copy(via.empty(x.shape, x.dtype), x),
    "copy to": lambda x: via.copy(x, via.empty(x.shape, x.dtype)),
    "fill": lambda x: via.fill(x, 1),
    "assign": lambda x: via.empty(x.shape, x.dtype).__setitem__(..., x),
    "copy_submit": lambda x: via.copy_submit(via.empty(x.shape, x.dtype), x),
    "copy_explain": lambda x: via.copy_explain(via.empty(x.shape, x.dtype), x),
    "stream of blocks": lambda x: via.raw.asarray(x),
}


@pytest.mark.parametrize("name", TAKE)
def test_a_masked_array_is_refused(name: str) -> None:
    masked = ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 0, 1, 0])
    for x in (masked, masked[1:], masked.reshape(2, 2), masked[::-1]):
        with pytest.raises(BufferError, match="masked.*filled()"):
            TAKE[name](x)
    assert masked.data.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("mask", [ma.nomask, False, [0, 0, 0, 0]])
def test_an_array_whose_mask_hides_nothing_is_taken(mask: Any) -> None:
    x = ma.array([1.0, 2.0, 3.0, 4.0], mask=mask)
    for take in (via.asarray, via.from_dlpack):
        a = take(x)
        assert a.ptr == x.data.ctypes.data and a.tolist() == [1, 2, 3, 4]


def test_the_part_of_a_masked_array_that_is_not_hidden_is_taken() -> None:
    assert via.asarray(ma.array([1, 2, 3, 4], mask=[0, 0, 1, 1])[:2]).tolist() == [1, 2]


def test_masked_records_and_the_masked_constant_are_refused() -> None:
    kind = [("a", "i4"), ("b", "f8")]
    records = ma.array([(1, 2.0), (3, 4.0)], dtype=kind, mask=[(0, 0), (0, 1)])
    for x in (records, records[1:], ma.masked, ma.array(5, mask=True)):
        with pytest.raises(BufferError, match="masked"):
            via.asarray(x)
    assert via.asarray(ma.array([(1, 2.0)], dtype=kind)).dtype_name == "record12"
    assert via.asarray(records[:1]).dtype_name == "record12"


def test_a_mask_of_a_subclass_counts_too() -> None:
    class Own(ma.MaskedArray):  # type: ignore[misc]
        pass

    with pytest.raises(BufferError, match="masked"):
        via.asarray(ma.array([1, 2], mask=[1, 0]).view(Own))


def test_a_mask_that_cannot_be_asked_for_is_refused_with_its_own_reason() -> None:
    class Torn(ma.MaskedArray):  # type: ignore[misc]
        @property
        def mask(self) -> Any:
            raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        via.asarray(numpy.arange(3).view(Torn))


def test_an_array_of_a_subclass_whose_mask_is_none_hides_nothing() -> None:
    class Optional(numpy.ndarray):  # type: ignore[misc]
        mask = None

    assert via.asarray(numpy.arange(3).view(Optional)).tolist() == [0, 1, 2]
