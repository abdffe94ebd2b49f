"""What there is to get wrong on a CUDA device alone: streams, and the CUDA array interface."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Iterator
from typing import Any

from . import _abi
from ._memory import answer, driver
from ._peers import Peer
from ._producer import Producer
from ._reader import Absent, Broken, Taken, expected, gather
from ._rows import Refused, Rows, raised_by, words_of

ROWS = Rows()
NON_BLOCKING, NOT_READY = 1, 600
PATIENCE = 10  # seconds that a stream is held at most
SEVEN = bytes(ctypes.c_float(7))


# ------------------------------------------------------------------------------------------------------- streams


class Stream:
    """A stream of the driver's own, which can be held by a host function until it is released."""

    def __init__(self) -> None:
        pointer = ctypes.c_void_p()
        driver("cuStreamCreate", ctypes.byref(pointer), NON_BLOCKING)
        self.handle = int(pointer.value or 0)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        go = threading.Event()
        wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: (go.wait(PATIENCE), None)[1])
        driver("cuLaunchHostFunc", ctypes.c_void_p(self.handle), wait, None)
        try:
            yield
        finally:
            go.set()
            self.wait()

    def wait(self) -> None:
        driver("cuStreamSynchronize", ctypes.c_void_p(self.handle))

    def is_done(self) -> bool:
        return answer("cuStreamQuery", ctypes.c_void_p(self.handle)) != NOT_READY


def on_stream(peer: Peer, stream: Stream) -> Any:
    if not peer.on_stream:
        raise Absent("no way is known to have it work on a stream")
    return peer.evaluate(peer.on_stream, s=stream.handle)


def asked_on(x: Any, stream: int | None) -> Taken:
    if not hasattr(x, "__dlpack__"):
        raise Absent("its arrays have no __dlpack__")
    return Taken(x.__dlpack__(stream=stream, max_version=_abi.NEWEST))


def ready_to_fill(peer: Peer, stream: Stream) -> Any:
    """An array, once the library has started whatever it starts when it first fills one on a stream."""
    if not peer.fill:
        raise Absent("no way is known to have it fill an array")
    with on_stream(peer, stream):
        peer.evaluate(peer.fill, x=peer.make())
    x = peer.make()
    driver("cuCtxSynchronize")
    return x


def fill_and_ask(peer: Peer, x: Any, mine: Stream, reported: int) -> Taken:
    """The array exported to a consumer's stream while it is being filled with sevens on another."""
    with on_stream(peer, mine):
        peer.evaluate(peer.fill, x=x)
        return asked_on(x, reported)


@ROWS.row("exports to every stream that there is", "cuda")
def _every_stream(peer: Peer) -> None:
    x, stream = peer.make(), Stream()
    for number in (None, 1, 2, -1, stream.handle):
        error = raised_by(functools.partial(asked_on, x, number))
        if error is not None:
            raise Broken(f"stream={number}: {words_of(error)}")


@ROWS.row("exports nothing to stream 0, which could mean two", "cuda")
def _stream_zero(peer: Peer) -> None:
    if raised_by(lambda: asked_on(peer.make(), 0)) is None:
        raise Broken("exported it")


@ROWS.row("exports nothing to stream -2", "cuda")
def _stream_below(peer: Peer) -> None:
    if raised_by(lambda: asked_on(peer.make(), -2)) is None:
        raise Broken("exported it")


