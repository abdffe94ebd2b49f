"""Array.to() and wrap(to=): objects of other libraries' types, made by the table of C functions on the type."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import grid, is_gone, numbers, peer
from tables import Taken, delete, new_kind
from tensors import READ_ONLY


def outstanding() -> int:
    gc.collect()
    return via.stats()["outstanding_exports"]


def test_torch_makes_a_tensor_of_the_same_memory() -> None:
    torch = peer("torch")
    a = grid()
    tensor = a.to(torch.Tensor)
    assert type(tensor) is torch.Tensor
    assert tensor.data_ptr() == a.ptr and tensor.tolist() == a.tolist()
    tensor[0, 0] = 9
    assert a[0, 0].item() == 9


def test_views_keep_their_strides() -> None:
    torch = peer("torch")
    a = grid()[1:, ::2]
    tensor = a.to(torch.Tensor)
    assert tensor.stride() == (4, 2) and tensor.tolist() == a.tolist()
    assert grid().T.to(torch.Tensor).tolist() == grid().T.tolist()
    assert via.empty((), "float64").to(torch.Tensor).shape == ()
    assert via.empty((0, 3), "float64").to(torch.Tensor).shape == (0, 3)


def test_what_is_made_holds_the_owner_and_lets_it_go() -> None:
    torch = peer("torch")
    values = numbers(12)
    owner = weakref.ref(values)
    tensor = via.wrap(ctypes.addressof(values), 12, "float32", owner=values).to(torch.Tensor)
    del values
    assert not is_gone(owner) and tensor.tolist() == list(range(12))
    del tensor
    assert is_gone(owner) and outstanding() == 0


def test_a_pointer_becomes_a_tensor_in_one_call() -> None:
    torch = peer("torch")
    values, released = numbers(12), []
    address = ctypes.addressof(values)
    tensor = via.wrap(address, (3, 4), "float32", owner=values, release=lambda: released.append(1), to=torch.Tensor)
    found, shape = tensor.data_ptr(), tensor.shape
    assert (found, shape) == (address, (3, 4)) and not released
    del tensor
    assert outstanding() == 0 and released == [1]


def test_without_a_type_the_pointer_becomes_an_array() -> None:
    values = numbers(4)
    a = via.wrap(ctypes.addressof(values), 4, "float32", owner=values, to=None)
    assert type(a) is via.Array and a.ptr == ctypes.addressof(values)


def test_every_type_with_a_table_will_do() -> None:
    kind = new_kind()
    a = grid()
    made = a.to(kind)
    assert type(made) is kind
    assert (made.managed.tensor.data, made.managed.tensor.ndim, made.managed.flags) == (a.ptr, 2, 0)
    assert (made.managed.major, made.managed.minor) == (1, 3)
    assert a.as_readonly().to(kind).managed.flags == READ_ONLY
    assert outstanding() == 1
    del made
    assert outstanding() == 0


def test_our_own_type_is_one_of_them() -> None:
    a = grid()
    assert a.to(via.Array).ptr == a.ptr


@pytest.mark.parametrize("kind", [int, "torch.Tensor", None, via, new_kind(major=2)])
def test_what_has_no_table_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Array\.to: kind is .*; expected a type with __dlpack_c_exchange"):
        grid().to(kind)


def test_a_type_that_borrows_its_table_is_refused() -> None:
    inherits = type("Inherits", (new_kind(),), {})
    with pytest.raises(TypeError, match="kind is .*Inherits.* makes objects of .*Kind"):
        grid().to(inherits)
    assert outstanding() == 0


def test_a_type_may_get_its_table_later() -> None:
    kind = new_kind()
    table = vars(kind)["__dlpack_c_exchange_api__"]
    del kind.__dlpack_c_exchange_api__
    with pytest.raises(via.DTypeError, match="__dlpack_c_exchange_api__"):
        grid().to(kind)
    kind.__dlpack_c_exchange_api__ = table
    assert isinstance(grid().to(kind), kind)


def test_a_refusal_is_reported_and_leaves_nothing_behind() -> None:
    torch = peer("torch")
    vectors = via.empty((4, 4), "float32x4")
    with pytest.raises(RuntimeError, match="lanes"):
        vectors.to(torch.Tensor)
    values, released = numbers(64), []
    with pytest.raises(RuntimeError, match="lanes"):
        via.wrap(ctypes.addressof(values), 4, "float32x4", release=lambda: released.append(1), to=torch.Tensor)
    assert outstanding() == 0 and not released


@pytest.mark.parametrize("deletes", [False, True])
def test_a_refusal_without_a_word_is_asked_too(deletes: bool) -> None:
    kind = new_kind(lambda managed: delete(managed) if deletes else None)
    with pytest.raises(BufferError, match="Array.to: .*Kind.* refused"):
        grid().to(kind)
    assert outstanding() == 0


def test_one_may_be_given_while_another_is() -> None:
    inner, made = new_kind(), []

    def make(managed: Any) -> Taken:
        made.append(grid().to(inner))
        return Taken(managed)

    outer = new_kind(make)
    assert type(grid().to(outer)) is outer and type(made[0]) is inner
    made.clear()
    refusing = new_kind(lambda _managed: made.append(grid().to(inner)))
    with pytest.raises(BufferError, match="refused"):
        grid().to(refusing)
    made.clear()
    assert outstanding() == 0


def test_torch_is_not_given_what_it_would_end_the_process_over() -> None:
    torch = peer("torch")
    with pytest.raises(BufferError, match="negative stride.*PyTorch"):
        grid()[::-1].to(torch.Tensor)
    assert grid()[:1][::-1].to(torch.Tensor).shape == (1, 4)
    assert grid()[::-1].to(new_kind()).managed.tensor.strides[0] == -4


def test_what_dlpack_cannot_say_is_refused() -> None:
    values = numbers(12)
    address = ctypes.addressof(values)
    for a, word in [
        (via.wrap(address, 4, "record12", owner=values), "record12"),
        (via.wrap(address, 3, "complex64", strides=12, owner=values), "whole elements"),
    ]:
        with pytest.raises(BufferError, match=word):
            a.to(new_kind())


def test_a_pointer_that_cannot_be_right_is_refused_before_anything_is_made() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        via.wrap(4096, 4, "float32", to=new_kind())
    with pytest.raises(TypeError, match="wrap: to"):
        via.wrap(ctypes.addressof(numbers(4)), 4, "float32", to=int)
