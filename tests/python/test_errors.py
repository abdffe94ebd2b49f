"""Every kind of failure is an exception of the package and of the fitting built-in kind."""

from __future__ import annotations

import builtins
import errno
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


def test_an_exception_reports_status_and_code() -> None:
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


def refused(call: Callable[[], object]) -> via.FileError:
    with pytest.raises(via.FileError) as error:
        call()
    return error.value


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("absent", FileNotFoundError, errno.ENOENT),
        ("absent/file", FileNotFoundError, errno.ENOENT),
        ("file/file", NotADirectoryError, errno.ENOTDIR),
    ],
)
def test_what_is_not_there_is_pythons_exception_too(name: str, kind: type[OSError], code: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(8))
    path = tmp_path / name
    for call in (
        lambda: via.open(path),
        lambda: raw.via_file_open(str(path), None),
        lambda: via.open(path, "r+"),
        lambda: via.stream_blocks(path, 1).__next__(),
        lambda: via.open_safetensors(path),
    ):
        error = refused(call)
        assert isinstance(error, kind) and (error.errno, error.code) == (code, code)
        assert error.status == raw.VIA_ERROR_IO and str(path) in str(error)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root, who may open anything, is somebody else meanwhile."""
    was = os.geteuid()
    os.seteuid(65534 if was == 0 else was)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_file_that_may_not_be_opened_is_a_permission_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0)
    with as_nobody():
        for call in (
            lambda: via.open(tmp_path / "file"),
            lambda: via.open(tmp_path / "file", "r+"),
            lambda: via.open("/etc/viaduct", "w", dtype="int8", shape=1),
        ):
            error = refused(call)
            assert isinstance(error, PermissionError) and error.errno == error.code == errno.EACCES


def test_every_kind_of_file_error_can_be_pickled_and_reported_from_the_others() -> None:
    kinds = ("FileNotFoundError", "PermissionError", "FileExistsError", "IsADirectoryError", "NotADirectoryError")
    for name in kinds:
        mine = getattr(raw, name)
        error = pickle.loads(pickle.dumps(mine(2, "gone")))
        assert type(error) is mine and issubclass(mine, via.FileError) and issubclass(mine, getattr(builtins, name))
        assert (error.errno, str(error)) == (2, "[Errno 2] gone")


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


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: via.ones((2, 3), "int8").item(), via.ShapeError),
        (lambda: via.empty(2, "int4").numpy(), via.DTypeError),
        (lambda: via.empty(2, "int4").tolist(), via.DTypeError),
        (lambda: via.ones(2, "bfloat16").__array__("float32", copy=False), via.NeedsCopyError),
        (lambda: via.convert(via.empty(2, "float32"), via.ones(2, "uint8"), scale="x"), via.DTypeError),  # type: ignore[arg-type]
    ],
)
def test_what_python_code_of_the_package_refuses_is_an_error_of_the_package_too(
    call: Callable[[], object], kind: type[via.Error]
) -> None:
    with pytest.raises(kind, match="expected|call view"):
        call()
