"""What a library exports: every field of its capsules, the keywords that it is asked with, and who deletes what when."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

from . import _abi
from ._memory import device_is_well
from ._peers import Peer, takes
from ._reader import Absent, Broken, Taken, export
from ._rows import Rows, SameRun, raised_by, settles, words_of

ROWS = Rows()
FormRun = Callable[[Peer, dict[str, Any]], None]
SameFormRun = TypeVar("SameFormRun", bound=FormRun)
FORMS: dict[str, dict[str, Any]] = {"versioned": {"max_version": _abi.NEWEST}, "unversioned": {}}


def each_form(name: str) -> Callable[[SameFormRun], SameFormRun]:
    """A row for each form; run(peer, keywords) asks for it."""

    def keep(run: SameFormRun) -> SameFormRun:
        for form, keywords in FORMS.items():
            ROWS.add(f"exports {name} ({form})", functools.partial(_run, run, keywords))
        return run

    return keep


def _run(run: FormRun, keywords: dict[str, Any], peer: Peer) -> None:
    run(peer, keywords)


def row(name: str, device: str = "") -> Callable[[SameRun], SameRun]:
    return ROWS.row(f"exports {name}", device)


def exporter_of(peer: Peer) -> Any:
    x = peer.make()
    if not hasattr(x, "__dlpack__"):
        raise Absent("its arrays have no __dlpack__")
    return x


def asked(x: Any, **keywords: Any) -> Taken:
    try:
        capsule = x.__dlpack__(**keywords)
    except TypeError as error:
        if "max_version" in keywords:
            raise Broken(f"does not know the keywords: {words_of(error)}") from None
        raise
    return Taken(capsule)


@row("a pair of numbers as its device")
def _device_is_a_pair(peer: Peer) -> None:
    device = exporter_of(peer).__dlpack_device__()
    if not isinstance(device, tuple) or len(device) != 2 or not all(isinstance(number, int) for number in device):
        raise Broken(f"__dlpack_device__() gave {device!r}")
    if device[0] not in (peer.device_type, _abi.CUDA_MANAGED):
        raise Broken(f"__dlpack_device__() gave {device!r} of memory of the {peer.device}")


@each_form("what can be read")
def _can_be_read(peer: Peer, keywords: dict[str, Any]) -> None:
    x = exporter_of(peer)
    wanted = peer.evaluate(peer.content, x=x) if peer.content else None
    found = asked(x, **keywords).elements()
    if wanted is not None and found != wanted:
        raise Broken("the tensor's elements are not the array's")


@each_form("the device that it reported")
def _device_is_the_reported_one(peer: Peer, keywords: dict[str, Any]) -> None:
    x = exporter_of(peer)
    taken = asked(x, **keywords)
    device = taken.tensor.device
    if (device.device_type, device.device_id) != tuple(x.__dlpack_device__()):
        raise Broken(f"reported {x.__dlpack_device__()} and exported {(device.device_type, device.device_id)}")


@each_form("elements that are aligned to their size")
def _is_aligned(peer: Peer, keywords: dict[str, Any]) -> None:
    taken = asked(exporter_of(peer), **keywords)
    if taken.address % max(1, taken.bits // 8):
        raise Broken(f"exported address {taken.address:#x}")


@row("the form of before 1.0 to who names no version")
def _no_version_means_legacy(peer: Peer) -> None:
    if asked(exporter_of(peer)).versioned:
        raise Broken("gave a versioned capsule to a consumer of before 1.0")


@row("the form of before 1.0 to who takes 0.8")
def _old_version_means_legacy(peer: Peer) -> None:
    if asked(exporter_of(peer), max_version=(0, 8)).versioned:
        raise Broken("gave a versioned capsule to a consumer of 0.8")


@row("the form of before 1.0 to who says None")
def _none_means_legacy(peer: Peer) -> None:
    if asked(exporter_of(peer), max_version=None).versioned:
        raise Broken("gave a versioned capsule to a consumer that said None")


@row("the versioned form to who takes 1.0")
def _version_one(peer: Peer) -> None:
    if not asked(exporter_of(peer), max_version=(1, 0)).versioned:
        raise Broken("gave an unversioned capsule to a consumer of 1.0")


@row("no newer major version than is there, to who takes 9.9")
def _no_future_version(peer: Peer) -> None:
    taken = asked(exporter_of(peer), max_version=(9, 9))
    if taken.versioned and taken.version[0] != 1:
        raise Broken(f"gave version {taken.version}")


@row("flags that are known, and no others")
def _flags_are_known(peer: Peer) -> None:
    flags = asked(exporter_of(peer), max_version=_abi.NEWEST).flags
    if flags & ~_abi.KNOWN_FLAGS:
        raise Broken(f"flags are {flags:#x}")


@row("strides, which since 1.2 are not NULL")
def _strides_are_given(peer: Peer) -> None:
    taken = asked(exporter_of(peer), max_version=_abi.NEWEST)
    if taken.version >= (1, 2) and taken.tensor.ndim and not taken.tensor.strides:
        raise Broken(f"strides are NULL in version {taken.version}")


@row("the memory itself when copy is False")
def _copy_never(peer: Peer) -> None:
    x = exporter_of(peer)
    plain, uncopied = export(x), asked(x, max_version=_abi.NEWEST, copy=False)
    if uncopied.address != plain.address or uncopied.flags & _abi.IS_COPIED:
        raise Broken("copied though a copy was forbidden")


@row("a copy when copy is True")
def _copy_always(peer: Peer) -> None:
    x = exporter_of(peer)
    plain, copied = export(x), asked(x, max_version=_abi.NEWEST, copy=True)
    if copied.address == plain.address:
        raise Broken("shares the memory though a copy was asked for")
    if copied.elements() != plain.elements():
        raise Broken("the copy holds other elements")


@row("a copy that says so")
def _copies_are_reported(peer: Peer) -> None:
    x = exporter_of(peer)
    copied = asked(x, max_version=_abi.NEWEST, copy=True)
    if copied.address != export(x).address and copied.versioned and not copied.flags & _abi.IS_COPIED:
        raise Broken("the copy has no flag that says so")


@row("to its own device when that is named")
def _own_device(peer: Peer) -> None:
    x = exporter_of(peer)
    device = tuple(int(number) for number in x.__dlpack_device__())
    if asked(x, max_version=_abi.NEWEST, dl_device=device).address != export(x).address:
        raise Broken("copied to where the memory is")


@row("to the CPU when that is named", "cuda")
def _to_the_host(peer: Peer) -> None:
    x = exporter_of(peer)
    taken = asked(x, max_version=_abi.NEWEST, dl_device=(_abi.CPU, 0))
    if taken.tensor.device.device_type != _abi.CPU:
        raise Broken(f"exported device {taken.tensor.device.device_type}")
    if taken.elements() != export(x).elements():
        raise Broken("the copy holds other elements")


def must_refuse(peer: Peer, kinds: tuple[type[Exception], ...], **keywords: Any) -> None:
    error = raised_by(lambda: exporter_of(peer).__dlpack__(**keywords))
    if error is None:
        raise Broken("exported it")
    if not isinstance(error, kinds):
        raise Broken(f"raised {words_of(error)}, not {kinds[0].__name__}")


@row("nothing to a device that there is not, by BufferError")
def _unknown_device(peer: Peer) -> None:
    must_refuse(peer, (BufferError,), max_version=_abi.NEWEST, dl_device=(99, 0))


@row("nothing to a device where it would have to copy and must not, by BufferError")
def _device_without_copy(peer: Peer) -> None:
    other = (_abi.CPU, 0) if peer.device_type == _abi.CUDA else (_abi.CUDA, 0)
    # ValueError is what the standard has for copy=False that cannot be honoured.
    must_refuse(peer, (BufferError, ValueError), max_version=_abi.NEWEST, dl_device=other, copy=False)


@row("host memory to no stream", "cpu")
def _no_streams_on_the_host(peer: Peer) -> None:
    must_refuse(peer, (Exception,), stream=1)


@row("host memory to stream None", "cpu")
def _none_is_a_stream_of_the_host(peer: Peer) -> None:
    asked(exporter_of(peer), stream=None)


@each_form("a capsule that deletes what nobody took")
def _unused_capsules_delete(peer: Peer, keywords: dict[str, Any]) -> None:
    taken = asked(exporter_of(peer), **keywords)
    taken.watch()
    del taken.capsule
    if not settles(lambda: taken.deleted > 0):
        raise Absent("its capsules do not go by the deleter in the tensor, or leak")
    if taken.deleted != 1:
        raise Broken(f"the deleter was called {taken.deleted} times")


@each_form("a capsule that leaves what was taken")
def _used_capsules_delete_nothing(peer: Peer, keywords: dict[str, Any]) -> None:
    taken = asked(exporter_of(peer), **keywords)
    taken.watch()
    taken.take()
    del taken.capsule
    gc.collect()
    if taken.deleted:
        raise Broken("the capsule deleted a tensor that had been taken")
    taken.end()


@each_form("memory that outlives the array")
def _tensors_hold_the_memory(peer: Peer, keywords: dict[str, Any]) -> None:
    x = exporter_of(peer)
    taken = asked(x, **keywords)
    taken.take()
    before = taken.elements()
    del x, taken.capsule
    gc.collect()
    churn = [bytearray(len(before)) for _ in range(1000)]
    if taken.elements() != before:
        raise Broken("the memory changed when the array was gone")
    del churn
    taken.end()


@each_form("a tensor that may be deleted without the GIL, by any thread")
def _any_thread_may_delete(peer: Peer, keywords: dict[str, Any]) -> None:
    taken = asked(exporter_of(peer), **keywords)
    taken.take()
    delete_on_a_thread_of_c(taken)
    exporter_of(peer)  # what the library does next, it can still do
    if peer.device == "cuda" and not device_is_well():
        raise Broken("the device does not work any more")


def delete_on_a_thread_of_c(taken: Taken) -> None:
    """On one that has never heard of Python."""
    if not taken.managed.deleter:
        raise Absent("the tensor has no deleter")
    library = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    library.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    library.pthread_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    address = ctypes.addressof(taken.managed)
    if library.pthread_create(ctypes.addressof(thread), None, taken.managed.deleter, address):
        raise Absent("no thread could be started")
    library.pthread_join(thread, None)


@each_form("several tensors of one array, each with an end of its own")
def _exports_are_independent(peer: Peer, keywords: dict[str, Any]) -> None:
    x = exporter_of(peer)
    several = [asked(x, **keywords) for _ in range(8)]
    for taken in several:
        taken.take()
    if len({ctypes.addressof(taken.managed) for taken in several}) != len(several):
        raise Broken("gave one tensor twice")
    for taken in several[:-1]:
        taken.end()
    several[-1].elements()
    several[-1].end()


@each_form("what it takes back itself")
def _comes_back(peer: Peer, keywords: dict[str, Any]) -> None:
    x = exporter_of(peer)
    if not takes(peer, not keywords):
        raise Absent("it takes no tensors of this form")

    class Exporter:
        def __dlpack__(self, **_: Any) -> Any:
            return x.__dlpack__(**keywords)

        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

    back = peer.take(Exporter())
    if export(back).elements() != export(x).elements():
        raise Broken("the elements changed on the way")
