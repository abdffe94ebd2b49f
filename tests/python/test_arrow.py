"""Arrow's capsules, both ways."""

from __future__ import annotations

import contextlib
import ctypes
import random
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import address_of_arrow, grid, is_gone, numbers, peer
from tensors import capsule_pointer

RELEASE = 64  # the offset of an ArrowArray's member

NAMES = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_column_goes_out_and_comes_back_at_the_same_address(name: str) -> None:
    pyarrow = peer("pyarrow")
    a = via.empty((5,), name)
    a.fill(3)
    column = pyarrow.array(a)
    assert address_of_arrow(column) == a.ptr
    assert column.null_count == 0
    assert [float(x.as_py()) for x in column] == [3.0] * 5
    back = via.from_arrow(column)
    assert back.ptr == a.ptr and back.dtype_name == name and back.readonly


def test_more_dimensions_are_a_tensor_column() -> None:
    pyarrow = peer("pyarrow")
    a = grid()
    column = pyarrow.array(a)
    assert column.type == pyarrow.fixed_shape_tensor(pyarrow.float32(), [4])
    assert column.to_numpy_ndarray().tolist() == a.tolist()
    back = via.from_arrow(column)
    assert back.ptr == a.ptr and back.shape == (3, 4)


@pytest.mark.parametrize("seed", range(40))
def test_permuted_tensors_come_in_as_pyarrow_itself_reads_them(seed: int) -> None:
    pyarrow, np = peer("pyarrow"), peer("numpy")
    rng = random.Random(seed)
    shape = [rng.randrange(1, 5) for _ in range(rng.randrange(1, 5))]
    permutation = rng.sample(range(len(shape)), len(shape))
    names = [f'axis {i} ü"\\' for i in range(len(shape))] if rng.random() < 0.5 else None
    kind = pyarrow.fixed_shape_tensor(pyarrow.int32(), shape, dim_names=names, permutation=permutation)
    size = int(np.prod(shape))
    values = pyarrow.array(np.arange(4 * size, dtype=np.int32))
    column = pyarrow.ExtensionArray.from_storage(kind, pyarrow.FixedSizeListArray.from_arrays(values, size))
    rows = np.arange(4 * size, dtype=np.int32).reshape(4, *shape)
    expected = rows.transpose(0, *(axis + 1 for axis in permutation))
    found = via.from_arrow(column)
    assert found.shape == expected.shape and np.array_equal(found.numpy(), expected)
    assert np.array_equal(via.from_arrow(column[2:]).numpy(), expected[2:])
    # Some of its versions refuse layouts of their own making.
    with contextlib.suppress(pyarrow.ArrowInvalid):
        assert np.array_equal(column.to_tensor().to_numpy(), expected)


def test_records_are_binary_of_one_length() -> None:
    pyarrow = peer("pyarrow")
    a = via.empty((2,), "record12")
    a.fill(b"0123456789ab")
    column = pyarrow.array(a)
    assert column.type == pyarrow.binary(12) and column.to_pylist() == [b"0123456789ab"] * 2
    assert via.from_arrow(column).ptr == a.ptr


def test_nested_lists_of_one_length_come_in_as_dimensions() -> None:
    pyarrow = peer("pyarrow")
    column = pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.int16(), 2))
    a = via.from_arrow(column)
    assert a.tolist() == [[1, 2], [3, 4], [5, 6]] and a.dtype_name == "int16"


def test_the_offset_of_a_slice_is_kept() -> None:
    pyarrow = peer("pyarrow")
    column = pyarrow.array([1, 2, 3, 4, 5])
    a = via.from_arrow(column[2:4])
    assert a.tolist() == [3, 4]
    assert a.ptr == address_of_arrow(column) + 16


@pytest.mark.parametrize("hidden", [[None, 2], None])
def test_nulls_outside_of_a_slice_of_lists_are_not_its_own(hidden: Any) -> None:
    pyarrow = peer("pyarrow")
    column = pyarrow.array([hidden, [3, 4], [5, 6], hidden], pyarrow.list_(pyarrow.int16(), 2))
    assert column.values.null_count > 0
    assert via.from_arrow(column[1:3]).tolist() == [[3, 4], [5, 6]]
    for start, stop in ((0, 2), (2, 4)):
        with pytest.raises(via.ExchangeError, match="null_count"):
            via.from_arrow(column[start:stop])


