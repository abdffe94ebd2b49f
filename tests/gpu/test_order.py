"""Who waits for what: exports, imports and host reads of content that a stream still writes."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import cuda_driver
import pytest
import viaduct as via
from cuda_driver import Block, ForeignStream, held, is_done, release
from tables import new_kind
from tensors import Legacy, Producer, Versioned, open_capsule

CUDA, PINNED, MANAGED = 2, 3, 13
KINDS = {"device": "cuda:0", "pinned": "pinned", "managed": "managed"}


@contextmanager
def pending(kind: str = "device", count: int = 64) -> Iterator[tuple[via.Array, via.Stream]]:
    """An array of ones that a held stream has yet to write; it is ready when the scope ends."""
    block = Block(count, kind)
    a = via.wrap(block.ptr, count, "uint8", device=KINDS[kind], owner=block)
    via.fill(a, 0)
    writer = via.Stream()
    with held(writer.handle):
        via.fill(a, 1, stream=writer)
        a.set_ready(writer)
        assert not a.ready
        yield a, writer
    a.synchronize()
    assert a.ready and cuda_driver.read(block.ptr, count) == b"\1" * count


def waits_until_released(work: Callable[[], Any], writer: via.Stream) -> Any:
    """Runs the work on another thread, which must not end before the writer does, and gives its result."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive() and not results
    release(writer.handle)
    thread.join(20)
    assert results
    return results[0]


# ------------------------------------------------------------------------------------------------------------ out


def test_an_export_makes_the_consumers_stream_wait_and_returns() -> None:
    consumer = via.Stream()
    with pending() as (a, _):
        capsule = a.__dlpack__(stream=consumer.handle, max_version=(1, 3))
        assert not consumer.done()
        assert open_capsule(capsule).tensor.data == a.ptr
    consumer.synchronize()


@pytest.mark.parametrize("stream", [None, 1])
def test_an_export_without_a_word_makes_the_legacy_stream_wait(stream: int | None) -> None:
    with pending() as (a, _):
        capsule = a.__dlpack__(stream=stream)
        assert not via.Stream.legacy.done()
        del capsule
    via.Stream.legacy.synchronize()


def test_minus_one_leaves_the_order_to_the_consumer() -> None:
    with pending() as (a, _):
        capsule = a.__dlpack__(stream=-1)
        assert via.Stream.legacy.done()
        del capsule


def test_what_is_ready_makes_nobody_wait() -> None:
    other, consumer = via.Stream(), via.Stream()
    room = Block(64)
    with held(other.handle):
        via.fill(via.wrap(room.ptr, 64, "uint8", device="cuda:0"), 3, stream=other)
        a = via.empty(4, "int8", device="cuda:0")
        capsule = a.__dlpack__(stream=consumer.handle)
        assert consumer.done()
        del capsule


def test_what_is_given_to_a_library_waits_on_the_stream_that_it_works_on() -> None:
    works_on, asked = via.Stream(), []
    kind = new_kind(stream=lambda *device: (asked.append(device), works_on.handle)[1])
    with pending() as (a, _):
        made = a.to(kind)
        assert made.managed.tensor.data == a.ptr and asked == [(CUDA, 0)]
        assert not works_on.done() and via.Stream.legacy.done()
    works_on.synchronize()
    assert a.to(kind).managed.tensor.data == a.ptr and asked == [(CUDA, 0)]


def test_a_library_that_names_no_stream_works_on_the_legacy_one() -> None:
    with pending() as (a, _):
        made = a.to(new_kind())
        assert not via.Stream.legacy.done()
        del made
    via.Stream.legacy.synchronize()


def test_the_host_waits_before_pinned_memory_is_given_away() -> None:
    kind = new_kind()
    with pending("pinned") as (a, writer):
        made = waits_until_released(lambda: a.to(kind), writer)
        assert ctypes.string_at(made.managed.tensor.data, 64) == b"\1" * 64
        del made


def test_a_pointer_given_away_in_one_call_is_ready_as_it_is() -> None:
    other, asked = via.Stream(), []
    kind = new_kind(stream=lambda *device: (asked.append(device), other.handle)[1])
    block = Block(64)
    made = via.wrap(block.ptr, 16, "float32", device="cuda:0", to=kind)
    assert (made.managed.tensor.data, made.managed.tensor.device.device_type, asked) == (block.ptr, CUDA, [])
    del made
    with pytest.raises(ValueError, match="bytes 0 to 128"):
        via.wrap(block.ptr, 32, "float32", device="cuda:0", to=kind)


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_a_stream_is_taken_for_memory_that_devices_reach(kind: str) -> None:
    consumer = via.Stream()
    with pending(kind) as (a, _):
        capsule = a.__dlpack__(stream=consumer.handle, max_version=(1, 3))
        assert not consumer.done()
        del capsule
    consumer.synchronize()


