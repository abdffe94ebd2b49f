"""The traps that other libraries fell into, each named after the promise it breaks. Those of the CPU's world."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer
from tensors import READ_ONLY, Producer, capsule_name, open_capsule
from test_lifetime import Counter, counted, delete_without_gil, run_python, steal


def test_a_deleter_does_not_take_the_gil() -> None:
    """numpy#22507, pytorch#88082, CV-CUDA#298: a deleter that waits for the GIL hangs who waits for it with the GIL."""
    counter = Counter()
    tensor = steal(counted(counter))
    deleter = ctypes.c_void_p.from_address(tensor + 16).value
    library = ctypes.PyDLL(None)  # keeps the GIL during its calls
    thread = ctypes.c_ulong()
    library.pthread_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    library.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    assert library.pthread_create(ctypes.addressof(thread), None, deleter, tensor) == 0
    assert library.pthread_join(thread, None) == 0  # with the GIL held: a deleter that wants it would never end
    via.stats()
    assert counter.calls == 1


@pytest.mark.heavy
def test_the_end_of_the_interpreter_is_no_abort() -> None:
    """nanobind 2fce88af: a thread that meets finalization inside a deleter."""
    run_python("""
import ctypes, threading
from test_lifetime import Counter, counted, delete_without_gil, steal
tensors = [steal(counted(Counter())) for _ in range(300)]
thread = threading.Thread(target=lambda: [delete_without_gil(t) for t in tensors], daemon=True)
thread.start()
""")


def test_an_unconsumed_capsule_does_not_leak_and_a_consumed_one_is_not_freed_twice() -> None:
    """pytorch#9297, cupy#1445."""
    for consume in (False, True):
        counter = Counter()
        capsule = counted(counter).__dlpack__(max_version=(1, 0))
        taken = via.from_dlpack(capsule) if consume else None
        del capsule
        assert counter.calls == (0 if consume else 1)
        del taken
        assert counter.calls == 1


def test_byte_offset_is_not_ignored() -> None:
    """pytorch#168193, cuda-python#2592."""
    producer = Producer(shape=(2,), strides=(1,), byte_offset=12)
    assert via.from_dlpack(producer.capsule()).tolist() == [3, 4]


def test_negative_strides_do_not_abort() -> None:
    """pytorch#188023."""
    torch = peer("torch")
    with pytest.raises(BufferError, match="PyTorch"):
        torch.from_dlpack(grid()[::-1])
    assert peer("numpy").from_dlpack(grid()[::-1]).tolist() == grid().tolist()[::-1]
    producer = Producer(shape=(3,), strides=(-1,), shift=8)
    assert via.from_dlpack(producer.capsule()).tolist() == [2, 1, 0]


def test_strides_are_not_ignored() -> None:
    """jax#4196."""
    transposed = grid().T
    assert peer("numpy").from_dlpack(transposed).tolist() == transposed.tolist()
    peer("jax")
    import jax.numpy

    assert jax.numpy.from_dlpack(transposed).tolist() == transposed.tolist()


@pytest.mark.parametrize("strides", [(7, 1), (0, 1), (1, 1), (3, 1)])
def test_the_stride_of_a_size_one_axis_is_any(strides: tuple[int, int]) -> None:
    """pytorch#83158, pytorch#99803: such an array is dense, whatever the stride says."""
    a = via.from_dlpack(Producer(shape=(1, 3), strides=strides).capsule())
    assert a.c_contiguous and a.f_contiguous
    assert a.reshape(3).tolist() == [0, 1, 2]
    assert memoryview(a).c_contiguous


def test_null_strides_are_accepted_and_never_given() -> None:
    """dlpack#177."""
    assert via.from_dlpack(Producer(strides=None).capsule()).tolist() == [[0, 1, 2], [3, 4, 5]]
    for a in (grid(), grid()[:0], via.empty((1, 1), "int8")):
        capsule = a.__dlpack__(max_version=(1, 0))
        assert open_capsule(capsule).tensor.strides


def test_alignment_is_seen_and_not_presumed() -> None:
    """array-api#293, jax#37303."""
    a = via.from_dlpack(Producer(shape=(2,), strides=(1,), shift=1).capsule())
    assert not a.aligned
    b = via.empty((2,), "float32")
    via.copy(b, a)
    assert b.aligned and bytes(memoryview(b.view("uint8"))) == bytes(memoryview(a.view("uint8")))