def test_the_owner_lives_until_arrow_releases() -> None:
    pyarrow = peer("pyarrow")

    class Owner:
        values = numbers(4)

    owner = Owner()
    reference = weakref.ref(owner)
    column = pyarrow.array(via.wrap(ctypes.addressof(owner.values), 4, "float32", owner=owner))
    del owner
    assert reference() is not None and column.to_pylist() == [0, 1, 2, 3]
    del column
    assert is_gone(reference)


def test_capsules_that_nobody_takes_free_what_they_hold() -> None:
    a = grid()
    for export in (a.__arrow_c_array__, a.__arrow_c_device_array__, a.__arrow_c_schema__):
        capsules = export()
        del capsules
    assert via.stats()["outstanding_exports"] == 0


def test_a_pair_of_capsules_can_be_taken_once() -> None:
    pair = grid().__arrow_c_array__()
    a = via.from_arrow(pair)
    assert a.shape == (3, 4)
    with pytest.raises(via.Error, match="released|consumed|release"):
        via.from_arrow(pair)


def test_a_column_is_released_once_though_there_is_no_memory_for_its_array() -> None:
    testcapi = peer("_testcapi")
    released: list[int] = []
    failures = 0
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def release(column: int) -> None:
        released.append(column)
        if len(released) == 1:
            original(column)
        ctypes.c_void_p.from_address(column + RELEASE).value = None

    callback = signature(release)
    for failing in range(12):
        pair = grid().__arrow_c_array__()
        member = ctypes.c_void_p.from_address(capsule_pointer(pair[1], b"arrow_array") + RELEASE)
        original = signature(member.value or 0)
        member.value = ctypes.cast(callback, ctypes.c_void_p).value
        made: via.Array | None = None
        testcapi.set_nomemory(failing, failing + 1)
        try:
            made = via.from_arrow(pair)
        except MemoryError:
            failures += 1
        finally:
            testcapi.remove_mem_hooks()
        del pair, made
        assert len(released) == 1, failing
        released.clear()
    assert failures > 0


def test_a_schema_may_be_asked_for_as_the_protocol_allows() -> None:
    pyarrow = peer("pyarrow")
    a = grid().reshape(12)
    assert pyarrow.array(a, type=pyarrow.float32()).to_pylist() == list(range(12))
    assert pyarrow.DataType._import_from_c_capsule(a.__arrow_c_schema__()) == pyarrow.float32()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: grid().T, "row-major|order"),
        (lambda: grid()[0, 0], "ndim is 0"),
        (lambda: via.empty((2,), "complex64"), "complex64"),
        (lambda: via.empty((2,), "bfloat16"), "bfloat16"),
        (lambda: via.empty((2,), "float32x4"), "float32x4"),
    ],
)
def test_what_arrow_cannot_say_is_refused_as_a_buffer(make: Any, words: str) -> None:
    for export in ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_schema__"):
        with pytest.raises(BufferError, match=words):
            getattr(make(), export)()


def test_nulls_are_refused() -> None:
    pyarrow = peer("pyarrow")
    with pytest.raises(BufferError, match="null"):
        via.from_arrow(pyarrow.array([1, None, 3]))


def test_columns_that_are_no_numbers_are_refused() -> None:
    pyarrow = peer("pyarrow")
    for column in (pyarrow.array(["a", "b"]), pyarrow.array([True, False]), pyarrow.array([[1], [2, 3]])):
        with pytest.raises(via.Error):
            via.from_arrow(column)


def test_what_is_no_arrow_array_is_refused() -> None:
    for wrong in (7, (1, 2), (), "text", grid().__arrow_c_schema__()):
        with pytest.raises(TypeError, match="from_arrow: x"):
            via.from_arrow(wrong)  # type: ignore[arg-type]


def test_a_refused_pair_is_still_its_producers() -> None:
    pyarrow = peer("pyarrow")
    before = pyarrow.total_allocated_bytes()
    pair = pyarrow.array([1, None, 3]).__arrow_c_array__()
    with pytest.raises(via.Error):
        via.from_arrow(pair)
    assert pyarrow.Array._import_from_c_capsule(*pair).to_pylist() == [1, None, 3]
    del pair
    assert pyarrow.total_allocated_bytes() == before


def test_a_stream_of_chunks_is_refused_as_such() -> None:
    class Column:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise AssertionError("it is not asked for")

    column: Any = Column()
    for call in (via.asarray, via.from_arrow, via.empty_like):
        with pytest.raises(via.ExchangeError, match=r"a stream of Arrow arrays; expected one of them"):
            call(column)
