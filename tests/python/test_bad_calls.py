"""Each bad call gets the fitting exception, whose text names function, argument and what was found; nothing leaks."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import viaduct as via
from peers import grid, numbers
from tensors import Producer

VALUES = numbers(64)
ADDRESS = ctypes.addressof(VALUES)


class Bad(NamedTuple):
    call: Callable[[], Any]
    kind: type[Exception]
    words: tuple[str, ...]


def wrap(**changes: Any) -> via.Array:
    arguments: dict[str, Any] = {"ptr": ADDRESS, "shape": (3, 4), "dtype": "float32"}
    return via.wrap(**arguments | changes)


def read_only() -> via.Array:
    return grid().as_readonly()


def assign(a: via.Array, key: Any, value: Any) -> None:
    a[key] = value


def copy_onto_itself() -> None:
    a = grid()
    via.copy(a, a[::-1])


class Broken:
    """An object whose attribute fails in its own way."""

    def __init__(self, name: str, error: Exception) -> None:
        self._name, self._error = name, error

    def __getattr__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "_name"):
            raise object.__getattribute__(self, "_error")
        raise AttributeError(name)


class Undecided:
    def __bool__(self) -> bool:
        raise RuntimeError("undecided")


BAD = {
    # wrap: the address
    "wrap without arguments": Bad(lambda: via.wrap(), TypeError, ("wrap", "ptr")),  # type: ignore[call-arg]
    "wrap without a dtype": Bad(lambda: via.wrap(ADDRESS, 4), TypeError, ("wrap", "dtype")),  # type: ignore[call-arg]
    "wrap too many": Bad(lambda: via.wrap(1, 2, 3, 4), TypeError, ("wrap", "3", "4")),  # type: ignore[misc]
    "wrap an unknown keyword": Bad(lambda: wrap(colour=1), TypeError, ("wrap", "colour")),
    "wrap a doubled keyword": Bad(lambda: via.wrap(ADDRESS, 4, "int8", shape=4), TypeError, ("wrap", "shape")),  # type: ignore[misc]
    "wrap a text": Bad(lambda: wrap(ptr="0x1000"), TypeError, ("wrap", "ptr", "str")),
    "wrap a list": Bad(lambda: wrap(ptr=[1, 2]), TypeError, ("wrap", "ptr", "list")),
    "wrap a float": Bad(lambda: wrap(ptr=1.5), TypeError, ("wrap", "ptr", "float")),
    "wrap a buffer": Bad(lambda: wrap(ptr=bytearray(64)), TypeError, ("wrap", "ptr", "bytearray", "asarray")),
    "wrap a tuple": Bad(lambda: wrap(ptr=(ADDRESS, 1)), TypeError, ("wrap", "ptr is ", "tuple", "an address")),
    "wrap an array": Bad(lambda: wrap(ptr=grid().numpy()), TypeError, ("wrap", "ptr is ", "ndarray", "asarray")),
    "wrap below zero": Bad(lambda: wrap(ptr=-1), OverflowError, ("wrap", "ptr", "-1")),
    "wrap beyond 64 bits": Bad(lambda: wrap(ptr=1 << 64), OverflowError, ("wrap", "ptr", str(1 << 64))),
    "wrap NULL": Bad(lambda: wrap(ptr=0), ValueError, ("via_wrap", "address", "NULL")),
    "wrap None": Bad(lambda: wrap(ptr=None), ValueError, ("via_wrap", "address", "NULL")),
    "wrap what raises": Bad(lambda: wrap(ptr=Broken("ptr", KeyError("gone"))), KeyError, ("gone",)),
    "wrap past the address space": Bad(
        lambda: wrap(ptr=(1 << 64) - 8),
        (OverflowError, ValueError),
        ("via_wrap", "address"),  # type: ignore[arg-type]
    ),
    # wrap: shape and strides
    "wrap a shape of text": Bad(lambda: wrap(shape="34"), TypeError, ("wrap", "shape", "str")),
    "wrap a shape of floats": Bad(lambda: wrap(shape=(3.0, 4)), TypeError, ("wrap", "shape", "float")),
    "wrap a shape of None": Bad(lambda: wrap(shape=None), TypeError, ("wrap", "shape", "NoneType")),
    "wrap a negative extent": Bad(lambda: wrap(shape=(3, -4)), ValueError, ("via_wrap", "shape", "-4")),
    "wrap a wide extent": Bad(lambda: wrap(shape=1 << 63), OverflowError, ("wrap", "shape", str(1 << 63))),
    "wrap an overflowing shape": Bad(lambda: wrap(shape=(1 << 40, 1 << 40)), OverflowError, ("via_wrap", "shape")),
    "wrap too many axes": Bad(lambda: wrap(shape=(1,) * 65), ValueError, ("wrap", "shape", "65", "64")),
    "wrap too few strides": Bad(lambda: wrap(strides=(4,)), ValueError, ("wrap", "strides", "1", "2")),
    "wrap too many strides": Bad(lambda: wrap(strides=(4, 4, 4)), ValueError, ("wrap", "strides", "3", "2")),
    "wrap strides of text": Bad(lambda: wrap(strides=("4", "4")), TypeError, ("wrap", "strides", "str")),
    "wrap overflowing strides": Bad(lambda: wrap(strides=(1 << 62, 4)), OverflowError, ("via_wrap", "strides")),
    # wrap: dtype, device, release
    "wrap an unknown dtype": Bad(lambda: wrap(dtype="float33"), TypeError, ("wrap", "dtype", "float33")),
    "wrap a dtype number": Bad(lambda: wrap(dtype=99), TypeError, ("wrap", "dtype", "99")),
    "wrap a dtype of objects": Bad(lambda: wrap(dtype="O"), TypeError, ("wrap", "dtype", "references")),
    "wrap a dtype of another order": Bad(lambda: wrap(dtype=">f4"), TypeError, ("wrap", "dtype", ">f4")),
    "wrap a dtype of nothing": Bad(lambda: wrap(dtype=None), TypeError, ("wrap", "dtype", "None")),
    "wrap a dtype in a tuple": Bad(lambda: wrap(dtype=("float32",)), TypeError, ("wrap", "dtype is ", "('float32',)")),
    "index by a mask": Bad(
        lambda: grid()[grid().numpy() > 0], TypeError, ("key is ", "ndarray", "integers, slices", "numpy()")
    ),
    "wrap an unknown device": Bad(lambda: wrap(device="tpu"), RuntimeError, ("wrap", "device", "tpu")),
    "wrap a malformed device": Bad(lambda: wrap(device="cuda:x"), RuntimeError, ("wrap", "device", "cuda:x")),
    "wrap a negative device": Bad(lambda: wrap(device=(1, -1)), RuntimeError, ("wrap", "device", "-1")),
    "wrap a second CPU": Bad(lambda: wrap(device="cpu:1"), RuntimeError, ("via_wrap", "device_id", "1")),
    "wrap an absent device": Bad(lambda: wrap(device="cuda:0"), NotImplementedError, ("via_wrap", "CUDA")),
    "wrap an unknown device type": Bad(lambda: wrap(device=(99, 0)), RuntimeError, ("via_wrap", "device_type", "99")),
    "wrap a device of floats": Bad(lambda: wrap(device=(1.0, 0)), TypeError, ("wrap", "device", "float")),
    "wrap where nothing is": Bad(lambda: wrap(ptr=4096, device="any"), ValueError, ("via_wrap", "0x1000")),
    "wrap what cannot be read": Bad(lambda: wrap(ptr=4096), ValueError, ("via_wrap", "0x1000")),
    "wrap a flag that fails": Bad(lambda: wrap(readonly=Undecided()), RuntimeError, ("undecided",)),
    "wrap a release that is none": Bad(lambda: wrap(release=7), TypeError, ("wrap", "release", "int")),
    # asarray and imports
    "asarray a list": Bad(lambda: via.asarray([1, 2]), TypeError, ("asarray", "x", "list")),  # type: ignore[arg-type]
    "asarray a number": Bad(lambda: via.asarray(7), TypeError, ("asarray", "x", "int")),  # type: ignore[arg-type]
    "asarray None": Bad(lambda: via.asarray(None), TypeError, ("asarray", "x", "NoneType")),  # type: ignore[arg-type]
    "asarray a text": Bad(lambda: via.asarray("text"), TypeError, ("asarray", "x", "str")),  # type: ignore[arg-type]
    "asarray a failing property": Bad(
        lambda: via.asarray(Broken("__array_interface__", ValueError("torn"))),  # type: ignore[arg-type]
        BufferError,
        ("asarray", "x", "Broken", "torn"),
    ),
    "from_dlpack a list": Bad(lambda: via.from_dlpack([1]), TypeError, ("from_dlpack", "x", "list")),  # type: ignore[arg-type]
    "from_dlpack a wrong capsule": Bad(
        lambda: via.from_dlpack(Producer().capsule(b"other")), BufferError, ("from_dlpack", "other")
    ),
    "from_dlpack to nowhere": Bad(
        lambda: via.from_dlpack(grid(), device="tpu"), RuntimeError, ("from_dlpack", "device", "tpu")
    ),
    "from_dlpack to a device": Bad(
        lambda: via.from_dlpack(grid(), device="cuda:0"), NotImplementedError, ("via_from_dlpack", "CUDA")
    ),
    "from_dlpack a bad shape": Bad(
        lambda: via.from_dlpack(Producer(shape=(-1, 3))), ValueError, ("via_from_dlpack", "shape", "-1")
    ),
    "from_dlpack a bad dtype": Bad(
        lambda: via.from_dlpack(Producer(dtype=(50, 8, 1))), TypeError, ("via_from_dlpack", "dtype", "50")
    ),
    "from_dlpack a bad version": Bad(
        lambda: via.from_dlpack(Producer(version=(7, 3))), BufferError, ("via_from_dlpack", "7.3")
    ),
    "from_arrow a list": Bad(lambda: via.from_arrow([1]), TypeError, ("from_arrow", "x", "list")),  # type: ignore[arg-type]
    # empty and memory
    "empty of a negative shape": Bad(lambda: via.empty((2, -1), "int8"), ValueError, ("via_empty", "shape", "-1")),
    "empty of too much": Bad(lambda: via.empty((1 << 62, 4), "int8"), OverflowError, ("via_empty", "shape")),
    "empty of more than there is": Bad(lambda: via.empty(1 << 60, "int8"), MemoryError, ("via_empty", str(1 << 60))),
    "empty of no dtype": Bad(lambda: via.empty(4, "x"), TypeError, ("empty", "dtype", "x")),
    "empty in no memory": Bad(
        lambda: via.empty(4, "int8", memory="disk"), ValueError, ("empty", "memory", "disk", "shared")
    ),
    "empty in an array": Bad(lambda: via.empty(4, "int8", memory=grid()), TypeError, ("empty", "memory", "Array")),  # type: ignore[arg-type]
    "empty on no device": Bad(lambda: via.empty(4, "int8", device="disk"), RuntimeError, ("empty", "device", "disk")),
    "memory of half an allocator": Bad(lambda: via.memory(alloc=int), ValueError, ("memory", "alloc", "free")),
    "memory of no functions": Bad(lambda: via.memory(alloc=1, free=2), TypeError, ("memory", "alloc", "int")),  # type: ignore[arg-type]
    "memory of an unknown kind": Bad(lambda: via.memory("disk"), ValueError, ("memory", "disk")),  # type: ignore[arg-type]
    "memory of any device": Bad(lambda: via.memory(device="any"), RuntimeError, ("memory", "device", "0")),
    "memory of a kind and of functions": Bad(
        lambda: via.memory("host", alloc=int, free=int), ValueError, ("memory", "kind", "alloc", "free")
    ),
    # views
    "an index past the end": Bad(lambda: grid()[3], IndexError, ("index", "3", "2")),
    "an index of text": Bad(lambda: grid()["a"], TypeError, ("__getitem__", "key", "str")),  # type: ignore[index]
    "an index of lists": Bad(lambda: grid()[[0], [1]], TypeError, ("__getitem__", "key", "list")),  # type: ignore[index]
    "too many indices": Bad(lambda: grid()[0, 0, 0], IndexError, ("__getitem__", "key", "3", "2")),
    "transpose of too few": Bad(lambda: grid().transpose(0), ValueError, ("transpose", "axes", "1", "2")),
    "transpose of the same twice": Bad(lambda: grid().transpose(0, 0), (IndexError, ValueError), ("axes", "0")),  # type: ignore[arg-type]
    "transpose of no axis": Bad(lambda: grid().transpose(0, 7), IndexError, ("axes", "7")),
    "transpose of wide axes": Bad(lambda: grid().transpose(0, 1 << 40), IndexError, ("axes", str(1 << 40))),
    "reshape to another size": Bad(lambda: grid().reshape(5), ValueError, ("via_array_reshape", "shape", "12")),
    "reshape with two unknowns": Bad(lambda: grid().reshape(-1, -1), ValueError, ("via_array_reshape", "-1")),
    "reshape of what is strided": Bad(lambda: grid().T.reshape(12), ValueError, ("via_array_reshape", "copy")),
    "broadcast to less": Bad(lambda: grid().broadcast_to(3, 5), ValueError, ("via_array_broadcast", "shape", "5")),
    "squeeze of more than one": Bad(lambda: grid().squeeze(0), ValueError, ("via_array_squeeze", "3")),
    "squeeze of no axis": Bad(lambda: grid().squeeze(9), IndexError, ("via_array_squeeze", "9")),
    "expand at no axis": Bad(lambda: grid().expand_dims(9), IndexError, ("via_array_expand", "9")),
    "view as no dtype": Bad(lambda: grid().view("float33"), TypeError, ("view", "dtype", "float33")),
    "view that does not fit": Bad(lambda: grid()[:, :3].view("float64"), ValueError, ("via_array_reinterpret",)),
    "field past the end": Bad(lambda: grid().field(4, "float32"), IndexError, ("via_array_field", "4")),
    "field before the start": Bad(lambda: grid().field(-1, "int8"), IndexError, ("via_array_field", "-1")),
    "field of no dtype": Bad(lambda: grid().field(0, "x"), TypeError, ("field", "dtype", "x")),
    # copies, fills, assignments
    "copy to another shape": Bad(lambda: via.copy(grid(4, 3), grid()), ValueError, ("via_copy", "shape")),
    "copy to another dtype": Bad(lambda: via.copy(grid().view("int32"), grid()), TypeError, ("via_copy", "int32")),
    "copy to read-only memory": Bad(lambda: via.copy(read_only(), grid()), ValueError, ("via_copy", "read-only")),
    "copy to bytes": Bad(lambda: via.copy(b"abcd", bytearray(4)), ValueError, ("via_copy", "read-only")),
    "copy onto itself": Bad(lambda: copy_onto_itself(), ValueError, ("via_copy", "overlap|share")),
    "copy to a list": Bad(lambda: via.copy([1], grid()), TypeError, ("copy", "dst is ", "list")),  # type: ignore[arg-type]
    "copy from a list": Bad(lambda: via.copy(grid(), [1]), TypeError, ("copy", "src is ", "list")),  # type: ignore[arg-type]
    "copy on no stream": Bad(lambda: via.copy(grid(), grid(), stream="7"), TypeError, ("copy", "stream", "str")),
    "copy on a stream below zero": Bad(
        lambda: via.copy(grid(), grid(), stream=-1), ValueError, ("copy", "stream", "-1")
    ),
    "copy on a stream": Bad(
        lambda: via.copy(grid(), grid(), stream=7), NotImplementedError, ("via_stream_wrap", "CUDA")
    ),
    "submit to a list": Bad(lambda: via.copy_submit([1], grid()), TypeError, ("copy_submit", "dst is ", "list")),  # type: ignore[arg-type]
    "submit on no stream": Bad(
        lambda: via.copy_submit(grid(), grid(), stream="7"), TypeError, ("copy_submit", "stream", "str")
    ),
    "a stream of no device": Bad(lambda: via.Stream("cpu"), RuntimeError, ("Stream", "device", "cpu", "CUDA device")),
    "a stream of a text": Bad(lambda: via.Stream.wrap("x"), TypeError, ("Stream.wrap", "stream", "str")),
    "a stream beyond 64 bits": Bad(
        lambda: via.Stream.wrap(1 << 70), OverflowError, ("Stream.wrap", "stream", "64 bits")
    ),
    "an event of a text": Bad(lambda: via.Event.wrap("x"), TypeError, ("Event.wrap", "event", "str")),
    "a use on a list": Bad(lambda: grid().record_stream([]), TypeError, ("record_stream", "stream", "list")),
    "ready on nothing": Bad(lambda: grid().set_ready(""), TypeError, ("set_ready", "stream", "str")),
    "devices of no kind": Bad(lambda: via.device_count("tpu"), RuntimeError, ("device_count", "tpu")),
    "the pointer to nothing": Bad(lambda: via.pointer_info(16), ValueError, ("via_pointer_query", "0x10")),
    "the pointer of a list": Bad(lambda: via.pointer_info([1]), TypeError, ("pointer_info", "ptr", "list")),
    "a capsule of a record": Bad(
        lambda: via.wrap(ADDRESS, 1, "record3").__dlpack__(), BufferError, ("via_to_dlpack", "record3")
    ),
    "a read-only capsule of before 1.0": Bad(
        lambda: via.wrap(ADDRESS, 1, "int8", readonly=True).__dlpack__(), BufferError, ("read-only",)
    ),
    "copy elsewhere": Bad(lambda: grid().copy("cuda:0"), NotImplementedError, ("via_memory_create", "CUDA")),
    "explain what cannot be": Bad(lambda: via.copy_explain(grid(4, 3), grid()), ValueError, ("shape",)),
    "fill read-only memory": Bad(lambda: read_only().fill(1), ValueError, ("via_fill", "read-only")),
    "fill with text": Bad(lambda: grid().fill("1"), TypeError, ("fill", "value", "str")),  # type: ignore[arg-type]
    "fill with too much": Bad(lambda: grid().view("uint8").fill(256), OverflowError, ("fill", "value", "256")),
    "assign another shape": Bad(
        lambda: assign(grid(), 0, numbers(3)), ValueError, ("__setitem__", "value has shape (3,)", "broadcasts to (4,)")
    ),
    "assign another dtype": Bad(lambda: assign(grid(), 0, bytearray(4)), TypeError, ("via_copy", "uint8")),
    "assign a list": Bad(lambda: assign(grid(), 0, [1, 2, 3, 4]), TypeError, ("__setitem__", "value is ", "list")),
    "assign to read-only memory": Bad(lambda: assign(read_only(), 0, 1), ValueError, ("via_fill", "read-only")),
    "threads below zero": Bad(lambda: via.set_num_threads(-1), ValueError, ("via_set_num_threads", "-1")),
    "threads beyond reason": Bad(lambda: via.set_num_threads(1 << 40), ValueError, ("via_set_num_threads", "1024")),
    "threads of text": Bad(lambda: via.set_num_threads("2"), TypeError, ("set_num_threads", "count", "str")),  # type: ignore[arg-type]
    # exports
    "export with a malformed version": Bad(
        lambda: grid().__dlpack__(max_version=(1, 0, 0)),  # type: ignore[arg-type]
        TypeError,
        ("__dlpack__", "max_version", "tuple"),
    ),
    "export to another device": Bad(
        lambda: grid().__dlpack__(dl_device=(2, 0)), BufferError, ("via_to_dlpack_legacy", "2|CUDA")
    ),
    "export of a record": Bad(
        lambda: wrap(dtype="record4").__dlpack__(), BufferError, ("via_to_dlpack_legacy", "record")
    ),
    "export of read-only memory": Bad(lambda: read_only().__dlpack__(), BufferError, ("via_to_dlpack", "read-only")),
    "a buffer of bfloat16": Bad(lambda: memoryview(via.empty(2, "bfloat16")), BufferError, ("Array", "bfloat16")),  # type: ignore[arg-type]
    "an Arrow column of a transpose": Bad(
        lambda: grid().T.__arrow_c_array__(), BufferError, ("via_to_arrow_device", "row-major|order")
    ),
    "NumPy of packed elements": Bad(lambda: via.empty((2, 2), "int4").numpy(), TypeError, ("NumPy", "int4")),
}


class Failing:
    """Whatever it is taken for, it raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def __index__(self) -> int:
        raise self._error("of its own")

    def __iter__(self) -> Any:
        raise self._error("of its own")

    def __float__(self) -> float:
        raise self._error("of its own")

    def __complex__(self) -> complex:
        raise self._error("of its own")


