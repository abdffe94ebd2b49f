"""Batch on devices: in stream order, and waited for where no stream is given."""

from __future__ import annotations

import viaduct as via
from cuda_driver import held
from viaduct import raw


def copies_to_device() -> list[tuple[via.Array, via.Array]]:
    return [(via.zeros(64, "uint8", device="cuda:0"), via.full(64, i + 1, "uint8")) for i in range(4)]


def batch_of(copies: list[tuple[via.Array, via.Array]]) -> via.Batch:
    batch = via.Batch()
    for dst, src in copies:
        batch.add(dst, src)
    return batch


def arrived(copies: list[tuple[via.Array, via.Array]]) -> bool:
    return all(dst.copy("cpu").tolist() == src.copy("cpu").tolist() for dst, src in copies)


def test_without_a_stream_the_copies_have_been_made_on_return() -> None:
    copies = copies_to_device()
    batch_of(copies).run()
    assert all(dst.ready for dst, _ in copies) and arrived(copies)


def test_on_a_stream_they_come_after_its_work() -> None:
    stream = via.Stream()
    copies = [(via.zeros(64, "uint8", device="cuda:0"), via.full(64, 3, "uint8", device="cuda:0")) for _ in range(4)]
    batch = batch_of(copies)
    batch.run(stream)  # kernels are loaded when first needed, which waits
    stream.synchronize()
    with held(stream.handle):
        via.fill(copies[0][1], 7, stream=stream)
        batch.run(stream)
        assert not stream.done()
    stream.synchronize()
    assert copies[0][0].copy("cpu").tolist() == [7] * 64 and arrived(copies)


def test_a_task_of_a_batch_comes_after_a_streams_work_and_is_joined() -> None:
    first, second = via.Stream(), via.Stream()
    copies = copies_to_device()
    task = batch_of(copies).submit(stream=first)
    task.join(second)
    second.synchronize()
    task.wait(20)
    assert arrived(copies)


def test_a_batch_of_host_memory_without_a_stream_waits_for_no_device() -> None:
    device = via.empty(16, "uint8", device="cuda:0")
    copies = [(via.asarray(bytearray(64)), via.asarray(bytearray(b"\x05" * 64))) for _ in range(3)]
    batch = via.Batch()
    for dst, src in copies:
        batch.add(dst, src)
    with held(via.Stream.legacy.handle):
        via.fill(device, 1, stream=via.Stream.legacy)
        batch.run()
        raw.via_batch_run(batch, None)
        raw.via_copy_batch([copies[0][0]], [copies[0][1]], None)
        assert not via.Stream.legacy.done()
    assert all(bytes(memoryview(dst)) == b"\x05" * 64 for dst, _ in copies)
