"""Copies from Python between every two kinds of memory, whole and strided, now and on a stream."""

from __future__ import annotations

import random

import pytest
import viaduct as via
from cuda_driver import Block, held

KINDS = ["cpu", "pinned", "managed", "cuda:0"]


def filled(device: str, count: int, seed: int = 1) -> via.Array:
    source = via.asarray(bytearray(random.Random(seed).randbytes(count)))
    return source if device == "cpu" else source.copy(device)


def content(a: via.Array) -> bytes:
    host = a.copy("cpu")
    return bytes(memoryview(host.reshape(host.size)))


@pytest.mark.parametrize("dst", KINDS)
@pytest.mark.parametrize("src", KINDS)
@pytest.mark.parametrize("count", [1, 1000, 1 << 20])
def test_bytes_arrive_between_every_two_kinds(dst: str, src: str, count: int) -> None:
    source = filled(src, count)
    target = via.empty(count, "uint8", device=dst)
    via.copy(target, source)
    assert content(target) == content(source) == random.Random(1).randbytes(count)


@pytest.mark.parametrize("dst", KINDS)
@pytest.mark.parametrize("src", KINDS)
def test_bytes_arrive_in_the_order_of_a_stream(dst: str, src: str) -> None:
    source, target, stream = filled(src, 1 << 16), via.empty(1 << 16, "uint8", device=dst), via.Stream()
    via.copy(target, source, stream=stream)
    target.synchronize()
    assert content(target) == content(source)


def test_a_copy_on_a_stream_comes_after_what_is_queued_there() -> None:
    a, b = filled("cuda:0", 4096), via.empty(4096, "uint8", device="cuda:0")
    stream = via.Stream()
    with held(stream.handle):
        via.fill(a, 9, stream=stream)
        via.copy(b, a, stream=stream.handle)
        assert not stream.done() and not b.ready
    assert content(b) == b"\x09" * 4096


def test_copies_go_between_devices() -> None:
    if via.device_count() < 2:
        pytest.skip("there is one device")
    a = filled("cuda:0", 1 << 16)
    b = a.copy("cuda:1")
    assert b.device == "cuda:1" and content(b) == content(a)


@pytest.mark.parametrize("device", ["pinned", "managed", "cuda:0"])
def test_copy_of_an_array_goes_to_the_device_named_and_stays_otherwise(device: str) -> None:
    a = filled("cpu", 240).reshape(4, 60)
    b = a.copy(device)
    assert b.device == device and b.copy().device == device and b.copy("cpu").tolist() == a.tolist()
    assert b.copy().ptr != b.ptr


def test_fill_reaches_every_kind() -> None:
    for device in KINDS:
        a = via.empty(100, "uint16", device=device)
        a.fill(0x1234)
        assert a.copy("cpu").tolist() == [0x1234] * 100, device


def test_assignment_and_items_reach_device_memory() -> None:
    a = via.empty(12, "float32", device="cuda:0")
    a.fill(0)
    a[3:6] = via.asarray(memoryview(bytearray(12)).cast("f")).copy("cpu")
    a[0] = 7
    assert a.copy("cpu").tolist() == [7, *[0] * 11]


def test_what_cannot_be_copied_is_refused_and_untouched() -> None:
    a = filled("cuda:0", 64)
    before = content(a)
    for dst, src, words in (
        (a.as_readonly(), a, "read-only"),
        (a, a[1:], "shape"),
        (a, a.view("int8"), "int8"),
        (a[1:], a[:-1], "overlap|share"),
    ):
        with pytest.raises(via.Error, match=words):
            via.copy(dst, src)
        with pytest.raises(via.Error, match=words):
            via.copy(dst, src, stream=via.Stream.legacy)
    assert content(a) == before


def test_a_copy_is_explained() -> None:
    a, b = filled("cpu", 4096), via.empty(4096, "uint8", device="cuda:0")
    assert "driver" in via.copy_explain(b, a) or "staged" in via.copy_explain(b, a)


def test_memory_that_is_only_known_by_its_address_is_copied() -> None:
    block = Block(64)
    a = via.wrap(block.ptr, 64, "uint8", device="any", owner=block)
    via.copy(a, bytes(range(64)))
    room = bytearray(64)
    via.copy(room, a)
    assert room == bytes(range(64))
