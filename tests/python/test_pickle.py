"""Arrays as pickles: what comes back, and where no byte is copied."""

from __future__ import annotations

import copy
import ctypes
import gc
import multiprocessing
import pickle
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import content, grid, is_gone, numbers
from tensors import Producer

PADDED = 4  # DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def apart(a: via.Array) -> tuple[bytes, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(a, protocol=5, buffer_callback=buffers.append), buffers


def there_and_back(a: via.Array) -> via.Array:
    """Within this process, with nothing in band."""
    text, buffers = apart(a)
    found: via.Array = pickle.loads(text, buffers=buffers)
    return found


def assert_same(found: via.Array, a: via.Array) -> None:
    assert (found.shape, found.dtype_name, found.device) == (a.shape, a.dtype_name, "cpu")
    assert content(found) == content(a)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_brings_the_same_array(protocol: int) -> None:
    for a in (grid(), grid().T, grid()[::2, 1:], grid()[::-1], grid()[1, 2], grid()[:0]):
        found = pickle.loads(pickle.dumps(a, protocol=protocol))
        assert_same(found, a)
        assert found.ptr != a.ptr or a.size == 0


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_out_of_band_a_dense_array_is_not_copied_whatever_the_order_of_its_axes(axes: tuple[int, ...]) -> None:
    a = via.wrap(ctypes.addressof(memory := numbers(24)), (2, 3, 4), "float32", owner=memory).transpose(axes)
    text, buffers = apart(a)
    assert len(text) < 300 and [buffer.raw().nbytes for buffer in buffers] == [96]
    found = pickle.loads(text, buffers=buffers)
    assert found.ptr == a.ptr and found.strides == a.strides
    found[0, 0, 0] = -1
    assert a[0, 0, 0].item() == -1


def test_a_strided_array_is_copied_once_on_the_way_out() -> None:
    a = grid()[:, ::2]
    text, buffers = apart(a)
    found = pickle.loads(text, buffers=buffers)
    assert_same(found, a)
    assert found.ptr == via.asarray(buffers[0].raw()).ptr != a.ptr


def test_memory_lives_until_the_last_of_both_arrays_releases() -> None:
    a = grid()
    alive = weakref.ref(a.owner)
    found = there_and_back(a)
    del a
    assert not is_gone(alive) and found[2, 3].item() == 11
    del found
    gc.collect()
    assert is_gone(alive)


def test_read_only_stays_so_in_band_and_out_of_band() -> None:
    for a, readonly in ((grid().as_readonly(), True), (grid(), False)):
        assert there_and_back(a).readonly is readonly
        for protocol in PROTOCOLS:
            assert pickle.loads(pickle.dumps(a, protocol=protocol)).readonly is readonly


def test_what_was_read_only_is_so_on_a_buffer_that_may_be_written() -> None:
    text, buffers = apart(grid().as_readonly())
    assert pickle.loads(text, buffers=[bytearray(buffers[0].raw())]).readonly


def test_a_buffer_that_may_not_be_written_makes_no_writable_array() -> None:
    text, buffers = apart(grid())
    assert pickle.loads(text, buffers=[bytes(buffers[0].raw())]).readonly


@pytest.mark.parametrize("readonly", [False, True])
def test_a_buffer_within_a_message_makes_an_aligned_array_that_consumers_take(readonly: bool) -> None:
    text, buffers = apart(grid().T)
    askew = memoryview(numbers(64, ctypes.c_uint8)).cast("B")[1:49]
    askew[:] = buffers[0].raw()
    found = pickle.loads(text, buffers=[askew.toreadonly() if readonly else askew])
    assert_same(found, grid().T)
    assert found.aligned and found.strides == grid().T.strides and found.readonly is readonly


