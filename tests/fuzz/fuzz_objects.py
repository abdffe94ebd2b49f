#!/usr/bin/env python3
"""Fuzzes what reads the objects of other libraries: `fuzz_objects.py [OPTION OF LIBFUZZER...]`.

An input makes objects that lie: that answer with anything, change what they answered from, raise, or call back into the
package while they are asked. Whatever they do, a call is refused by an exception that fits, or the array that it makes
is what the description said when it was read; and nothing is left behind. With `--inputs FILE` those of a corpus are
run, a line of hexadecimal digits each, and nothing else; else it takes Atheris.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viaduct as via
from viaduct import raw

_ROOM = (ctypes.c_uint8 * 4096)(*(i % 251 for i in range(4096)))
_ADDRESS = ctypes.addressof(_ROOM) + 1024
_FILE = "/proc/self/exe"

_NUMBERS = [
    *range(-3, 10), 12, 48, 64, 65, 127, 255, 256, 1000, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64,
    -(2**31) - 1, -(2**63), -(2**63) - 1, -(2**64), 10**400, 10**5000, _ADDRESS,
]  # fmt: skip
_TEXTS = [
    "", "float32", "int4", "uint8", "complex64", "record12", "float16", "bool", "f4", "<f4", "|V4", ">i2", "O", "|O8",
    "int8\0x", "\ud800", "cpu", "cuda:0", "cuda:", "any", "pinned", "cpu:1", "host", "shared", "x" * 300,
    "shape", "typestr", "data", "strides", "version", "mask", "descr", "stream", "mode", "column_major",
]  # fmt: skip
_KEYS = ("version", "shape", "typestr", "data", "strides", "mask", "descr", "stream", "offset")

# What is raised by what lies, and what Python itself may say of it.
_FITTING = (via.Error, TypeError, ValueError, OverflowError, RecursionError, LookupError, AttributeError, TimeoutError)


class Own(Exception):
    """What a lying object raises."""


class Source:
    """Decisions, a byte each; 0 once there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def choose(self, among: Any) -> Any:
        return among[self.byte() % len(among)]


class Liar:
    """An object that answers what it is asked with values, after it did something else."""

    def __init__(self, source: Source, depth: int, targets: list[Any]) -> None:
        self._source, self._depth, self._targets = source, depth, targets

    def _answer(self) -> Any:
        act = self._source.byte() % 6
        if act == 1:
            raise self._source.choose((Own, TypeError, ValueError, OverflowError, BufferError, AttributeError))("own")
        if act == 2:
            for target in self._targets:  # what is being read goes, and its memory is used anew
                target.clear()
            self._filling = [bytes(n) for n in range(64)]
        if act == 3:
            via.empty(3, "float32").__array_interface__  # noqa: B018
            gc.collect(0)
        return value(self._source, self._depth - 1, self._targets)

    def __index__(self) -> int:
        found = self._answer()
        return found if isinstance(found, int) else 3

    def __float__(self) -> float:
        found = self._answer()
        return float(found) if isinstance(found, (int, float)) else 1.5

    def __complex__(self) -> complex:
        return complex(float(self), 2)

    def __bool__(self) -> bool:
        return bool(self._source.byte() % 2)

    def __iter__(self) -> Any:
        for _ in range(self._source.byte()):
            yield self._answer()

    def __repr__(self) -> str:
        found = self._answer()
        return found if isinstance(found, str) else "a liar"

    __str__ = __repr__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name not in ("__cuda_stream__", "__array_interface__", "__dlpack__"):
            raise AttributeError(name)
        if name == "__dlpack__":
            return lambda **_: self._answer()
        return self._answer()


def value(source: Source, depth: int, targets: list[Any]) -> Any:
    """Anything."""
    kind = source.byte() % 14 if depth > 0 else source.byte() % 7
    if kind < 3:
        return source.choose(_NUMBERS)
    if kind < 5:
        return source.choose(_TEXTS)
    if kind == 5:
        return source.choose((None, True, False, 1.5, float("nan"), 1j, b"", b"abcd", ..., slice(1, None, 2)))
    if kind == 6:
        return array(source)
    items = [value(source, depth - 1, targets) for _ in range(source.byte() % 5)]
    if kind == 7:
        return tuple(items)
    if kind in (8, 9):
        targets.append(items)
        items.extend([items] * (kind == 9))
        return items
    if kind == 10:
        table = {source.choose(_TEXTS): item for item in items}
        targets.append(table)
        return table
    return (Liar(source, depth, targets), iter(items), described(source, depth, targets))[kind - 11]


def array(source: Source) -> via.Array:
    """Of the room, and small."""
    made = via.wrap(_ADDRESS, (2, 3, 4), source.choose(("uint8", "float32", "int4", "record3", "complex64")))
    return source.choose((made, made[1], made.T, made[::-1, 1], made[:, :0], made.as_readonly()))


