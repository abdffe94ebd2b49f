"""Pickles of arrays that are not plain host memory."""

from __future__ import annotations

import pickle

import pytest
import viaduct as via
from gpu_peers import counted, on_host


def test_an_array_of_a_device_comes_back_on_the_device_of_that_number() -> None:
    a = counted(24, shape=(2, 3, 4))
    for view in (a, a.transpose(2, 0, 1), a[:, ::2]):
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(view, protocol=5, buffer_callback=buffers.append)
        assert [buffer.raw().nbytes for buffer in buffers] == [view.nbytes]
        for found in (pickle.loads(text, buffers=buffers), pickle.loads(pickle.dumps(view, protocol=4))):
            assert (found.shape, found.device) == (view.shape, "cuda:0") and found.ptr != view.ptr
            assert on_host(found) == on_host(view)


def test_pending_work_is_in_the_pickle() -> None:
    a, stream = counted(), via.Stream()
    via.fill(a, 7, stream=stream)
    a.set_ready(stream)
    assert on_host(pickle.loads(pickle.dumps(a))) == on_host(a)
    assert pickle.loads(pickle.dumps(a)).copy("cpu").tolist() == [7] * 12


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_that_the_host_reaches_goes_as_it_is_and_arrives_as_host_memory(kind: str) -> None:
    a = counted(12, shape=(3, 4)).copy(kind)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    found = pickle.loads(text, buffers=buffers)
    assert (found.ptr, found.device) == (a.ptr, "cpu") and on_host(found) == on_host(a)


def test_without_that_device_it_is_an_error_and_no_other_place() -> None:
    text = pickle.dumps(counted(), protocol=0)
    number = via.device_count()
    with pytest.raises(RuntimeError, match=str(number)):
        pickle.loads(text.replace(b"cuda:0", f"cuda:{number}".encode()))
