"""Wherever an integer is taken, those of other libraries are, and one out of range is an OverflowError or ValueError."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers
from viaduct import raw

VALUES = numbers(64)
ADDRESS = ctypes.addressof(VALUES)


class Number:
    """An integer of another library."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


HUGE = [2**63, 2**64, -(2**63) - 1, -(2**64), 10**400, 10**5000, -(10**5000)]
REFUSED = (OverflowError, ValueError, MemoryError, IndexError, via.DeviceError, via.UnsupportedError)


def wrap(**changes: Any) -> via.Array:
    return via.wrap(**{"ptr": ADDRESS, "shape": (3, 4), "dtype": "float32"} | changes)


def assign(key: Any, value: Any = 0) -> None:
    grid()[key] = value


# Each with an argument that it takes.
CALLS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "wrap ptr": (lambda n: wrap(ptr=n), ADDRESS),
    "wrap shape": (lambda n: wrap(shape=n), 12),
    "wrap extent": (lambda n: wrap(shape=(2, n)), 4),
    "wrap extent in a list": (lambda n: wrap(shape=[2, n]), 4),
    "wrap stride": (lambda n: wrap(strides=(n, 4)), 16),
    "wrap device type": (lambda n: wrap(device=(n, 0)), 1),
    "wrap device id": (lambda n: wrap(device=(1, n)), 0),
    "wrap in an object": (lambda n: wrap(ptr=type("Pointer", (), {"ptr": n})()), ADDRESS),
    "pointer_info": (via.pointer_info, ADDRESS),
    "empty shape": (lambda n: via.empty(n, "int8"), 3),
    "empty extent": (lambda n: via.empty((n,), "int8"), 3),
    "empty device": (lambda n: via.empty(3, "int8", device=(1, n)), 0),
    "set_num_threads": (lambda n: via.set_num_threads(n), 0),
    "reshape": (lambda n: grid().reshape(n), 12),
    "reshape two": (lambda n: grid().reshape(2, n), 6),
    "broadcast_to": (lambda n: grid().broadcast_to(n, 3, 4), 2),
    "transpose": (lambda n: grid().transpose(n, 0), 1),
    "squeeze": (lambda n: grid()[:1].squeeze(n), 0),
    "expand_dims": (lambda n: grid().expand_dims(n), 1),
    "field offset": (lambda n: grid().view("record4").field(n, "int8"), 1),
    "field shape": (lambda n: grid().view("record4").field(0, "int8", n), 2),
    "index": (lambda n: grid()[n], 1),
    "index of two": (lambda n: grid()[0, n], 1),
    "assign": (lambda n: assign(n), 1),
    "fill": (lambda n: grid().view("int32").fill(n), 7),
    "max_version": (lambda n: grid().__dlpack__(max_version=(1, n)), 0),
    "dl_device": (lambda n: grid().__dlpack__(dl_device=(1, n)), 0),
    "dlpack stream": (lambda n: grid().__dlpack__(stream=n), -1),
    "__buffer__": (lambda n: grid().__buffer__(n), 0x18),
    "interface address": (lambda n: described(data=(n, False)), ADDRESS),
    "interface version": (lambda n: described(version=n), 3),
    "interface extent": (lambda n: described(shape=(n,)), 3),
    "interface stride": (lambda n: described(strides=(n,), shape=(3,)), 4),
    "raw dtype": (lambda n: raw.via_dtype_bits(n), raw.VIA_INT32),
    "raw ndim": (lambda n: raw.via_array_select(grid(), n, 0), 1),
    "raw index": (lambda n: raw.via_array_select(grid(), 0, n), 1),
    "raw shape": (lambda n: raw.via_array_reshape(grid(), (n,)), 12),
    "raw address": (lambda n: raw.via_pointer_query(n), ADDRESS),
    "raw field": (lambda n: raw.via_array_field(grid(), n, raw.VIA_INT8, ()), 1),
    "raw struct": (
        lambda n: raw.via_from_array_interface(raw.via_to_array_interface(grid()) | {"version": n}, 0, 0),
        3,
    ),
    "raw struct address": (
        lambda n: raw.via_from_array_interface(raw.via_to_array_interface(grid()) | {"address": n}, None, None),
        ADDRESS,
    ),
}

# Only how they refuse: taking one needs a device.
DEVICE: dict[str, Callable[[Any], Any]] = {
    "Stream": via.Stream,
    "Stream.wrap": via.Stream.wrap,
    "Stream.wrap device": lambda n: via.Stream.wrap(1, n),
    "Stream.current": via.Stream.current,
    "Event": via.Event,
    "Event.wrap": via.Event.wrap,
    "Event.wrap device": lambda n: via.Event.wrap(1, n),
    "a stream of copy": lambda n: via.copy(grid(), grid(), n),
    "a stream of record_stream": lambda n: grid().record_stream(n),
    "a stream of set_ready": lambda n: grid().set_ready(n),
    "device_count": via.device_count,
    "device_info": via.device_info,
    "raw device": raw.via_stream_create,
    "raw event": lambda n: raw.via_event_wrap(n, 0),
    "interface stream": lambda n: via.asarray(cuda_described(n)),
}


class Described:
    def __init__(self, **changes: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": (12,),
            "typestr": "<f4",
            "data": (ADDRESS, False),
        } | changes


def described(**changes: Any) -> via.Array:
    return via.asarray(Described(**changes))


def cuda_described(stream: Any) -> Any:
    interface = {"version": 3, "shape": (4,), "typestr": "<f4", "data": (1 << 40, False), "stream": stream}
    return type("OnDevice", (), {"__cuda_array_interface__": interface})()


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    yield
    via.set_num_threads(0)


