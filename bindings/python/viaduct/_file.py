"""Files: open them, transfer whole arrays, and stream files that do not fit in memory."""

from __future__ import annotations

import importlib
import math
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
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


def _offset_of(offset: Any) -> int:
    try:
        return operator.index(offset)
    except TypeError:
        found = type(offset).__name__
        raise raw.DTypeError(f"File: offset is of type {found}; expected an integer") from None


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
    return file


def _create(path: str | bytes, given: _Given, options: dict[str, int]) -> raw.File:
    if given.dtype is None or given.shape is None:
        raise raw.InvalidArgumentError("open: dtype or shape is None; expected both for mode 'w'")
    return raw.via_file_create(path, given.dtype, given.shape, options)


# ------------------------------------------------------------------------------------------------- attributes


def _info(file: raw.File) -> dict[str, Any]:
    if file.closed:
        raise raw.InvalidArgumentError("File: the file is closed; expected an open file")
    return dict(raw.via_file_info(file))


def _is_npy(info: dict[str, Any]) -> bool:
    return bool(info["file_format"] == raw.VIA_FORMAT_NPY)


def _content(
    file: raw.File, shape: Any = None, dtype: object = None, offset: int = 0
) -> tuple[int, tuple[int, ...], dict[str, Any]]:
    """Returns dtype, shape and properties of the content; dtype and shape may be None, and one extent -1."""
    info = _info(file)
    offset = _offset_of(offset)
    given = file._given or _Given(None, None)
    number = raw._dtype_number("File", dtype) if dtype is not None else info["dtype"] or given.dtype or raw.VIA_UINT8
    if shape is None and (given.axes is not None or not _is_npy(info)):
        shape = given.shape if given.shape is not None else (-1,)
    elif shape is None:
        shape = info["shape"]
    left = info["nbytes"] - info["byte_offset"] - offset
    if left < 0:
        raise raw.InvalidArgumentError(
            f"File: offset is {offset}; expected at most {left + offset}, the bytes there are"
        )
    return number, _fit(_shape_of(shape), number, left), info


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
    try:
        at = operator.index(pick)
    except TypeError:
        found = type(pick).__name__
        raise raw.DTypeError(f"File: key is of type {found}; expected integers, slices and ...") from None
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
    return window_at(file, _offset_of(offset), number, extents)


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


# ------------------------------------------------------------------------------------------------- out of core


class Block:
    """One block of a file in memory, for one step of stream_blocks(): rows start to stop, in `array`."""

    __slots__ = ("_results", "array", "start", "stop")

    def __init__(self, array: raw.Array, start: int, stop: int, results: _Results) -> None:
        self.array = array
        self.start = start
        self.stop = stop
        self._results = results

    def write(self, result: Any) -> None:
        """Writes the rows' result to the output in the background; do not change it meanwhile."""
        self._results.write(raw.asarray(result), self.start, self.stop)


class _Results:
    """The output, and the writes in progress by the first row of their block."""

    def __init__(self, output: Any, rows: int, stream: Any) -> None:
        self._output = output
        self._file: raw.File | None = output if isinstance(output, raw.File) else None
        self._rows = rows
        self._stream = stream
        self._tasks: list[tuple[int, raw.Task | _Done]] = []

    def write(self, result: raw.Array, start: int, stop: int) -> None:
        if self._output is None:
            raise raw.InvalidArgumentError("Block.write: output is None; expected stream_blocks(output=...)")
        if result.ndim == 0 or result.shape[0] != stop - start:
            raise raw.ShapeError(f"Block.write: result has shape {result.shape}; expected {stop - start} rows")
        offset = _row_bytes("Block.write", _element_bits(result), result.shape[1:]) * start
        file = self._open(result)
        if _has_axes(file):
            file, offset = window(file, slice(start, stop)), 0
        self._tasks.append((start, _begin_write(file, result, offset, _after(result, self._stream))))

    def _open(self, result: raw.Array) -> raw.File:
        if self._file is None:
            self._file = open(self._output, "w", dtype=result.dtype_name, shape=(self._rows, *result.shape[1:]))
        return self._file

    def finish(self, before: int) -> None:
        """Waits for the writes of blocks that begin before that row, in whatever order they were written."""
        for entry in [entry for entry in self._tasks if entry[0] < before]:
            entry[1].wait()
            self._tasks.remove(entry)

    def close(self, failed: bool) -> None:
        """Waits for all writes. After a failure cancels them."""
        try:
            self.finish(0 if failed else self._rows)
        finally:
            for _, task in self._tasks:
                _abandon(task)
            self._tasks.clear()


class _Progress:
    """Reports arrived bytes to a function, or to tqdm if that is installed."""

    def __init__(self, wanted: Any, total: int) -> None:
        self._report: Callable[[int, int], object] | None = wanted if callable(wanted) else None
        self._bar = _make_bar(total) if wanted is True else None
        self._total = total
        self._done = 0

    def add(self, nbytes: int) -> None:
        self._done += nbytes
        if self._report is not None:
            self._report(self._done, self._total)
        if self._bar is not None:
            self._bar.update(nbytes)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _make_bar(total: int) -> Any:
    try:
        tqdm = importlib.import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024)


