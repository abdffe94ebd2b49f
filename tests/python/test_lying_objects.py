"""Objects that lie, change their mind or call back: each is refused by name, or taken as it was when it was asked."""

from __future__ import annotations

import ctypes
import gc
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer
from tensors import Producer, new_capsule
from test_hostile_buffers import Exporter, sizes
from viaduct import raw


class TensorExporter:
    """Returns what its caller wants, whatever it is asked."""

    def __init__(self, give: Callable[[], Any], device: Any = (1, 0)) -> None:
        self.give, self.device = give, device

    def __dlpack__(self, **_keywords: object) -> Any:
        return self.give()

    def __dlpack_device__(self) -> Any:
        return self.device


@pytest.mark.parametrize(
    "device",
    [(2**32 + 1, 0), (2**32 + 2, 0), (1, 2**32), (-1, 0), (1, -1), (0, 0), (2**63, 0), (1,), (1, 0, 0), "10", None]
    + [{1: 0}, (1.0, 0), 1, [[1], 0]],
    ids=repr,
)
def test_a_device_that_is_none_is_refused(device: Any) -> None:
    producer = Producer()
    with pytest.raises((via.DTypeError, via.DeviceError, via.ExtentOverflowError), match="__dlpack_device__"):
        via.from_dlpack(TensorExporter(producer.capsule, device))
    assert producer.deleted == 0


