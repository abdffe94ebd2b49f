"""Libraries that break one promise each, made of one that keeps them all."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import viaduct as via
from viaduct.conformance import Peer, Producer
from viaduct.conformance._abi import IS_COPIED, call_deleter, rename_capsule
from viaduct.conformance._peers import PEERS, plain
from viaduct.conformance._reader import Taken

KEPT: list[Any] = []
NUMBERS = itertools.count()


def peer(from_dlpack: Callable[..., Any] = via.from_dlpack, export: Callable[..., Any] | None = None) -> Peer:
    """The library that takes by from_dlpack(p, **keywords), and whose arrays export by export(array, **keywords)."""
    array = "m.make()" if export is not None else ""
    module = SimpleNamespace(from_dlpack=from_dlpack, make=lambda: Exporter(export))
    content = PEERS["viaduct"].content if export is None else ""
    return Peer(f"broken {next(NUMBERS)}", array, content=content, writable="True", namespace={"m": module})


class Exporter:
    """An array that exports by a function of its own."""

    def __init__(self, export: Callable[..., Any] | None) -> None:
        self.export, self.array = export, via.from_dlpack(plain(PEERS["viaduct"]))

    def __dlpack__(self, **keywords: Any) -> Any:
        assert self.export is not None
        return self.export(self.array, **keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


# ------------------------------------------------------------------------------------------------------- takers


def leaves_the_name(p: Any, **keywords: Any) -> Any:
    taken = via.from_dlpack(p, **keywords)
    rename_capsule(p.capsules[-1], b"dltensor" if p.legacy else b"dltensor_versioned")
    return taken


def deletes_at_once(p: Any, **keywords: Any) -> Any:
    taken = via.from_dlpack(p, **keywords)
    call_deleter(p.managed)
    return taken


def deletes_twice(p: Any, **keywords: Any) -> Any:
    copied = via.from_dlpack(p, copy=True)
    call_deleter(p.managed)
    return copied


def never_deletes(p: Any, **keywords: Any) -> Any:
    KEPT.append(via.from_dlpack(p, **keywords))
    return KEPT[-1]


def wrapped(p: Any, address: int, strides: Any) -> Any:
    return via.wrap(address, p.shape, "float32", strides=strides, owner=via.from_dlpack(p))


def ignores_strides(p: Any, **_: Any) -> Any:
    return wrapped(p, p.address, None)


def ignores_the_offset(p: Any, **_: Any) -> Any:
    return wrapped(p, p.managed.tensor.data, None)


def drops_read_only(p: Any, **_: Any) -> Any:
    return wrapped(p, p.address, None)


def ignores_the_version(p: Any, **keywords: Any) -> Any:
    p.managed.major = 1
    return via.from_dlpack(p, **keywords)


def ignores_copy(p: Any, **_: Any) -> Any:
    return via.from_dlpack(p)


def copies_always(p: Any, **_: Any) -> Any:
    return via.from_dlpack(p).copy()


def deletes_what_it_refuses(p: Any, **keywords: Any) -> Any:
    try:
        return via.from_dlpack(p, **keywords)
    except Exception:
        call_deleter(p.managed)
        raise


def keeps_what_it_refuses(p: Any, **keywords: Any) -> Any:
    try:
        return via.from_dlpack(p, **keywords)
    except Exception:
        rename_capsule(p.capsules[-1], b"used_dltensor" if p.legacy else b"used_dltensor_versioned")
        raise


def refuses_everything(p: Any, **_: Any) -> Any:
    raise BufferError("never")


def refuses_scalars(p: Any, **keywords: Any) -> Any:
    if not p.shape:
        raise BufferError("no scalars")
    return via.from_dlpack(p, **keywords)


def takes_used_capsules(p: Any, **keywords: Any) -> Any:
    if p.capsules:
        rename_capsule(p.capsules[0], b"dltensor" if p.legacy else b"dltensor_versioned")
    return via.from_dlpack(p, **keywords)


def asks_for_no_version(p: Any, **_: Any) -> Any:
    return via.from_dlpack(p.__dlpack__())


def asks_for_a_stream(p: Any, **_: Any) -> Any:
    return via.from_dlpack(p.__dlpack__(stream=1, max_version=(1, 0)))


def asks_once(p: Any, **_: Any) -> Any:
    return via.from_dlpack(p.__dlpack__(max_version=(1, 0)))


def swallows_errors(p: Any, **keywords: Any) -> Any:
    try:
        return via.from_dlpack(p, **keywords)
    except BufferError:
        raise RuntimeError("something went wrong") from None


TAKERS = [
    (leaves_the_name, "imports the odd: a vector (versioned)", "did not mark the capsule"),
    (leaves_the_name, "imports the odd: a vector (unversioned)", "did not mark the capsule"),
    (deletes_at_once, "imports the odd: a vector (versioned)", "while the memory is in use"),
    (deletes_twice, "imports the odd: a vector (unversioned)", "called 2 times"),
    (never_deletes, "imports the odd: a vector (versioned)", "called 0 times"),
    (never_deletes, "may be released on another thread", "called 0 times"),
    (never_deletes, "imports many tensors at once, and releases each once", "called"),
    (ignores_strides, "imports the odd: strides with gaps (versioned)", "the elements are other ones"),
    (ignores_strides, "imports the odd: a negative stride (unversioned)", "the elements are other ones"),
    (ignores_the_offset, "imports the odd: a byte_offset (versioned)", "the elements are other ones"),
    (drops_read_only, "keeps read-only memory from being written", "read-only was dropped"),
    (ignores_the_version, "imports nothing illegal: a newer major version (versioned)", "took it"),
    (ignores_copy, "copies when copy is True", "shares the memory"),
    (copies_always, "does not copy when copy is False", "copied though"),
    (deletes_what_it_refuses, "imports nothing illegal: no lanes (versioned)", "left the capsule to delete it again"),
    (keeps_what_it_refuses, "imports nothing illegal: no lanes (unversioned)", "called the deleter 0 times"),
    (refuses_everything, "imports a vector, in one form at least", "never"),
    (refuses_scalars, "imports the odd: no dimensions (versioned)", "refused it"),
    (takes_used_capsules, "refuses a capsule that was used (versioned)", "a second time"),
    (asks_for_no_version, "asks for a version that it can take, as two numbers", "None"),
    (asks_for_a_stream, "asks host memory for no stream", "stream=1"),
    (asks_once, "asks a producer of before the keywords again, without them", "refused it"),
    (swallows_errors, "hands on what a producer raises", "something went wrong"),
]


# ------------------------------------------------------------------------------------------------------- exporters


def changed(change: Callable[[Taken], None]) -> Callable[..., Any]:
    """Exports what the array exports, with something wrong in it."""

    def export(array: Any, **keywords: Any) -> Any:
        capsule = array.__dlpack__(**keywords)
        change(Taken(capsule))
        return capsule

    return export


def shift(taken: Taken) -> None:
    taken.tensor.data += 1


def unknown_flag(taken: Taken) -> None:
    if taken.versioned:
        taken.managed.flags |= 1 << 40


def hidden_copy(taken: Taken) -> None:
    if taken.versioned:
        taken.managed.flags &= ~IS_COPIED


def other_device(taken: Taken) -> None:
    taken.tensor.device.device_id = 7


def null_strides(taken: Taken) -> None:
    taken.tensor.strides = None


def version_two(taken: Taken) -> None:
    if taken.versioned:
        taken.managed.major = 2


def one_tensor_for_all(array: Any, **keywords: Any) -> Any:
    if not KEPT or not hasattr(KEPT[-1], "address"):
        KEPT.append(Producer(legacy="max_version" not in keywords))
    return KEPT[-1].capsule()


def without(*names: str) -> Callable[..., Any]:
    """Exports, and does not listen to some of the keywords."""

    def export(array: Any, **keywords: Any) -> Any:
        return array.__dlpack__(**{name: value for name, value in keywords.items() if name not in names})

    return export


def always_versioned(array: Any, **keywords: Any) -> Any:
    return array.__dlpack__(**keywords | {"max_version": (1, 3)})


def never_versioned(array: Any, **_: Any) -> Any:
    return array.__dlpack__()


def knows_no_keywords(array: Any) -> Any:
    return array.__dlpack__()


def gives_numbers(_: Any, **__: Any) -> Any:
    return 7


EXPORTERS = [
    (changed(shift), "exports elements that are aligned to their size (versioned)", "exported address"),
    (changed(unknown_flag), "exports flags that are known, and no others", "flags are"),
    (changed(hidden_copy), "exports a copy that says so", "no flag"),
    (changed(other_device), "exports the device that it reported (unversioned)", "exported (1, 7)"),
    (changed(null_strides), "exports strides, which since 1.2 are not NULL", "NULL"),
    (changed(version_two), "exports no newer major version than is there, to who takes 9.9", "version"),
    (one_tensor_for_all, "exports several tensors of one array, each with an end of its own (versioned)", "one tensor"),
    (without("copy"), "exports a copy when copy is True", "shares the memory"),
    (without("dl_device"), "exports nothing to a device that there is not, by BufferError", "exported it"),
    (without("stream"), "exports host memory to no stream", "exported it"),
    (always_versioned, "exports the form of before 1.0 to who names no version", "versioned"),
    (always_versioned, "exports the form of before 1.0 to who takes 0.8", "versioned"),
    (never_versioned, "exports the versioned form to who takes 1.0", "unversioned"),
    (knows_no_keywords, "exports the memory itself when copy is False", "does not know the keywords"),
    (gives_numbers, "exports what can be read (versioned)", "not a capsule"),
]