def test_read_only_is_not_dropped() -> None:
    """numpy#20742, MatX#1157, jax#40789."""
    numpy = peer("numpy")
    locked = numpy.arange(3.0)
    locked.flags.writeable = False
    a = via.asarray(locked)
    assert a.readonly
    assert not numpy.from_dlpack(a).flags.writeable
    capsule = a.__dlpack__(max_version=(1, 0))
    assert open_capsule(capsule).flags & READ_ONLY
    with pytest.raises(BufferError):
        a.__dlpack__()
    with pytest.raises(ValueError, match="read-only"):
        a.fill(0)


def test_bool_and_float8_are_types_like_any_other() -> None:
    """pytorch#67081, warp#1619."""
    torch = peer("torch")
    for dtype in (torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16):
        tensor = torch.zeros(4).to(dtype)
        a = via.asarray(tensor)
        assert a.ptr == tensor.data_ptr()
        assert torch.from_dlpack(a).dtype == dtype


def test_host_memory_is_labelled_host_memory() -> None:
    """jax#37896, cuda-python#1863."""
    assert grid().__dlpack_device__() == (1, 0)
    assert grid().device == "cpu"
    with pytest.raises(NotImplementedError):
        via.wrap(4096, 4, "int8", device="pinned")


def test_the_device_id_is_not_hard_wired() -> None:
    """cuvs#2239."""
    with pytest.raises(RuntimeError, match="device_id is 1"):
        via.wrap(4096, 4, "int8", device=(1, 1))
    with pytest.raises(BufferError):
        grid().__dlpack__(dl_device=(1, 1))


def test_keywords_are_negotiated() -> None:
    """cupynumeric#1239, pytorch#169572: a consumer of before the keywords, and one of all of them."""
    a = grid()
    assert capsule_name(a.__dlpack__()) == b"dltensor"
    assert capsule_name(a.__dlpack__(stream=None)) == b"dltensor"
    full: dict[str, Any] = {"stream": None, "max_version": (1, 3), "dl_device": (1, 0), "copy": None}
    assert capsule_name(a.__dlpack__(**full)) == b"dltensor_versioned"


def test_no_elements_need_no_address() -> None:
    """cupy#2802."""
    numpy, torch = peer("numpy"), peer("torch")
    for shape in ((0,), (3, 0), (0, 4, 5)):
        a = via.wrap(0, shape, "float32")
        assert numpy.from_dlpack(a).shape == shape
        assert tuple(torch.from_dlpack(a).shape) == shape
        assert via.from_dlpack(numpy.empty(shape)).shape == shape
        assert via.asarray(torch.empty(shape)).shape == shape
        assert via.from_dlpack(Producer(shape=shape, strides=None, data=0).capsule()).size == 0


def test_what_is_not_taken_stays_the_callers() -> None:
    """A foreign major version: neither consumed nor deleted, and ended by its owner."""
    producer = Producer(version=(2, 0))
    capsule = producer.capsule()
    with pytest.raises(via.VersionError):
        via.from_dlpack(capsule)
    assert capsule_name(capsule) == b"dltensor_versioned" and producer.deleted == 0
    via.raw.via_dlpack_delete(ctypes.addressof(producer.managed))
    assert producer.deleted == 1


def test_a_child_does_not_outlive_its_parent() -> None:
    """GDAL's crash for twenty years: a view of an array that is gone."""
    row = grid()[1]
    field = via.wrap(ctypes.addressof(VALUES), 3, "record16", owner=VALUES).field(4, "float32")
    churn = [bytearray(48) for _ in range(1000)]
    assert row.tolist() == [4, 5, 6, 7]
    assert field.tolist() == [1, 5, 9]
    del churn


VALUES = numbers(12)


def test_a_deleter_may_come_late_and_from_anywhere() -> None:
    """dlpack's header: any thread, with or without the GIL, long after the array is gone."""
    counter = Counter()
    tensor = steal(counted(counter))
    threading.Thread(target=delete_without_gil, args=(tensor,)).start()
    deadline = time.monotonic() + 10
    while counter.calls == 0 and time.monotonic() < deadline:
        via.stats()
    assert counter.calls == 1


def test_a_capsule_stays_valid_while_its_array_changes_hands() -> None:
    a = grid()
    capsules = [a.__dlpack__(max_version=(1, 0)) for _ in range(100)]
    del a
    assert len({open_capsule(capsule).tensor.data for capsule in capsules}) == 1
