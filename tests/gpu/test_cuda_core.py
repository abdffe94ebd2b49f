"""cuda.core: its buffers, views, streams and devices next to raw pointers, without a copy."""

from __future__ import annotations

from typing import Any

import pytest
import viaduct as via
from gpu_peers import counted, gpu_peer

core = gpu_peer("cuda.core", lambda module: getattr(module, "Device", None) is not None)
utils = pytest.importorskip("cuda.core.utils", reason="this cuda.core has no utils")


@pytest.fixture
def device() -> Any:
    found = core.Device(0)
    found.set_current()
    return found


def view_of(a: via.Array, stream: int) -> Any:
    make = getattr(utils.StridedMemoryView, "from_any_interface", utils.StridedMemoryView)
    return make(a, stream_ptr=stream)


@pytest.mark.parametrize("stream", [-1, 1])
def test_a_raw_pointer_becomes_a_strided_view(device: Any, stream: int) -> None:
    a = counted(12, shape=(3, 4))
    view = view_of(a, stream)
    assert view.ptr == a.ptr and tuple(view.shape) == (3, 4) and view.is_device_accessible and not view.readonly
    transposed = view_of(a.T.as_readonly(), stream)
    assert tuple(transposed.strides) == (1, 4) and transposed.readonly


def test_a_buffer_is_taken_and_its_raw_pointer_wrapped(device: Any) -> None:
    stream = device.create_stream()
    buffer = device.allocate(4096, stream=stream)
    stream.sync()
    a = via.wrap(int(buffer.handle), (1024,), "float32", device=device, owner=buffer)
    a.fill(2)
    assert a.device == "cuda:0" and a.copy("cpu")[-1].item() == 2
    b = via.from_dlpack(buffer)
    assert b.ptr == a.ptr and b.nbytes == 4096
    del a, b
    buffer.close(stream)
    stream.sync()


def test_the_streams_are_each_others(device: Any) -> None:
    theirs = device.create_stream()
    taken = via.Stream.wrap(theirs)
    assert taken.handle == int(theirs.handle) and taken.device == "cuda:0"
    mine = via.Stream()
    borrowed = device.create_stream(mine)
    assert int(borrowed.handle) == mine.handle
    a = counted(16)
    via.fill(a, 3, stream=theirs)
    theirs.sync()
    assert a.copy("cpu").tolist() == [3] * 16
    event = theirs.record()
    via.Event.wrap(event).synchronize()
