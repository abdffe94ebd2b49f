"""Streams and events in Python: made here, taken from others, as context managers, in order."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import cuda_driver
import pytest
import viaduct as via
from cuda_driver import ForeignStream, held


def test_a_new_stream_has_a_handle_a_device_and_no_work() -> None:
    stream = via.Stream()
    assert stream.handle > 2 and stream.device == "cuda:0"
    assert stream.done()
    stream.synchronize()
    assert via.Stream("cuda:0") != stream
    assert via.Stream(device=(2, 0)).device == "cuda:0"


def test_devices_that_are_not_there_are_refused() -> None:
    for kind in (via.Stream, via.Event):
        with pytest.raises(RuntimeError, match="device_id is 99"):
            kind(99)
        with pytest.raises(RuntimeError, match="expected a CUDA device"):
            kind("pinned")
        with pytest.raises(RuntimeError, match="expected the number of a CUDA device"):
            kind(-1)


def test_the_second_device_has_streams_of_its_own() -> None:
    if cuda_driver.device_count() < 2:
        pytest.skip("there is one device")
    stream = via.Stream(1)
    assert stream.device == "cuda:1"
    assert via.Stream.wrap(stream.handle).device == "cuda:1"
    with pytest.raises(RuntimeError, match="device_id is 0.*device 1"):
        via.Stream.wrap(stream.handle, device=0)


class HasProtocol:
    def __init__(self, answer: tuple[int, int]) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.answer


class Bag:
    """An object with attributes."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


def test_streams_of_others_are_taken_by_what_they_have() -> None:
    owner = ForeignStream()
    number = owner.number
    lookalikes: list[Any] = [
        number,
        owner,
        Bag(__cuda_stream__=(0, number)),
        Bag(cuda_stream=number, ptr=1),  # torch
        Bag(ptr=number),  # CuPy
        Bag(handle=ctypes.c_void_p(number)),  # Numba
        Bag(handle=number),  # PyCUDA
    ]
    for other in lookalikes:
        stream = via.Stream.wrap(other)
        assert stream.handle == number and stream.device == "cuda:0", other
        assert stream == via.Stream.wrap(number) and hash(stream) == hash(via.Stream.wrap(number))
    del stream
    owner.destroy()


def test_what_is_no_stream_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Stream.wrap: stream is of type object"):
        via.Stream.wrap(object())
    with pytest.raises(ValueError, match=r"\(1, 5\); expected 0, its version"):
        via.Stream.wrap(HasProtocol((1, 5)))
    with pytest.raises(ValueError, match="is -1; expected"):
        via.Stream.wrap(-1)