class Described:
    """What `__array_interface__` says, each time anew."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.said


def described(source: Source, depth: int, targets: list[Any]) -> Described:
    said: dict[str, Any] = {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (_ADDRESS, False)}
    targets.append(said)
    for _ in range(source.byte() % 4):
        said[source.choose(_KEYS)] = value(source, depth - 1, targets)
    return Described(said)


def compare(exporter: Any, made: via.Array) -> None:
    """An array of a description with what that says, where it says it plainly."""
    said = exporter.said if isinstance(exporter, Described) else {}
    shape, data = said.get("shape"), said.get("data")
    if isinstance(shape, tuple) and all(type(extent) is int for extent in shape):
        assert made.shape == shape
    if isinstance(data, tuple) and type(data[0]) is int and made.size:
        assert made.ptr == data[0]


def small(shape: Any) -> Any:
    """No more than memory has room for; what is refused anyway stays."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    return 3 if any(type(extent) is int and 1000 < extent < 2**63 for extent in extents) else shape


CALLS: list[Callable[..., Any]] = [
    lambda a, x, y, z: compare(x, via.asarray(x)),
    lambda a, x, y, z: via.from_dlpack(x, device=y, copy=z),
    lambda a, x, y, z: via.wrap(_ADDRESS, x, y, strides=z, nbytes=64),
    lambda a, x, y, z: via.wrap(x, 1, y, owner=z),
    lambda a, x, y, z: via.wrap(_ADDRESS, 4, "uint8", device=x, readonly=y, nbytes=z),
    lambda a, x, y, z: via.empty(small(x), y, z) if not isinstance(x, Liar) else None,
    lambda a, x, y, z: a.fill(x),
    lambda a, x, y, z: via.fill(a, x, y),
    lambda a, x, y, z: a[x],
    lambda a, x, y, z: a[x, y],
    lambda a, x, y, z: a.__setitem__(x, y),
    lambda a, x, y, z: a.reshape(x),
    lambda a, x, y, z: a.transpose(x),
    lambda a, x, y, z: a.broadcast_to(x),
    lambda a, x, y, z: a.squeeze(x),
    lambda a, x, y, z: a.expand_dims(x),
    lambda a, x, y, z: a.view(x),
    lambda a, x, y, z: a.field(x, y, z),
    lambda a, x, y, z: a.__dlpack__(max_version=x, dl_device=y, copy=z),
    lambda a, x, y, z: a.__dlpack__(stream=x),
    lambda a, x, y, z: via.copy_explain(a, x),
    lambda a, x, y, z: via.memory(x, y),
    lambda a, x, y, z: via.Stream(x),
    lambda a, x, y, z: via.Stream.wrap(x, y),
    lambda a, x, y, z: via.Event.wrap(x, y),
    lambda a, x, y, z: via.device_info(x),
    lambda a, x, y, z: via.pointer_info(x),
    lambda a, x, y, z: via.from_arrow(x),
    lambda a, x, y, z: via.import_ipc(x),
    lambda a, x, y, z: raw.via_file_open(_FILE, x),
    lambda a, x, y, z: raw.via_from_array_interface(x, None, None) if not isinstance(x, dict) else None,
    lambda a, x, y, z: raw.via_to_dlpack(a, x, y) if not isinstance(x, dict) else None,
    lambda a, x, y, z: raw.via_array_slice(a, x, y, z),
    lambda a, x, y, z: raw.via_copy_batch(x, y, z),
    lambda a, x, y, z: via.open(_FILE, dtype=x, shape=y).array(offset=z),
    lambda a, x, y, z: pickle.loads(pickle.dumps(a)),
]


def run(data: bytes) -> None:
    source, targets = Source(data), []  # type: tuple[Source, list[Any]]
    for _ in range(1 + source.byte() % 3):
        call, a = source.choose(CALLS), array(source)
        arguments = [value(source, 4, targets) for _ in range(3)]
        try:
            call(a, *arguments)
        except (*_FITTING, Own, BufferError, MemoryError) as error:
            assert len(str(error)) < 4000, error
    for target in targets:
        target.clear()  # what holds itself


def check(data: bytes) -> None:
    before = via.stats()
    run(data)
    if via.stats() != before:
        gc.collect()
        assert via.stats() == before, (via.stats(), before)


def run_inputs(path: Path) -> int:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        check(bytes.fromhex(line))
    return len(lines)


def main() -> None:
    if sys.argv[1:2] == ["--inputs"]:
        print(f"{run_inputs(Path(sys.argv[2]))} inputs")
        return
    import atheris

    for function in (check, run, value, Liar._answer, described):
        atheris.instrument_func(function)
    for function in vars(via._interop).values():
        if getattr(function, "__module__", None) == "viaduct._interop" and callable(function):
            atheris.instrument_func(function)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