TAKING: dict[str, Callable[[Any], Any]] = {
    "an integer": via.set_num_threads,
    "a shape": lambda it: wrap(shape=it),
    "an extent": lambda it: wrap(shape=(3, it)),
    "an index": lambda it: grid()[it],
    "arrays": lambda it: via.raw.via_copy_batch(it, [], None),
    "an integer element": lambda it: grid().view("int32").fill(it),
    "a float element": lambda it: grid().fill(it),
    "a complex element": lambda it: grid().view("complex64").fill(it),
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize("kind", TAKING)
def test_what_an_argument_raises_itself_arrives(kind: str, error: type[BaseException]) -> None:
    with pytest.raises(error, match="of its own"):
        TAKING[kind](Failing(error))


@pytest.mark.parametrize("kind", TAKING)
def test_an_argument_that_says_it_is_no_number_is_refused_by_name(kind: str) -> None:
    with pytest.raises(via.DTypeError, match=r": [\w.]+ is of type Failing; expected"):
        TAKING[kind](Failing(TypeError))


def test_why_an_object_does_not_export_its_bytes_is_reported() -> None:
    apart = memoryview(bytearray(8))[::2]
    with pytest.raises(via.DTypeError, match="import_ipc: description has no contiguous buffer: "):
        via.import_ipc(apart)
    ended = memoryview(b"ended")
    ended.release()
    with pytest.raises(ValueError, match="released"):
        via.import_ipc(ended)
    with pytest.raises(via.DTypeError, match="import_ipc: description is of type int; expected bytes"):
        via.import_ipc(7)  # type: ignore[arg-type]


def test_the_table_is_long_enough() -> None:
    assert len(BAD) >= 60


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_is_refused_by_name_and_leaves_nothing_behind(name: str) -> None:
    bad = BAD[name]
    before = via.stats()
    with pytest.raises(bad.kind) as error:
        bad.call()
    text = str(error.value)
    for word in bad.words:
        assert re.search(word if "|" in word else re.escape(word), text), (word, text)
    del error
    assert via.stats() == before