def test_a_device_reported_by_an_endless_iterator_is_not_waited_for() -> None:
    with pytest.raises((via.ShapeError, via.DTypeError)):
        via.from_dlpack(TensorExporter(Producer().capsule, itertools.count(1)))
    with pytest.raises((via.ShapeError, via.DTypeError)):
        grid().__dlpack__(dl_device=itertools.count(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [None, 5, ""])
def test_a_device_of_a_class_without_a_module_is_refused_by_name(module: object) -> None:
    kind = type("Device", (), {"__module__": module})
    with pytest.raises(via.DeviceError, match="empty: device is .*; expected"):
        via.empty(1, "int8", device=kind())


def test_a_list_that_never_ends_is_no_list_of_arrays() -> None:
    for endless in (itertools.count(), itertools.repeat(7), (n for n in itertools.count())):
        with pytest.raises(via.DTypeError, match="of type int; expected an Array"):
            raw.via_copy_batch(endless, [], None)  # type: ignore[arg-type]


def test_a_capsule_given_twice_is_taken_once() -> None:
    producer = Producer()
    capsule = producer.capsule()
    exporter = TensorExporter(lambda: capsule)
    first = via.from_dlpack(exporter)
    with pytest.raises(BufferError, match="used_dltensor_versioned"):
        via.from_dlpack(exporter)
    assert first.shape == (2, 3)
    del first
    assert producer.deleted == 1


def test_a_exporter_that_takes_its_own_capsule_first_keeps_what_it_has() -> None:
    producer, taken = Producer(), []

    def give() -> Any:
        capsule = producer.capsule()
        taken.append(via.from_dlpack(capsule))
        return capsule

    with pytest.raises(BufferError, match="imported once"):
        via.from_dlpack(TensorExporter(give))
    assert taken[0].shape == (2, 3) and producer.deleted == 0
    taken.clear()
    assert producer.deleted == 1


def test_a_exporter_that_asks_for_itself_ends_as_python_says() -> None:
    exporter = TensorExporter(lambda: via.from_dlpack(exporter))
    with pytest.raises(RecursionError):
        via.from_dlpack(exporter)


def test_a_name_with_a_0_character_is_no_typestr() -> None:
    room = numbers(4)
    said = {"version": 3, "shape": (4,), "data": (ctypes.addressof(room), False)}
    for typestr in ("<f4\0", "<f4\0junk", "\0", "<f4\ud800"):
        with pytest.raises(BufferError, match="typestr"):
            via.asarray(type("Said", (), {"__array_interface__": said | {"typestr": typestr}})())


@pytest.mark.parametrize("length", [0, 4, 47, -1])
def test_a_buffer_of_fewer_bytes_than_its_elements_is_refused(length: int) -> None:
    exporter = Exporter(len=length)
    with pytest.raises(BufferError, match=f"{length} bytes"):
        via.asarray(exporter.object)
    assert exporter.given_back == 1


def test_a_buffer_that_repeats_its_elements_has_the_bytes_of_all() -> None:
    exporter = Exporter(strides=sizes(0))
    assert via.asarray(exporter.object).tolist() == [0] * 12


def test_a_description_that_numpy_cannot_follow_is_no_dtype() -> None:
    peer("numpy")
    within: list[Any] = []
    within.append(("a", within))
    table: dict[str, Any] = {"names": ["a"]}
    table["formats"] = [table]

    class Endless:
        @property
        def dtype(self) -> Any:
            return Endless()

    for description in (within, table, Endless(), [("a", "i4"), ("a", "i4")], {"names": 3}, [()], [("a", "i4", -1)]):
        with pytest.raises(via.DTypeError, match=": dtype is "):
            via.empty(1, description)
    within.clear(), table.clear()


class Api(ctypes.Structure):
    """DLPackExchangeAPI, with functions that do nothing but return a number."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("allocate", "from_object", "to_object", "borrow", "stream")
    ]


def type_with(answer: int) -> tuple[type, list[Any]]:
    """A type whose functions answer that and give nothing."""
    give = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))(lambda *_: answer)
    address = ctypes.cast(give, ctypes.c_void_p).value
    api = Api(1, 3, None, None, address, address, None, None)
    capsule = new_capsule(ctypes.addressof(api), b"dlpack_exchange_api", None)
    return type("Silent", (), {"__dlpack_c_exchange_api__": capsule}), [give, api]


KEPT: list[Any] = []  # as the protocol demands of the tables of types


@pytest.mark.parametrize("answer", [0, -1])
def test_functions_of_a_type_that_give_nothing_and_say_nothing_are_refused(answer: int) -> None:
    kind, kept = type_with(answer)
    KEPT.append(kept)
    for take in (via.asarray, via.from_dlpack):
        with pytest.raises(BufferError, match="Silent.*exchange API|exchange API.*nothing"):
            take(kind())
    with pytest.raises(BufferError, match="Silent"):
        grid().to(kind)


@pytest.fixture
def eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


def test_what_runs_as_garbage_is_collected_changes_no_description(eager_collector: None) -> None:
    a, b = grid(), via.empty((5, 6, 7), "float32")

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            b.__array_interface__  # noqa: B018

    for _ in range(20000):
        Cycle()
        said = a.__array_interface__
        assert (said["shape"], said["data"][0]) == ((3, 4), a.ptr)


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Verbose:
    def __repr__(self) -> str:
        return "x" * 10_000_000


def nested(depth: int) -> list[Any]:
    """As many leaves as nobody could print."""
    made: list[Any] = [1]
    for _ in range(depth):
        made = [made, made]
    return made


@pytest.mark.parametrize("what", [Mute(), Verbose(), nested(100), [Mute()]], ids=lambda it: type(it).__name__)
def test_a_repr_that_fails_or_never_ends_hides_no_error(what: Any) -> None:
    for call in (
        lambda: via.memory(what, alloc=len, free=len),
        lambda: via.wrap(0, 0, "int8", device=(what, what, what)),
    ):
        with pytest.raises(via.Error) as error:
            call()
        assert len(str(error.value)) < 1500


@pytest.mark.heavy
def test_whatever_a_fuzzer_found_worth_keeping_is_taken_right_or_refused() -> None:
    """In a process of its own: it counts what is alive after each."""
    folder = Path(__file__).parents[1] / "fuzz"
    command = [sys.executable, folder / "fuzz_objects.py", "--inputs", folder / "corpus/objects.txt"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 50