HOST_READS: dict[str, Callable[[via.Array], Any]] = {
    "memoryview": lambda a: bytes(memoryview(a)),
    "the array interface": lambda a: ctypes.string_at(a.__array_interface__["data"][0], 64),
    "tolist": lambda a: bytes(a.tolist()),
    "DLPack without a stream": lambda a: ctypes.string_at(open_capsule(a.__dlpack__()).tensor.data, 64),
    "DLPack as the host's": lambda a: ctypes.string_at(
        open_capsule(a.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).tensor.data, 64
    ),
    "Arrow": lambda a: ctypes.string_at(via.from_arrow(a.__arrow_c_array__()).ptr, 64),
    "synchronize": lambda a: (a.synchronize(), ctypes.string_at(a.ptr, 64))[1],
    "a copy": lambda a: bytes(memoryview(a.copy("cpu"))),
}


@pytest.mark.parametrize("read", HOST_READS)
@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_the_host_waits_before_it_reads(kind: str, read: str) -> None:
    with pending(kind) as (a, writer):
        assert waits_until_released(lambda: HOST_READS[read](a), writer) == b"\1" * 64


def content_of_arrow(a: via.Array) -> bytes:
    """By the structs themselves: the values are the second buffer."""
    schema, column = ctypes.create_string_buffer(72), ctypes.create_string_buffer(128)
    addresses = ctypes.addressof(schema), ctypes.addressof(column)
    via.raw.via_to_arrow_device(a, *addresses)
    buffers = ctypes.c_void_p.from_buffer(column, 40).value
    found = ctypes.string_at(ctypes.c_void_p.from_address((buffers or 0) + 8).value or 0, 64)
    via.raw.via_arrow_release(*addresses)
    return found


def content_of_tensor(tensor: int, *, legacy: bool) -> bytes:
    kind, end = (Legacy, via.raw.via_dlpack_delete_legacy) if legacy else (Versioned, via.raw.via_dlpack_delete)
    found = ctypes.string_at(kind.from_address(tensor).tensor.data, 64)
    end(tensor)
    return found


HOST = {"max_major": 1, "max_minor": 3, "target_device_type": 1, "copy": via.raw.VIA_COPY_ALWAYS}
RAW_READS: dict[str, Callable[[via.Array], bytes]] = {
    "via_to_array_interface": lambda a: ctypes.string_at(via.raw.via_to_array_interface(a)["address"], 64),
    "via_to_arrow_device": content_of_arrow,
    "via_to_dlpack": lambda a: content_of_tensor(via.raw.via_to_dlpack(a, HOST, None), legacy=False),
    "via_to_dlpack_legacy": lambda a: content_of_tensor(via.raw.via_to_dlpack_legacy(a, HOST, None), legacy=True),
    "via_from_dlpack": lambda a: bytes(
        memoryview(via.raw.via_from_dlpack(via.raw.via_to_dlpack(a, None, via.Stream.no_sync), HOST, None))
    ),
    "via_from_dlpack_legacy": lambda a: bytes(
        memoryview(
            via.raw.via_from_dlpack_legacy(via.raw.via_to_dlpack_legacy(a, None, via.Stream.no_sync), HOST, None)
        )
    ),
}


@pytest.mark.parametrize("read", RAW_READS)
def test_a_c_call_that_waits_lets_other_threads_run(read: str) -> None:
    """Else the thread that is to release the stream would wait for this one."""
    with pending("pinned") as (a, writer):
        assert waits_until_released(lambda: RAW_READS[read](a), writer) == b"\1" * 64


