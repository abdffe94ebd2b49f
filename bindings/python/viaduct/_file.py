"""Files: open them, and transfer whole arrays."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _conversion, _interop
from ._extension import raw

_MODES = {"r": raw.VIA_MODE_READ, "r+": raw.VIA_MODE_READ_WRITE, "c": raw.VIA_MODE_COPY_ON_WRITE, "w": None}
_FORMATS = {None: raw.VIA_FORMAT_AUTO, "raw": raw.VIA_FORMAT_RAW, "npy": raw.VIA_FORMAT_NPY}
_ORDERS = {"C": 0, "F": 1}
_PAGE_CACHES = {
    "auto": raw.VIA_PAGE_CACHE_AUTO,
    "use": raw.VIA_PAGE_CACHE_USE,
    "avoid": raw.VIA_PAGE_CACHE_AVOID,
}


class _Given(NamedTuple):
    """Arguments of open() for a raw file: dtype and shape; both are None for a .npy file. For a window, its own, and
    the axes of the file that remain. path and mode serve repr(); None if the C API opened the file."""

    dtype: int | None
    shape: tuple[int, ...] | None
    axes: tuple[int, ...] | None = None
    path: str | bytes | None = None
    mode: str | None = None


def _shape_of(shape: Any) -> tuple[int, ...]:
    return raw._extents("File", "shape", shape)


def open(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    mode: str = "r",
    *,
    dtype: object = None,
    shape: Any = None,
    order: str = "C",
    format: str | None = None,
    durable: bool = False,
    atomic: bool = False,
    page_cache: str = "auto",
    as_bytes: bool = False,
) -> raw.File:
    """Opens a file of elements, raw or .npy; detects .npy by its first bytes.

    Has the modes of numpy.memmap. "r" reads; "r+" reads and writes; "c" maps arrays whose writes never reach the file;
    "w" creates the file, with the given dtype and shape. A raw file holds bytes unless dtype and shape are given.
    Those given for a .npy file have to be its header's.
    `durable` writes survive a power cut; `atomic` ones replace the file whole, or not at all. `page_cache` "auto"
    bypasses the system's cache for uncached data. "use" always goes through it. "avoid" leaves no more in it than there
    was.

    Reads and writes of a .npy file need arrays of its shape and dtype; those of a slice, of the slice's. With
    `as_bytes` they accept any array at any offset, as for a raw file.
    """
    options = {
        "file_format": _conversion.choose("open", "format", _FORMATS, format),
        "column_major": _conversion.choose("open", "order", _ORDERS, order),
        "durable": int(durable),
        "atomic_write": int(atomic),
        "page_cache": _conversion.choose("open", "page_cache", _PAGE_CACHES, page_cache),
        "as_bytes": int(as_bytes),
        "mode": _conversion.choose("open", "mode", _MODES, mode) or 0,
    }
    given = _Given(
        None if dtype is None else raw._dtype_number("open", dtype),
        None if shape is None else _shape_of(shape),
        path=os.fspath(path),
        mode=mode,
    )
    name = os.fspath(path)
    file = _create(name, given, options) if mode == "w" else raw.via_file_open(name, options)
    file._set_given(given)
    _check_given(given, _info(file))
    return file


def _check_given(given: _Given, info: dict[str, Any]) -> None:
    """Refuses a dtype or a shape that is not that of the .npy file."""
    if not _is_npy(info):
        return
    if given.dtype not in (None, info["dtype"]) or given.shape not in (None, info["shape"]):
        name = raw.via_dtype_name(info["dtype"])
        raise raw.InvalidArgumentError(
            f"open: dtype or shape is not that of the .npy file; expected {name} and {info['shape']}, or format='raw'"
        )


def _create(path: str | bytes, given: _Given, options: dict[str, int]) -> raw.File:
    if given.dtype is None or given.shape is None:
        raise raw.InvalidArgumentError("open: dtype or shape is None; expected both for mode 'w'")
    return raw.via_file_create(path, given.dtype, given.shape, options)


# ------------------------------------------------------------------------------------------------- attributes


def _info(file: raw.File) -> dict[str, Any]:
    return dict(raw.via_file_info(file))


def _is_npy(info: dict[str, Any]) -> bool:
    return bool(info["file_format"] == raw.VIA_FORMAT_NPY)


def _content(
    file: raw.File, shape: Any = None, dtype: object = None, offset: int = 0
) -> tuple[int, tuple[int, ...], dict[str, Any]]:
    """Returns dtype, shape and properties of the content; dtype and shape may be None, and one extent -1."""
    info = _info(file)
    offset = _conversion.integer("File", "offset", offset)
    given = file._given or _Given(None, None)
    number = raw._dtype_number("File", dtype) if dtype is not None else info["dtype"] or given.dtype or raw.VIA_UINT8
    if shape is None and (given.axes is not None or not _is_npy(info)):
        shape = given.shape if given.shape is not None else (-1,)
    elif shape is None:
        shape = info["shape"]
    present = max(info["nbytes"] - info["byte_offset"], 0)  # a file that was cut short may end before its elements
    if offset > present:
        raise raw.InvalidArgumentError(f"File: offset is {offset}; expected at most {present}, the bytes there are")
    return number, _fit(_shape_of(shape), number, present - offset), info


def _fit(shape: tuple[int, ...], dtype: int, nbytes: int) -> tuple[int, ...]:
    if shape.count(-1) != 1:
        return shape
    others = raw.via_dtype_bits(dtype)
    for extent in shape:
        others *= 1 if extent == -1 else extent
    return tuple((nbytes * 8 // others if others > 0 else 0) if extent == -1 else extent for extent in shape)


def shape(file: raw.File) -> tuple[int, ...]:
    return _content(file)[1]


def dtype(file: raw.File) -> object:
    number = _content(file)[0]
    return _interop.dtype_object(raw.via_dtype_name(number), -number if number < 0 else 0)


def nbytes(file: raw.File) -> int:
    return int(_info(file)["nbytes"])


def describe(file: raw.File) -> str:
    """Returns the text of repr()."""
    given = file._given or _Given(None, None)
    name = "" if given.path is None else f" window of {given.path!r}" if given.axes is not None else f" {given.path!r}"
    if file.closed:
        return f"<viaduct.File{name}, closed>"
    number, extents, _ = _content(file)
    order_text = ", order 'F'" if order(file) == "F" else ""
    mode = "" if given.mode is None else f", mode {given.mode!r}"
    return f"<viaduct.File{name}, shape {extents}, {raw.via_dtype_name(number)}{order_text}{mode}>"


def order(file: raw.File) -> str:
    return "F" if _info(file)["column_major"] else "C"


# ----------------------------------------------------------------------------------------------------- windows


class _Taken(NamedTuple):
    """The part of one axis that an index selects."""

    start: int
    length: int
    step: int
    stays: bool


_WHOLE = slice(None)


def _take(pick: Any, axis: int, extent: int) -> _Taken:
    if isinstance(pick, slice):
        start, stop, step = pick.indices(extent)
        count = len(range(start, stop, step))
        return _Taken(start if count > 0 else 0, count, step, True)
    at = _conversion.integer("File", "key", pick, "integers, slices and ...")
    if not -extent <= at < extent:
        raise raw.OutOfRangeError(f"File: key is {at} on axis {axis}; expected {-extent} to {extent - 1}")
    return _Taken(at % extent, 1, 1, False)


def _picks(index: Any, ndim: int) -> list[Any]:
    """Returns one index for each axis; expands the ellipsis."""
    picks = list(index) if isinstance(index, tuple) else [index]
    dots = [at for at, pick in enumerate(picks) if pick is ...]
    if len(dots) > 1 or len(picks) - len(dots) > ndim:
        raise raw.OutOfRangeError(f"File: key has {len(picks)} indices; expected at most {ndim} and one ellipsis")
    at = dots[0] if dots else len(picks)
    return picks[:at] + [_WHOLE] * (ndim - len(picks) + len(dots)) + picks[at + 1 :]


def _is_window(file: raw.File) -> bool:
    return file._given is not None and file._given.axes is not None


def _has_axes(file: raw.File) -> bool:
    """Returns whether parts are windows. Parts of a raw file are bytes at an offset."""
    return _is_window(file) or _is_npy(_info(file))


def window(file: raw.File, index: Any) -> raw.File:
    number, extents, info = _content(file)
    inner = _is_window(file)
    every = [_Taken(0, 1, 1, False)] * len(info["shape"] if inner else extents)
    for axis, pick in enumerate(_picks(index, len(extents))):
        every[file._given.axes[axis] if inner else axis] = _take(pick, axis, extents[axis])
    starts, counts, steps = (tuple(one[field] for one in every) for field in range(3))
    made = raw.via_file_window(file, 0, 0 if inner else number, () if inner else extents, starts, counts, steps)
    stays = [axis for axis, one in enumerate(every) if one.stays]
    _keep_window(made, file, number, tuple(every[axis].length for axis in stays), tuple(stays))
    return made


def window_at(file: raw.File, offset: int, dtype: object, shape: Any) -> raw.File:
    """Returns a window of the whole array at that offset."""
    number = raw._dtype_number("File", dtype)
    made = raw.via_file_window(file, offset, number, shape, None, None, None)
    extents = _shape_of(shape)
    _keep_window(made, file, number, extents, tuple(range(len(extents))))
    return made


def _keep_window(made: raw.File, file: raw.File, dtype: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    outer = file._given or _Given(None, None)
    made._set_given(_Given(dtype, shape, axes, outer.path, outer.mode))


def _map_window(file: raw.File) -> raw.Array:
    mapped = raw.via_file_array(file, 0, 0, ())
    gone = set(range(mapped.ndim)) - set(file._given.axes)
    return mapped[tuple(0 if axis in gone else _WHOLE for axis in range(mapped.ndim))]


# ----------------------------------------------------------------------------------------------------- methods


def array(file: raw.File, shape: Any = None, dtype: object = None, offset: int = 0) -> raw.Array:
    number, extents, info = _content(file, shape, dtype, offset)
    if dtype is None and info["byte_order"] != raw.VIA_BYTE_ORDER_NATIVE:
        name = raw.via_dtype_name(number)
        raise raw.DTypeError(f"File.array: the file has {name} in another byte order; expected File.read, or a dtype")
    if _is_window(file) and shape is None and dtype is None and offset == 0:
        return _map_window(file)
    return raw.via_file_array(file, offset, number, extents)


def read(
    file: raw.File,
    dst: Any = None,
    offset: int = 0,
    *,
    shape: Any = None,
    dtype: object = None,
    device: Any = "cpu",
    stream: Any = None,
    astype: object = None,
    casting: str = "same_kind",
) -> raw.Array:
    if astype is not None:
        source = _part(file, offset, shape, dtype) if shape is not None or dtype is not None or offset != 0 else file
        return read(_astype(source, astype, casting=casting), dst, device=device, stream=stream)
    says = shape is not None or dtype is not None
    if dst is None or says:
        number, extents, info = _content(file, shape, dtype, offset)
        is_part = (says or offset != 0) and (_is_npy(info) or dst is not None)
        if is_part and not _is_window(file):
            file, offset = window_at(file, offset, number, extents), 0
        dst = raw.empty(extents, number, device=device) if dst is None else dst
    found = raw.asarray(dst)
    _finish(_begin_read(file, found, offset, _after(found, stream)))
    return found


def _part(file: raw.File, offset: int, shape: Any, dtype: object) -> raw.File:
    number, extents, _ = _content(file, shape, dtype, offset)
    return window_at(file, _conversion.integer("File", "offset", offset), number, extents)


# ------------------------------------------------------------------------------------------------ conversions


def astype(
    file: raw.File,
    dtype: object,
    *,
    casting: str = "same_kind",
    overflow: str = "infinity",
    byteorder: str = "=",
    scale: Any = None,
    offset: Any = None,
    scale_axis: int = 0,
) -> raw.File:
    number = raw._dtype_number("File.astype", dtype)
    own, extents, _ = _content(file)
    source = file if _has_axes(file) else window_at(file, 0, own, extents)
    given = source._given or _Given(None, None)
    axes = given.axes if given.axes is not None else tuple(range(len(extents)))
    words = {"casting": casting, "overflow": overflow, "byteorder": byteorder}
    options, _numbers = _conversion.options("File.astype", axes, scale_axis, scale=scale, offset=offset, **words)
    made = raw.via_file_convert(source, number, options)
    made._set_given(_Given(number, extents, axes, given.path, given.mode))
    return made


# read() has an argument of that name.
_astype = astype


def write(file: raw.File, src: Any, offset: int = 0, *, stream: Any = None) -> None:
    found = raw.asarray(src)
    _finish(_begin_write(file, found, offset, _after(found, stream)))


def read_submit(file: raw.File, dst: Any, offset: int = 0, *, stream: Any = None) -> raw.Task:
    return raw.via_file_read_submit(file, offset, raw.asarray(dst), _as_stream(stream))


def write_submit(file: raw.File, src: Any, offset: int = 0, *, stream: Any = None) -> raw.Task:
    return raw.via_file_write_submit(file, offset, raw.asarray(src), _as_stream(stream))


class _Done:
    """Takes the place of a task for a transfer that is done."""

    def wait(self) -> None: ...

    def cancel(self) -> None: ...


def _begin_read(file: raw.File, dst: raw.Array, offset: int, stream: Any) -> raw.Task | _Done:
    """Starts a task, which Ctrl-C can leave. Inside a callback, where waiting for a task is refused, transfers on this
    thread."""
    if not raw._is_inside_callback():
        return read_submit(file, dst, offset, stream=stream)
    raw.via_file_read(file, offset, dst, _as_stream(stream))
    return _Done()


def _begin_write(file: raw.File, src: raw.Array, offset: int, stream: Any) -> raw.Task | _Done:
    """Writes as _begin_read() reads."""
    if not raw._is_inside_callback():
        return write_submit(file, src, offset, stream=stream)
    raw.via_file_write(file, offset, src, _as_stream(stream))
    return _Done()


def _as_stream(stream: Any) -> raw.Stream | None:
    return stream if stream is None or isinstance(stream, raw.Stream) else raw.Stream.wrap(stream)


def _after(array: raw.Array, stream: Any) -> Any:
    """Orders synchronous transfers like a copy: after the legacy stream's work."""
    return raw.Stream.legacy if stream is None and array.device != "cpu" else stream


def _finish(task: raw.Task | _Done) -> None:
    """Waits. On failure, ends the transfer before its memory may be released."""
    try:
        task.wait()
    except BaseException:
        _abandon(task)
        raise


def _abandon(task: raw.Task | _Done) -> None:
    task.cancel()
    try:
        task.wait()
    except raw.Error:
        pass  # cancelled, or the error that is raised already
