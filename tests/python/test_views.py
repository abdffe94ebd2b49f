"""Indexing and reshaping give the elements that NumPy gives, on the same memory."""

from __future__ import annotations

import ctypes
import itertools
import random
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer

KEYS: list[Any] = [
    0,
    -1,
    ...,
    None,
    (),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(5, 1, -2),
    slice(2, 2),
    slice(-100, 100),
    (0, 1),
    (0, 1, 2),
    (slice(1), 2),
    (..., 0),
    (0, ...),
    (0, ..., -1),
    (None, 0, None, ..., None),
    (slice(None, None, -2), None, 1),
    (slice(0, 0), ..., 0),
]


def pair() -> tuple[via.Array, Any]:
    numpy = peer("numpy")
    made = numpy.arange(60, dtype="float32").reshape(3, 4, 5)
    return via.asarray(made), made


def same(a: via.Array, n: Any) -> None:
    """The same elements at the same place."""
    assert a.shape == n.shape
    assert a.tolist() == n.tolist()
    if n.size:
        assert a.ptr == n.ctypes.data
    assert [s for s, e in zip(a.strides or (), a.shape, strict=True) if e > 1] == [
        s for s, e in zip(n.strides, n.shape, strict=True) if e > 1
    ]


def whole(key: Any) -> Any:
    """The key with an ellipsis, with which NumPy gives an array where it would give a number."""
    items = key if isinstance(key, tuple) else (key,)
    return items if ... in items else (*items, ...)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_key_names_what_it_names_in_numpy(key: Any) -> None:
    a, n = pair()
    same(a[key], n[whole(key)])


def test_keys_chosen_at_random_name_what_they_name_in_numpy() -> None:
    a, n = pair()
    chance = random.Random(7)
    for _ in range(2000):
        key = tuple(random_item(chance, extent) for extent in a.shape[: chance.randint(0, 3)])
        same(a[key], n[key + (...,)])


def random_item(chance: random.Random, extent: int) -> Any:
    if chance.random() < 0.3:
        return chance.randrange(-extent, extent)
    bounds = [chance.choice([None, *range(-extent - 2, extent + 3)]) for _ in range(2)]
    return slice(*bounds, chance.choice([None, 1, 2, 3, -1, -2, -3]))


def test_what_an_index_raises_itself_is_passed_on() -> None:
    class Broken:
        def __index__(self) -> int:
            raise LookupError("no such row")

    array, _ = pair()
    for key in (Broken(), (0, Broken())):
        with pytest.raises(LookupError, match="no such row"):
            array[key]


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        (3, IndexError, "index is 3"),
        (-4, IndexError, "index is -4"),
        ((0, 4), IndexError, "key is 4; expected -4 to 3 on axis 1"),
        ((0, 0, 0, 0), IndexError, "has 4 indices"),
        ((..., ...), IndexError, "2 '...'"),
        (1 << 70, OverflowError, "64 bits"),
        (1.0, TypeError, "of type float"),
        ("x", TypeError, "of type str"),
        ([0, 1], TypeError, "of type list"),
        (True, TypeError, "of type bool"),
        (slice(None, None, 0), ValueError, "zero"),
        ((None,) * 64, ValueError, "64"),
    ],
)
def test_a_key_that_names_nothing_is_refused(key: Any, kind: type[Exception], words: str) -> None:
    a, _ = pair()
    with pytest.raises(kind, match=words):
        a[key]


def test_iteration_gives_each_row() -> None:
    assert [row.tolist() for row in grid()] == grid().tolist()  # type: ignore[attr-defined]
    assert len(grid()) == 3
    with pytest.raises(TypeError, match="len: the array has no dimensions; expected at least one"):
        len(grid()[0, 0])


def test_a_sequence_in_c_has_no_row_before_the_first() -> None:
    """CPython adds the length to a negative index before it asks."""
    get_item = ctypes.pythonapi.PySequence_GetItem
    get_item.restype, get_item.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    a = grid()
    assert [get_item(a, index).ptr for index in range(-3, 3)] == [a[index].ptr for index in range(-3, 3)]
    for index in (-4, -6, -7, 3, -(2**63)):
        with pytest.raises(IndexError, match="expected -3 to 2"):
            get_item(a, index)


def test_every_permutation_is_numpys() -> None:
    a, n = pair()
    for axes in itertools.permutations(range(3)):
        same(a.transpose(axes), n.transpose(axes))
        same(a.transpose(*axes), n.transpose(axes))
    same(a.T, n.T)
    same(a.transpose(), n.T)
    same(a.transpose(-1, 0, 1), n.transpose(-1, 0, 1))


@pytest.mark.parametrize("shape", [60, (60,), (5, 12), (-1, 3), (2, 2, 3, 5), (1, 60, 1), (3, 4, 5, 1)])
def test_every_reshape_is_numpys(shape: Any) -> None:
    a, n = pair()
    same(a.reshape(shape), n.reshape(shape))