def content_of_a_copy(a: via.Array) -> bytes:
    tensor = open_capsule(a.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    return ctypes.string_at(tensor.tensor.data, 64)


def test_the_host_waits_before_it_reads_a_copy_of_device_memory() -> None:
    with pending() as (a, writer):
        assert waits_until_released(lambda: content_of_a_copy(a), writer) == b"\1" * 64


def test_the_interface_names_a_stream_only_if_there_is_something_to_wait_for() -> None:
    mine = via.Stream()
    with pending() as (a, _):
        assert a.__cuda_array_interface__["stream"] == 1
        assert not via.Stream.legacy.done()
        with mine:
            assert a.__cuda_array_interface__["stream"] == mine.handle
        assert not mine.done()
    mine.synchronize()
    via.Stream.legacy.synchronize()
    assert a.__cuda_array_interface__["stream"] is None


def test_the_c_call_names_the_stream_that_it_is_given() -> None:
    a = via.empty(4, "int8", device="cuda:0")
    own = via.Stream()
    describe = via.raw.via_to_cuda_array_interface
    for stream, named in ((None, 1), (via.Stream.legacy, 1), (via.Stream.per_thread, 2), (own, own.handle)):
        found = describe(a, stream)
        assert (found["has_stream"], found["stream"]) == (1, named)
    assert describe(a, via.Stream.no_sync)["has_stream"] == 0


def test_arrow_carries_an_event_that_the_importer_follows() -> None:
    reader = via.Stream()
    with pending() as (a, _):
        b = via.from_arrow(a.__arrow_c_device_array__())
        assert not b.ready and via.Stream.legacy.done()
        capsule = b.__dlpack__(stream=reader.handle, max_version=(1, 3))
        assert not reader.done()
        del capsule
    b.synchronize()
    reader.synchronize()
    assert via.from_arrow(a.__arrow_c_device_array__()).ready


# ------------------------------------------------------------------------------------------------------------- in


class Writing(Producer):
    """A producer whose work runs on a stream of its own, and which orders it before the consumer's."""

    def __init__(self, block: Block, writer: via.Stream) -> None:
        super().__init__(data=block.ptr, device=(CUDA, 0), dtype=(1, 8, 1), shape=(64,), strides=(1,))
        self.block, self.writer = block, writer

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> Any:
        assert stream is not None
        via.Stream.wrap(stream).wait(self.writer.record())
        return self.capsule()


def test_what_is_taken_is_ready_after_our_current_stream() -> None:
    writer, mine, reader = via.Stream(), via.Stream(), via.Stream()
    block = Block(64)
    with held(writer.handle):
        via.fill(via.wrap(block.ptr, 64, "uint8", device="cuda:0"), 5, stream=writer)
        with mine:
            a = via.from_dlpack(Writing(block, writer))
        assert not a.ready and not mine.done() and via.Stream.legacy.done()
        capsule = a.__dlpack__(stream=reader.handle)
        assert not reader.done()
        del capsule
    reader.synchronize()
    a.synchronize()
    assert a.copy("cpu").tolist() == [5] * 64


def test_a_finished_capsule_is_ready_after_the_legacy_stream() -> None:
    block, room = Block(64), Block(64)
    producer = Producer(data=block.ptr, device=(CUDA, 0))
    with held(1):
        via.fill(via.wrap(room.ptr, 64, "uint8", device="cuda:0"), 1, stream=via.Stream.legacy)
        a = via.from_dlpack(producer.capsule())
        assert not a.ready
    a.synchronize()
    assert via.from_dlpack(producer.capsule()).ready


@pytest.mark.parametrize("named", ["own", "legacy", "none"])
def test_described_memory_is_ready_after_the_stream_that_is_named(named: str) -> None:
    block, room = Block(64), Block(64)
    own = ForeignStream()
    number = {"own": own.number, "legacy": 1, "none": None}[named]

    class Described:
        __cuda_array_interface__: ClassVar[dict[str, Any]] = {
            "shape": (64,),
            "typestr": "|u1",
            "version": 3,
            "data": (block.ptr, False),
            "stream": number,
        }

    with held(number or own.number):
        stream = via.Stream.wrap(number or own.number)
        via.fill(via.wrap(room.ptr, 64, "uint8", device="cuda:0"), 1, stream=stream)
        a = via.asarray(Described())
        assert a.ready == (named == "none")
    a.synchronize()
    del stream
    own.synchronize()
    own.destroy()


def test_the_exchange_api_works_on_our_current_stream() -> None:
    """As a kernel library uses it: take without a word, then work on the stream that it is given."""
    mine = via.Stream()
    with pending() as (a, _):
        with mine:
            table = ExchangeApi(a)
            assert table.current_stream(CUDA, 0) == mine.handle
            tensor = table.export(a)
        assert tensor.tensor.data == a.ptr and not mine.done()
        table.delete(tensor)
    mine.synchronize()


class ExchangeApi:
    """The C functions of __dlpack_c_exchange_api__, called as C would."""

    def __init__(self, a: via.Array) -> None:
        capsule = type(a).__dlpack_c_exchange_api__
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        self.words = (ctypes.c_void_p * 7).from_address(get(capsule, b"dlpack_exchange_api"))

    def current_stream(self, device_type: int, device_id: int) -> int | None:
        function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(self.words[6])
        out = ctypes.c_void_p()
        assert function(device_type, device_id, ctypes.addressof(out)) == 0
        return out.value

    def export(self, a: via.Array) -> Any:
        from tensors import Versioned

        function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.words[3])
        out = ctypes.c_void_p()
        assert function(a, ctypes.addressof(out)) == 0 and out.value
        return Versioned.from_address(out.value)

    def delete(self, tensor: Any) -> None:
        via.raw.via_dlpack_delete(ctypes.addressof(tensor))


def test_a_pinned_array_that_is_read_while_it_is_written_is_not_ready_by_itself() -> None:
    with pending("pinned") as (a, writer):
        assert not is_done(writer.handle)
        assert ctypes.string_at(a.ptr, 64) == bytes(64)
        assert not is_done(writer.handle)