@pytest.mark.parametrize("name", CALLS)
def test_an_integer_of_another_library_is_taken(name: str) -> None:
    call, good = CALLS[name]
    call(good)
    call(Number(good))


@pytest.mark.parametrize("name", [*CALLS, *DEVICE])
def test_an_integer_out_of_range_is_refused_as_such(name: str) -> None:
    call = CALLS[name][0] if name in CALLS else DEVICE[name]
    for number, kind in itertools.product(HUGE, (int, Number)):
        try:
            call(kind(number))
        except (via.DTypeError, via.ExchangeError) as error:
            assert name.startswith(("interface", "dl_device", "dlpack")), error
        except REFUSED as error:
            assert len(str(error)) < 1500
        else:
            assert name == "max_version" or number == 2**63 and name in ("interface address", "raw struct address")


@pytest.mark.parametrize("name", DEVICE)
def test_an_integer_of_another_library_names_a_device_or_stream_as_a_plain_one_does(name: str) -> None:
    found = []
    for number in (7, Number(7)):
        with pytest.raises(via.Error) as error:
            DEVICE[name](number)
        found.append((type(error.value), str(error.value).replace(repr(number), "7")))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["Stream", "Event", "Stream.wrap", "a stream of copy"])
def test_a_bool_names_no_device_and_no_stream(name: str) -> None:
    with pytest.raises((via.DeviceError, via.DTypeError), match="True|bool"):
        DEVICE[name](True)


def test_offsets_in_files_are_integers_of_any_library(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(64)))
    with via.open(path, "r+", dtype="uint8") as file:
        assert file.array(4, offset=Number(8)).tolist() == [8, 9, 10, 11]
        assert file.array(Number(4), offset=Number(8)).tolist() == [8, 9, 10, 11]
        room = via.empty(4, "uint8")
        assert file.read(room, Number(8)).tolist() == [8, 9, 10, 11]
        assert file.read(offset=Number(60)).tolist() == [60, 61, 62, 63]
        assert file.read_submit(room, Number(4)).wait() is None
        file.write(room, Number(0))
        file.write_submit(room, Number(0)).wait()
        assert file[Number(3)].shape == ()
        for huge in HUGE:
            for call in (
                lambda at: file.array(4, offset=at),
                lambda at: file.array(at),
                lambda at: file.read(room, at),
                lambda at: file.read(offset=at, shape=4),
                lambda at: file.write(room, at),
                lambda at: file[at],
            ):
                with pytest.raises((OverflowError, ValueError, IndexError)):
                    call(huge)


@pytest.mark.parametrize(
    "shape", [(4.7,), (4.0,), "44", "4", b"44", bytearray(b"4"), {4}, {4: 4}, ("4",), 4.7, [4, None]]
)
def test_what_is_no_sequence_of_integers_is_no_shape(shape: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(64))
    with via.open(path, dtype="uint8") as file:
        calls: list[Callable[[], Any]] = [
            lambda: via.open(path, dtype="uint8", shape=shape),
            lambda: via.open(tmp_path / "new", "w", dtype="uint8", shape=shape),
            lambda: file.array(shape),
            lambda: file.read(shape=shape),
            lambda: via.empty(shape, "int8"),
            lambda: wrap(shape=shape),
            lambda: wrap(strides=shape),
            lambda: grid().reshape(shape),
            lambda: raw.via_array_reshape(grid(), shape),
        ]
        for call in calls:
            with pytest.raises(via.DTypeError, match=": (shape|strides) is "):
                call()
    assert not (tmp_path / "new").exists()


def test_a_sequence_is_read_as_far_as_an_array_has_axes_and_no_further() -> None:
    drawn = itertools.count(1)
    with pytest.raises(via.ShapeError, match="at most 64"):
        wrap(shape=drawn)
    assert next(drawn) == 66
    assert wrap(shape=iter((3, 4))).shape == wrap(shape=range(3, 5)).shape == (3, 4)
    with pytest.raises(via.ShapeError, match="at most 64"):
        wrap(shape=range(1 << 60))


@pytest.mark.parametrize("kind", ["int64", "uint8", "int32"])
def test_integers_and_arrays_of_numpy_are_shapes(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    assert via.empty(numpy.dtype(kind).type(3), "int8").shape == (3,)
    assert via.empty(numpy.array([3, 4], kind), "int8").shape == (3, 4)
    assert via.empty(numpy.array(3, kind), "int8").shape == (3,)
    assert via.empty((numpy.dtype(kind).type(3), 4), "int8").shape == (3, 4)


@pytest.mark.parametrize("huge", [2**64, -(2**64), 10**5000], ids=["above", "below", "far above"])
def test_a_number_of_no_dtype_is_refused_as_such(huge: int) -> None:
    for call in (lambda: via.empty(3, huge), lambda: grid().view(huge), lambda: raw._dtype_number("it", huge)):
        with pytest.raises(via.DTypeError, match=": dtype is "):
            call()


RAW = [name for name in dir(raw) if name.startswith("via_")]


@pytest.mark.parametrize("name", RAW)
def test_a_number_that_fits_nowhere_is_refused_by_every_function_of_c(name: str) -> None:
    function = getattr(raw, name)
    for count, number, kind in itertools.product(range(1, 12), (2**64, -(2**64), 10**5000), (int, Number)):
        with pytest.raises((TypeError, OverflowError)) as error:
            function(*[kind(number)] * count)
        assert len(str(error.value)) < 1500


def test_who_stops_a_description_from_being_read_is_heard() -> None:
    class Stopping:
        def __index__(self) -> int:
            raise KeyboardInterrupt("stop")

    for changes in ({"data": (Stopping(), False)}, {"version": Stopping()}, {"shape": (Stopping(),)}):
        with pytest.raises(KeyboardInterrupt, match="stop"):
            described(**changes)
