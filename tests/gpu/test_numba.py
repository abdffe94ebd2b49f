"""Numba: a raw pointer of either side in the hands of the other, without a copy."""

from __future__ import annotations

from typing import Any

import pytest
import viaduct as via
from cuda_driver import Block
from gpu_peers import USUAL, counted, ends, gpu_peer, on_host

gpu_peer("numba.cuda", lambda module: bool(module.is_available()))
from numba import cuda


def address(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


def test_a_raw_pointer_becomes_a_numba_array() -> None:
    a = counted(12, shape=(3, 4))
    n = cuda.as_cuda_array(a)
    assert address(n) == a.ptr and n.shape == (3, 4) and n.dtype == "float32"
    assert n.copy_to_host().tolist() == a.copy("cpu").tolist()
    assert cuda.as_cuda_array(a.T).strides == (4, 16)
    assert address(cuda.as_cuda_array(a[::2])) == a.ptr
    assert cuda.is_cuda_array(a) and not cuda.is_cuda_array(via.empty(4, "int8"))


@pytest.mark.parametrize("name", USUAL)
def test_every_usual_dtype_goes_both_ways(name: str) -> None:
    a = counted(8, name)
    n = cuda.as_cuda_array(a)
    assert address(n) == a.ptr and str(n.dtype) == name
    back = via.asarray(n)
    assert back.ptr == a.ptr and back.dtype_name == name and back.device == "cuda:0"
    assert on_host(back) == on_host(a)


def test_a_numba_array_is_taken_where_it_is() -> None:
    import numpy

    host = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    n = cuda.to_device(host)
    a = via.asarray(n)
    assert a.ptr == address(n) and a.copy("cpu").tolist() == host.tolist()
    view = n[:, 1:, ::2]
    assert via.asarray(view).ptr == address(view) and via.asarray(view).strides == view.strides
    wrapped = via.wrap(address(n), (24,), "float32", device="cuda:0", owner=n)
    assert wrapped.copy("cpu").tolist() == host.ravel().tolist()


def test_the_streams_are_each_others() -> None:
    stream = cuda.stream()
    taken = via.Stream.wrap(stream)
    assert taken.handle > 2 and taken.device == "cuda:0"
    mine = via.Stream()
    assert via.Stream.wrap(cuda.external_stream(mine.handle)) == mine
    event = cuda.event(timing=False)
    event.record(stream)
    via.Event.wrap(event).synchronize()


def test_work_of_numbas_stream_is_waited_for() -> None:
    @cuda.jit  # type: ignore[untyped-decorator]
    def add(values: Any) -> None:
        i = cuda.grid(1)
        if i < values.size:
            for _ in range(1000):
                values[i] += 1

    stream = cuda.stream()
    n = cuda.device_array(1 << 16, dtype="float32", stream=stream)
    via.asarray(n).fill(0)
    try:
        add[1 << 8, 256, stream](n)
    except AttributeError as error:
        pytest.skip(f"this Numba compiles nothing with this NumPy: {error}")
    a = via.asarray(n)
    a.set_ready(stream)
    assert a.copy("cpu")[7].item() == 1000


def test_read_only_memory_is_said_to_be() -> None:
    a = counted(4).as_readonly()
    assert a.__cuda_array_interface__["data"] == (a.ptr, True)
    assert address(cuda.as_cuda_array(a)) == a.ptr


def test_the_owner_lives_as_long_as_numba_holds_the_memory() -> None:
    block = Block(48)
    gone: list[int] = []
    n = cuda.as_cuda_array(
        via.wrap(block.ptr, 12, "float32", device="cuda:0", owner=block, release=lambda: gone.append(1))
    )
    assert not gone
    del n
    assert ends(gone)