class _Rows(NamedTuple):
    """The rows of a file, and how they are divided into blocks."""

    dtype: int
    rows: int
    extents: tuple[int, ...]
    row_bytes: int
    block: int
    are_windows: bool

    def length(self, number: int) -> int:
        return min(self.block, self.rows - number * self.block)

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.block)


class _Reads:
    """Buffers for some blocks, and the reads into unused ones."""

    def __init__(self, file: raw.File, rows: _Rows, depth: int, device: Any, stream: Any) -> None:
        self._file = file
        self._rows = rows
        self._stream = stream
        shape = (rows.block, *rows.extents)
        self._buffers = [raw.empty(shape, rows.dtype, device=device) for _ in range(min(depth, rows.blocks))]
        self._under_way: list[tuple[raw.Task | _Done, raw.Array]] = []

    def start(self, number: int) -> None:
        if number >= self._rows.blocks:
            return
        part = self._buffers[number % len(self._buffers)][: self._rows.length(number)]
        first = number * self._rows.block
        source, offset = self._file, first * self._rows.row_bytes
        if self._rows.are_windows:
            source, offset = window(source, slice(first, first + part.shape[0])), 0
        self._under_way.append((_begin_read(source, part, offset, _after(part, self._stream)), part))

    def next(self) -> raw.Array:
        task, part = self._under_way[0]
        task.wait()
        self._under_way.pop(0)
        return part

    def abandon(self) -> None:
        for task, _ in self._under_way:
            _abandon(task)
        self._under_way.clear()


def _rows_of(file: raw.File, block: int) -> _Rows:
    number, extents, info = _content(file)
    if not extents:
        raise raw.ShapeError("stream_blocks: the file has no axis; expected rows")
    if info["column_major"] and len(extents) > 1 and not _is_window(file):
        raise raw.NeedsCopyError("stream_blocks: the file is in Fortran order; expected C order")
    row_bytes = _row_bytes("stream_blocks", raw.via_dtype_bits(number), extents[1:])
    return _Rows(number, extents[0], extents[1:], row_bytes, min(block, max(extents[0], 1)), _has_axes(file))


def _element_bits(array: raw.Array) -> int:
    """Returns the bits of an element in a file: a whole byte for padded elements narrower than a byte."""
    bits = raw.via_dtype_bits(raw.via_array_dtype(array))
    padded = raw.via_array_flags(array) & raw.VIA_ARRAY_SUBBYTE_PADDED
    return -(-bits // 8) * 8 if padded else bits


def _row_bytes(function: str, element_bits: int, extents: tuple[int, ...]) -> int:
    bits = element_bits * math.prod(extents)
    if bits % 8 != 0:
        raise raw.UnsupportedError(f"{function}: a row has {bits} bits; expected whole bytes")
    return bits // 8


def _are_same(file: Any, output: Any) -> bool:
    """A new output would empty the file that is read."""
    if output is None or isinstance(output, raw.File):
        return False
    path = (file._given or _Given(None, None)).path if isinstance(file, raw.File) else file
    return path is not None and os.path.exists(output) and os.path.samefile(path, output)


def stream_blocks(
    file: Any,
    block: int,
    device: Any = "cpu",
    *,
    output: Any = None,
    depth: int = 4,
    stream: Any = None,
    progress: Any = None,
) -> Iterator[Block]:
    """Yields the rows of a file, `block` of them at a time, in arrays on a device. The file need not fit in memory.

    Reads the next blocks while one is in use. Block.write() writes to `output`, a file or the path of a new one, in the
    background. An array is valid until the next but one block: it lies in one of `depth` buffers, which are all the
    memory used. Leaving the loop early waits for the results written so far. Queue device work on `stream`, the legacy
    stream by default. Calls `progress` with the bytes so far and
    in all; True shows a bar if tqdm is installed.
    """
    if block < 1 or depth < 3:
        raise raw.InvalidArgumentError(
            f"stream_blocks: block is {block} and depth is {depth}; expected 1 and 3 or more"
        )
    if _are_same(file, output):
        raise raw.InvalidArgumentError("stream_blocks: output is the file that is read; expected another")
    with ExitStack() as stack:
        source = file if isinstance(file, raw.File) else stack.enter_context(open(file))
        rows = _rows_of(source, block)
        reads = _Reads(source, rows, depth, device, stream)
        stack.callback(reads.abandon)
        results = _Results(output, rows.rows, stream)
        stack.push(lambda kind, *_: results.close(kind not in (None, GeneratorExit)))
        meter = _Progress(progress, rows.rows * rows.row_bytes)
        stack.callback(meter.close)
        yield from _blocks(rows, reads, results, meter, depth)


def _blocks(rows: _Rows, reads: _Reads, results: _Results, meter: _Progress, depth: int) -> Iterator[Block]:
    """Yields the blocks. Reads into the buffer of the block before the last, whose work is queued and whose results are
    written by then."""
    for number in range(min(depth - 2, rows.blocks)):
        reads.start(number)
    for number in range(rows.blocks):
        part = reads.next()
        meter.add(part.nbytes)
        results.finish((number - 1) * rows.block)
        reads.start(number + depth - 2)
        yield Block(part, number * rows.block, number * rows.block + part.shape[0], results)
    results.finish(rows.rows)