def test_a_reshape_that_would_copy_is_refused() -> None:
    with pytest.raises(via.NeedsCopyError):
        grid().T.reshape(12)
    assert grid().T.copy().reshape(12).tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


def test_broadcasts_are_numpys_and_read_only() -> None:
    numpy = peer("numpy")
    n = numpy.arange(3, dtype="float32").reshape(3, 1)
    a = via.asarray(n)
    wide = a.broadcast_to(2, 3, 4)
    same(wide, numpy.broadcast_to(n, (2, 3, 4)))
    assert wide.readonly and wide.strides == (0, 4, 0)


def test_axes_of_one_come_and_go() -> None:
    a, n = pair()
    same(a.expand_dims(0), n[None])
    same(a.expand_dims(-1), n[..., None])
    same(a.expand_dims(1).squeeze(1), n)
    same(a[None, :, None].squeeze(), n)
    same(a[None, :, None].squeeze((0,)), n[:, None])
    same(a[None, :, None].squeeze(axis=(0, 2)), n)
    with pytest.raises(TypeError, match="axis is"):
        a.squeeze("x")
    same(a.squeeze(()), n)


def test_bytes_are_seen_as_other_types() -> None:
    a, n = pair()
    same(a.view("int32"), n.view("i4"))
    same(a.view("uint8"), n.view("u1"))
    assert a[..., :4].copy().view("float64").shape == (3, 4, 2)


def test_fields_of_a_record_are_views() -> None:
    values = numbers(12)
    a = via.wrap(ctypes.addressof(values), 3, "record16", owner=values)
    assert a.field(4, "float32").tolist() == [1, 5, 9]
    assert a.field(4, "float32", 2).tolist() == [[1, 2], [5, 6], [9, 10]]
    squares = a.field(offset=0, dtype="float32", shape=(2, 2))
    assert squares.tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
    assert a.field(8, "complex64").tolist() == [2 + 3j, 6 + 7j, 10 + 11j]
    a.field(0, "float32").fill(-1)
    assert values[4] == -1


def test_the_halves_of_a_complex_number_are_fields() -> None:
    a = grid().view("complex64")
    assert a.field(4, "float32").tolist() == [[1, 3], [5, 7], [9, 11]]


def test_an_array_reports_all_about_itself() -> None:
    a = grid()[1:, ::2]
    assert (a.shape, a.strides, a.element_strides, a.ndim) == ((2, 2), (16, 8), (4, 2), 2)
    assert (a.size, a.itemsize, a.nbytes, a.device) == (4, 4, 16, "cpu")
    assert (a.readonly, a.copied, a.aligned) == (False, False, True)
    assert (a.c_contiguous, a.f_contiguous, a.contiguous) == (False, False, False)
    assert grid().c_contiguous and grid().T.f_contiguous and grid().T.contiguous


def test_elements_narrower_than_a_byte_are_counted_in_bits() -> None:
    a = via.empty((4, 6), "int4")
    assert (a.itemsize, a.nbytes, a.element_strides) == (0.5, 12, (6, 1))
    assert a.strides is None
    assert a[1].ptr == a.ptr + 3
    with pytest.raises(via.NeedsCopyError):
        a[:, 1:]


def test_the_repr_says_where_what_and_whose() -> None:
    a = grid().as_readonly()
    text = repr(a)
    for word in (hex(a.ptr), "(3, 4)", "float32", "cpu", "read-only", "c_float_Array_12"):
        assert word in text
    assert "viaduct" in repr(via.empty((1,), "int8"))
    assert "at 0x0, shape (0, 3)" in repr(via.empty((0, 3), "int8"))
    assert "a release function" in repr(via.wrap(4096, 0, "int8", release=lambda: None))
    assert "nobody" in repr(via.wrap(4096, 0, "int8"))


def test_truth_is_refused_as_ambiguous() -> None:
    for a in (grid(), grid()[0, 0]):
        with pytest.raises(TypeError, match="truth"):
            bool(a)


def test_arrays_are_not_made_by_their_type_nor_inherited_from() -> None:
    with pytest.raises(TypeError):
        via.Array()
    with pytest.raises(TypeError):
        type("Mine", (via.Array,), {})


def test_the_owner_is_seen_through_every_view_and_nobody_elses() -> None:
    a = grid()
    for view in (a, a[0], a.T, a.reshape(12), a.field(0, "uint8")):
        assert view.owner is a.owner
    assert via.empty((1,), "int8").owner is None
    assert via.from_dlpack(a.__dlpack__()).owner is None


def test_one_element_is_a_number_and_more_are_not() -> None:
    a = via.empty((1, 2), "float32")
    a[0, 0], a[0, 1] = 1.5, 2.5
    assert float(a[0, 1]) == 2.5 and int(a[0, :1]) == 1 and complex(a[0, 1]) == 2.5
    assert complex(via.full((1,), 1 + 2j, "complex64")) == 1 + 2j
    with pytest.raises(ValueError, match="item"):
        float(a)
