"""Every kind of failure is an exception of the package and of the fitting built-in kind."""

from __future__ import annotations

import errno

import pytest
import viaduct as via
from viaduct import raw

KINDS: dict[str, tuple[type[Exception], type[Exception]]] = {
    "INVALID_ARGUMENT": (via.InvalidArgumentError, ValueError),
    "DTYPE": (via.DTypeError, TypeError),
    "SHAPE": (via.ShapeError, ValueError),
    "INDEX": (via.OutOfRangeError, IndexError),
    "OVERFLOW": (via.ExtentOverflowError, OverflowError),
    "OUT_OF_MEMORY": (via.OutOfMemoryError, MemoryError),
    "READ_ONLY": (via.ReadOnlyError, ValueError),
    "OVERLAP": (via.OverlapError, ValueError),
    "NEEDS_COPY": (via.NeedsCopyError, ValueError),
    "EXCHANGE": (via.ExchangeError, BufferError),
    "VERSION": (via.VersionError, BufferError),
    "DEVICE": (via.DeviceError, RuntimeError),
    "POINTER": (via.PointerError, ValueError),
    "UNSUPPORTED": (via.UnsupportedError, NotImplementedError),
    "CUDA": (via.CudaError, RuntimeError),
    "STREAM_CAPTURE": (via.StreamCaptureError, RuntimeError),
    "FORKED": (via.ForkedError, RuntimeError),
    "WOULD_DEADLOCK": (via.WouldDeadlockError, RuntimeError),
    "CANCELLED": (via.CancelledError, RuntimeError),
    "IO": (via.FileError, OSError),
    "FORMAT": (via.FormatError, ValueError),
    "CALLBACK": (via.CallbackError, RuntimeError),
    "INTERNAL": (via.InternalError, RuntimeError),
}


def test_every_status_has_its_exception() -> None:
    statuses = {name.removeprefix("VIA_ERROR_") for name in dir(raw) if name.startswith("VIA_ERROR_")}
    assert statuses == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_an_exception_is_of_its_kind_and_of_the_built_in_one(name: str) -> None:
    mine, built_in = KINDS[name]
    assert issubclass(mine, via.Error) and issubclass(mine, built_in)
    assert mine.__doc__ and mine.__module__ == "viaduct"


def test_an_exception_tells_status_and_code() -> None:
    with pytest.raises(via.ShapeError) as error:
        via.empty((-1,), "float32")
    assert error.value.status == raw.VIA_ERROR_SHAPE
    assert error.value.code == 0
    assert "-1" in str(error.value)


def test_the_text_is_that_of_the_call_that_failed() -> None:
    with pytest.raises(via.Error) as error:
        raw.via_empty(None, raw.VIA_FLOAT32, (-5,), None)
    text = str(error.value)
    assert text == raw.via_last_error()
    raw.via_array_size(via.empty((1,), "int8"))
    assert raw.via_last_error() == text, "success leaves the last error alone"


def test_an_exception_of_files_is_an_os_error() -> None:
    error = via.FileError(errno.ENOENT, "no such file")
    assert isinstance(error, OSError) and error.errno == errno.ENOENT


def test_memory_that_cannot_be_had_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        via.empty((1 << 60,), "uint8")


def test_one_except_clause_catches_all() -> None:
    for wrong in (
        lambda: via.empty((-1,), "float32"),
        lambda: via.empty((1,), "float33"),
        lambda: via.empty((1 << 62, 8), "float32"),
        lambda: via.asarray(7),
    ):
        with pytest.raises(via.Error):
            wrong()
