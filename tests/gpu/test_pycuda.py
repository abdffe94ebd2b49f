"""PyCUDA: its arrays and allocations next to raw pointers, without a copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest
import viaduct as via
from gpu_peers import counted, gpu_peer

driver = gpu_peer("pycuda.driver", lambda module: module.init() is None and module.Device.count() > 0)
from pycuda import gpuarray


@pytest.fixture(autouse=True)
def primary_context() -> Iterator[None]:
    context = driver.Device(0).retain_primary_context()
    context.push()
    yield
    context.pop()


def test_an_array_is_taken_and_its_raw_pointer_wrapped() -> None:
    p = gpuarray.zeros((3, 4), "float32") + 2
    driver.Context.synchronize()
    a = via.asarray(p)
    assert a.ptr == int(p.gpudata) and a.shape == (3, 4) and a.copy("cpu").tolist() == [[2] * 4] * 3
    assert via.wrap(int(p.gpudata), 12, "float32", device="cuda:0", owner=p).copy("cpu").tolist() == [2] * 12


def test_a_raw_pointer_becomes_an_array() -> None:
    a = counted(12, shape=(3, 4))
    p = gpuarray.GPUArray((3, 4), "float32", base=a, gpudata=a.ptr)
    assert p.get().tolist() == a.copy("cpu").tolist()


def test_the_streams_are_each_others() -> None:
    stream = driver.Stream()
    assert via.Stream.wrap(stream).handle == stream.handle
    via.Stream.wrap(stream).synchronize()


def test_memory_of_a_context_that_it_makes_is_taken_and_copied_as_well() -> None:
    context = driver.Device(0).make_context()
    try:
        rows = numpy.arange(600 * 700, dtype=numpy.float32).reshape(600, 700)
        p = gpuarray.zeros((700, 600), "float32")
        via.copy(via.asarray(p), rows.T)
        assert (p.get() == rows.T).all()
        back = numpy.zeros((600, 700), numpy.float32)
        via.copy(back, via.asarray(p).T)
        assert (back == rows).all()
        a = via.wrap(int(p.gpudata), (700, 600), "float32", device="cuda:0", owner=p)
        via.copy(a[:100], a[100:200])
        context.synchronize()
        assert (p.get()[:100] == rows.T[100:200]).all()
    finally:
        context.pop()
        context.detach()