def test_buffers_of_another_format_serve() -> None:
    """Who moves buffers between processes need not keep what their elements were."""
    text, buffers = apart(grid())
    moved = (ctypes.c_int16 * 24).from_buffer_copy(buffers[0].raw())
    found = pickle.loads(text, buffers=[memoryview(moved)])
    assert_same(found, grid())
    assert found.ptr == ctypes.addressof(moved)


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint64",
        "float16",
        "complex128",
        "bfloat16",
        "float8_e5m2",
        "complex32",
        "float32x4",
        "record12",
    ],
)
def test_every_element_type_goes(dtype: str) -> None:
    room = numbers(100)
    a = via.wrap(ctypes.addressof(room), 5, dtype, owner=room)
    for found in (there_and_back(a), pickle.loads(pickle.dumps(a))):
        assert_same(found, a)


def test_elements_that_share_bytes_go_by_whole_bytes() -> None:
    room = numbers(4)
    a = via.wrap(ctypes.addressof(room), (2, 4), "int4", owner=room)
    found = there_and_back(a)
    assert (found.shape, found.dtype_name, found.ptr) == ((2, 4), "int4", a.ptr)


SUBBYTE = ["int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "int4x3", "uint1x4", "int2x3"]


def packed(shape: tuple[int, ...], dtype: str) -> via.Array:
    """Elements that share bytes, with bits that report each from its neighbours."""
    room = numbers(64, ctypes.c_uint8)
    room[:] = [(37 * i + 11) % 256 for i in range(64)]
    return via.wrap(ctypes.addressof(room), shape, dtype, owner=room)


def bits_of(a: via.Array) -> list[int]:
    """All elements, first to last, as numbers; read without the library."""
    dense = a.copy()
    size = via.raw.via_dtype_bits(via.raw.via_array_dtype(a))
    whole = int.from_bytes(ctypes.string_at(dense.ptr, -(-a.size * size // 8)), "little")
    return [whole >> i * size & (1 << size) - 1 for i in range(a.size)]


@pytest.mark.parametrize("dtype", SUBBYTE)
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (5,), (7,), (1, 1), (3, 3), (5, 1, 3), (0,), ()])
def test_elements_that_share_their_last_byte_with_nothing_go_too(dtype: str, shape: tuple[int, ...]) -> None:
    a = packed(shape, dtype)
    for found in [there_and_back(a)] + [pickle.loads(pickle.dumps(a, protocol)) for protocol in PROTOCOLS]:
        assert (found.shape, found.dtype_name, found.readonly) == (shape, dtype, False)
        assert bits_of(found) == bits_of(a)
    assert pickle.loads(pickle.dumps(a.as_readonly())).readonly


def test_views_of_elements_that_share_bytes_go_as_the_elements_that_they_are() -> None:
    a = packed((4, 6), "int4")
    for view in (a[1:3], a[:, 2:], a[1, 2], a[0, :3], a[3, 4]):
        found = pickle.loads(pickle.dumps(view))
        assert found.shape == view.shape and bits_of(found) == bits_of(view)
    odd = packed((3, 5), "int4")
    transposed = pickle.loads(pickle.dumps(odd.T))
    assert transposed.shape == (5, 3) and bits_of(transposed.T) == bits_of(odd)


def test_elements_narrower_than_a_byte_that_have_one_each_are_refused_before_they_go() -> None:
    producer = Producer((4,), (1,), (0, 4, 1), flags=PADDED, version=(1, 3))
    with pytest.raises(via.UnsupportedError, match="pickle.*int4.*a byte each.*packed"):
        pickle.dumps(via.from_dlpack(producer))


def test_bytes_too_few_or_too_many_for_the_shape_are_refused() -> None:
    for a in (packed((3,), "int4"), packed((5,), "float6_e2m3fn"), grid()):
        text, buffers = apart(a)
        content = bytes(buffers[0].raw())
        for wrong in (content[:-1], content + b"\0"):
            with pytest.raises((via.ShapeError, via.PointerError)):
                pickle.loads(text, buffers=[wrong])


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_the_copy_module_have_memory_of_their_own(duplicate: Any) -> None:
    a = grid().T
    found = duplicate(a)
    assert_same(found, a)
    assert found.ptr != a.ptr and not found.readonly


def total(a: via.Array) -> float:
    return float(sum(a[i].item() for i in range(a.size)))


@pytest.mark.heavy
def test_another_process_gets_the_elements() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, (grid().reshape(12),)) == 66