class Handle:
    """A CUstream of CUDA's own bindings."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __int__(self) -> int:
        return self.number


@pytest.mark.parametrize(
    "answer",
    [None, 5, (0,), (0, 1, 2), (0, None), (0, 1.5), (0, "1"), (0, True), ("0", 1), (None, 1)],
    ids=repr,
)
def test_an_answer_that_is_no_version_and_number_is_refused_by_name(answer: Any) -> None:
    with pytest.raises(ValueError, match="__cuda_stream__ of <.*HasProtocol.*> is .*; expected 0, its version, and"):
        via.Stream.wrap(HasProtocol(answer))


def test_a_handle_is_an_integer_or_a_wrapper_of_one() -> None:
    assert via.Stream.wrap(HasProtocol((0, Handle(2)))) == via.Stream.per_thread  # type: ignore[arg-type]
    assert via.Stream.wrap(Bag(ptr=Handle(2))) == via.Stream.per_thread
    for number in (2.5, "2", True):
        with pytest.raises(TypeError, match="Stream.wrap: stream is of type Bag"):
            via.Stream.wrap(Bag(ptr=number))
        with pytest.raises(TypeError, match="Event.wrap: event is of type Bag"):
            via.Event.wrap(Bag(ptr=number))


def test_the_default_streams_are_four_different_things() -> None:
    assert via.Stream.legacy.handle == 1 and via.Stream.per_thread.handle == 2
    assert via.Stream.wrap(0) == via.Stream.wrap(1) == via.Stream.wrap(None) == via.Stream.legacy
    assert via.Stream.wrap(2) == via.Stream.per_thread
    assert len({via.Stream.legacy, via.Stream.per_thread, via.Stream.no_sync, via.Stream.wrap(0)}) == 3
    assert via.Stream.no_sync != via.Stream.legacy and via.Stream.no_sync != 0
    assert [repr(s) for s in (via.Stream.legacy, via.Stream.per_thread, via.Stream.no_sync)] == [
        "<viaduct.Stream legacy>",
        "<viaduct.Stream per_thread>",
        "<viaduct.Stream no_sync>",
    ]
    via.Stream.legacy.synchronize()
    assert via.Stream.per_thread.done()
    with pytest.raises(ValueError, match="no_sync"):
        via.Stream.no_sync.synchronize()


def test_the_protocol_gives_version_and_handle() -> None:
    stream = via.Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert via.Stream.wrap(HasProtocol(stream.__cuda_stream__())) == stream


def test_with_makes_a_stream_current_for_this_thread_and_restores_the_one_before() -> None:
    outer, inner = via.Stream(), via.Stream()
    seen: list[via.Stream] = []
    assert via.Stream.current() == via.Stream.legacy
    with outer as entered:
        assert entered is outer and via.Stream.current() == outer
        with inner, inner:
            assert via.Stream.current("cuda:0") == inner
        other = threading.Thread(target=lambda: seen.append(via.Stream.current()))
        other.start()
        other.join()
        assert via.Stream.current() == outer
    assert via.Stream.current() == via.Stream.legacy
    assert seen == [via.Stream.legacy]


def test_a_stream_is_restored_after_an_exception() -> None:
    with pytest.raises(KeyError), via.Stream():
        raise KeyError
    assert via.Stream.current() == via.Stream.legacy
    with pytest.raises(ValueError, match="entered no stream"):
        via.Stream.legacy.__exit__(None, None, None)
    with pytest.raises(ValueError, match="no_sync"), via.Stream.no_sync:
        pass


def test_events_mark_points_and_streams_wait_for_them() -> None:
    first, second = via.Stream(), via.Stream()
    room = cuda_driver.Block(16)
    a = via.wrap(room.ptr, 16, "uint8", device="cuda:0", owner=room)
    event = via.Event()
    assert event.done() and event.handle != 0
    with held(first.handle):
        via.fill(a, 1, stream=first)
        assert first.record(event) is event
        other = first.record()
        assert not event.done() and not other.done()
        second.wait(event)
        last = second.record()
        assert not last.done()
    for waited in (event, other, last):
        waited.synchronize()
        assert waited.done()


def test_events_of_others_are_taken() -> None:
    stream = via.Stream()
    mine = stream.record()
    for other in (mine.handle, Bag(cuda_event=mine.handle), Bag(ptr=mine.handle), Bag(handle=mine.handle)):
        theirs = via.Event.wrap(other)
        assert theirs.handle == mine.handle
        theirs.synchronize()
        stream.wait(other)
    with pytest.raises(TypeError, match="Event.wrap"):
        via.Event.wrap(object())
    with pytest.raises(TypeError, match="Stream.wait"):
        stream.wait(object())
    stream.synchronize()


def test_an_event_is_recorded_on_the_current_stream_if_none_is_named() -> None:
    stream = via.Stream()
    room = cuda_driver.Block(16)
    a = via.wrap(room.ptr, 16, "uint8", device="cuda:0", owner=room)
    event = via.Event()
    with held(stream.handle):
        via.fill(a, 1, stream=stream)
        event.record()
        event.synchronize()
        with stream:
            event.record()
        assert not event.done()
    event.synchronize()