@ROWS.row("has the consumer's stream wait for its own", "cuda")
def _orders_the_consumer(peer: Peer) -> None:
    mine, theirs = Stream(), Stream()
    x = ready_to_fill(peer, mine)
    with mine.held():
        exported = fill_and_ask(peer, x, mine, theirs.handle)
        if theirs.is_done():
            raise Broken("the consumer's stream does not wait for what fills the array")
    theirs.wait()
    if exported.elements() != SEVEN * (len(exported.elements()) // len(SEVEN)):
        raise Broken("the elements were not written when the consumer's stream got there")


@ROWS.row("does not wait for anything when asked not to", "cuda")
def _orders_nobody(peer: Peer) -> None:
    mine, theirs = Stream(), Stream()
    x = ready_to_fill(peer, mine)
    with mine.held():
        fill_and_ask(peer, x, mine, -1)
        if not theirs.is_done():
            raise Broken("another stream waits")


@ROWS.row("asks producers for the stream that it works on", "cuda")
def _reports_its_stream(peer: Peer) -> None:
    producer, stream = Producer(peer.memory()), Stream()
    with on_stream(peer, stream):
        taken = peer.take(producer)
    if not producer.asked:
        raise Absent("it takes tensors by another road than __dlpack__()")
    reported = producer.asked[-1].get("stream")
    if reported != stream.handle:
        raise Broken(f"asked with stream={reported!r} while it worked on stream {stream.handle}")
    del taken


# ----------------------------------------------------------------------------------- the CUDA array interface: taking


class Interface:
    """Somebody's `__cuda_array_interface__`."""

    def __init__(self, producer: Producer, **fields: Any) -> None:
        self.producer = producer
        usual = {
            "version": 3,
            "shape": producer.shape,
            "typestr": "<f4",
            "data": (producer.address, False),
            "strides": None,
        }
        self.__cuda_array_interface__ = {k: v for k, v in (usual | fields).items() if v is not Ellipsis}


def take_interface(peer: Peer, shape: tuple[int, ...] = (2, 3), **fields: Any) -> Any:
    if not peer.from_cuda_interface:
        raise Absent("it takes no CUDA array interface")
    strides = fields.get("strides")
    producer = Producer(
        peer.memory(), shape, [s // 4 for s in strides] if isinstance(strides, tuple) else None, shift=8
    )
    taken: list[Any] = []
    error = raised_by(lambda: taken.append(peer.evaluate(peer.from_cuda_interface, p=Interface(producer, **fields))))
    if error is not None:
        raise Refused(words_of(error))
    check_elements(peer, producer, taken[0])
    return taken[0]


def check_elements(peer: Peer, producer: Producer, x: Any) -> None:
    found = peer.evaluate(peer.content, x=x) if peer.content else b""
    if peer.content and found != expected(producer):
        raise Broken(
            f"the elements are other ones: {found[:24].hex(' ', 4)}, not {expected(producer)[:24].hex(' ', 4)}"
        )


INTERFACES: list[tuple[str, dict[str, Any]]] = [
    ("without strides", {}),
    ("without the key of strides", {"strides": ...}),
    ("with strides in bytes", {"strides": (24, 8)}),
    ("with strides of a column-major matrix", {"strides": (4, 8)}),
    ("with a negative stride", {"shape": (2,), "strides": (-4,)}),
    ("with a stride of zero", {"strides": (0, 4)}),
    ("of version 2", {"version": 2}),
    ("of no elements, at address 0", {"shape": (0, 3), "data": (0, False)}),
    ("of no dimensions", {"shape": ()}),
    ("with stream 1", {"stream": 1}),
    ("with stream 2", {"stream": 2}),
    ("with stream None", {"stream": None}),
    ("with mask None", {"mask": None}),
    ("with descr", {"descr": [("", "<f4")]}),
    ("of read-only memory", {"data": "read-only"}),
]
WRONG_INTERFACES: list[tuple[str, dict[str, Any]]] = [
    ("with stream 0, which could mean two", {"stream": 0}),
    ("with a mask", {"mask": 1}),
    ("of a type that there is not", {"typestr": "<z9"}),
    ("without data", {"data": ...}),
    ("without a shape", {"shape": None}),
    ("with a negative extent", {"shape": (2, -3)}),
    ("with as many strides as one dimension has", {"strides": (4,)}),
]


def add_interfaces() -> None:
    for name, fields in INTERFACES:
        ROWS.add(f"imports a CUDA array interface {name}", functools.partial(_take, fields), "cuda")
    for name, fields in WRONG_INTERFACES:
        ROWS.add(f"imports no CUDA array interface {name}", functools.partial(_refuse, fields), "cuda")


def _take(fields: dict[str, Any], peer: Peer) -> None:
    given = dict(fields)
    if given.get("data") == "read-only":
        memory = peer.memory()
        given = {"data": (memory.address + 8, True), "shape": (2, 3)}
    x = take_interface(peer, **given)
    if fields.get("data") == "read-only" and x.__cuda_array_interface__["data"][1] is not True:
        raise Broken("read-only was dropped")


def _refuse(fields: dict[str, Any], peer: Peer) -> None:
    given = dict(fields)
    shape = given.pop("shape", (2, 3))
    if not peer.from_cuda_interface:
        raise Absent("it takes no CUDA array interface")
    exporter = Interface(Producer(peer.memory()), shape=shape if shape is not None else ..., **given)
    if raised_by(lambda: peer.evaluate(peer.from_cuda_interface, p=exporter)) is None:
        raise Broken("took it")


add_interfaces()


# ---------------------------------------------------------------------------------- the CUDA array interface: exporting


def interface_of(x: Any) -> dict[str, Any]:
    try:
        found = x.__cuda_array_interface__
    except AttributeError:
        raise Absent("its arrays have no __cuda_array_interface__") from None
    if not isinstance(found, dict):
        raise Broken(f"__cuda_array_interface__ is a {type(found).__name__}")
    return found


@ROWS.row("exports a CUDA array interface that is whole", "cuda")
def _interface_is_whole(peer: Peer) -> None:
    found = interface_of(peer.make())
    if missing := {"shape", "typestr", "data", "version"} - set(found):
        raise Broken(f"without {sorted(missing)}")
    kinds = {"shape": tuple, "typestr": str, "data": tuple, "version": int}
    if wrong := [name for name, kind in kinds.items() if not isinstance(found[name], kind)]:
        raise Broken(f"{wrong[0]} is {found[wrong[0]]!r}")
    if found["version"] < 2 or not isinstance(found["data"][1], bool):
        raise Broken(f"version {found['version']}, data {found['data']}")
    if found.get("stream", None) == 0:
        raise Broken("stream is 0, which could mean two")


@ROWS.row("exports a CUDA array interface of its elements", "cuda")
def _interface_is_true(peer: Peer) -> None:
    x = peer.make()
    found = interface_of(x)
    if not peer.content:
        raise Absent("no way is known to see its elements")
    size = int(found["typestr"][2:])
    strides = tuple(s // size for s in found["strides"]) if found.get("strides") else _abi.dense_strides(found["shape"])
    if gather(_abi.CUDA, found["data"][0], found["shape"], strides, size * 8) != peer.evaluate(peer.content, x=x):
        raise Broken("the elements are other ones")
