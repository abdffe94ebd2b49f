"""Files as Python sees them: opening one, whole arrays in and out, and maps over what fits in no memory."""

from __future__ import annotations

import importlib
import math
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from . import _interop
from . import _viaduct as raw

_MODES = {"r": raw.VIA_MODE_READ, "r+": raw.VIA_MODE_READ_WRITE, "c": raw.VIA_MODE_COPY_ON_WRITE, "w": None}
_FORMATS = {None: raw.VIA_FORMAT_AUTO, "raw": raw.VIA_FORMAT_RAW, "npy": raw.VIA_FORMAT_NPY}
_ORDERS = {"C": 0, "F": 1}
_PAGE_CACHES = {
    "auto": raw.VIA_PAGE_CACHE_AUTO,
    "use": raw.VIA_PAGE_CACHE_USE,
    "avoid": raw.VIA_PAGE_CACHE_AVOID,
}


class _Told(NamedTuple):
    """What open() was told of a raw file; of a .npy file both are None. Of a window: what it is, and which of its axes
    are left when those that an index took are gone. For repr(): its path and mode, None if the C API opened it."""

    dtype: int | None
    shape: tuple[int, ...] | None
    axes: tuple[int, ...] | None = None
    path: str | bytes | None = None
    mode: str | None = None


def _choose(argument: str, table: dict[Any, Any], value: object) -> Any:
    if value not in table:
        names = ", ".join(repr(name) for name in table)
        raise raw.InvalidArgumentError(f"open: argument '{argument}': found {value!r}, expected one of {names}")
    return table[value]


def _shape_of(shape: Any) -> tuple[int, ...]:
    return raw._extents("File", "shape", shape)


def _offset_of(offset: Any) -> int:
    try:
        return operator.index(offset)
    except TypeError:
        found = type(offset).__name__
        raise raw.DTypeError(f"File: argument 'offset' is {found}; expected an integer") from None


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
    """Opens a file of elements: raw, or .npy, which it is if it begins as one.

    Modes are those of numpy.memmap: "r" reads, "r+" reads and writes, "c" lets arrays be written and not the file; "w"
    makes the file, of that dtype and shape. Of a raw file dtype and shape may be told, else it holds bytes. `durable`
    writes survive a power cut; `atomic` ones replace the file whole, or not at all. `page_cache` "auto" reads past the
    system's cache what is not in it, "use" always goes through it, "avoid" never leaves more there than there was.

    read() and write() of a .npy file take arrays of its own shape and dtype, those of a slice of it the slice's. With
    `as_bytes` they take any, from any offset on, as those of a raw file do.
    """
    options = {
        "file_format": _choose("format", _FORMATS, format),
        "column_major": _choose("order", _ORDERS, order),
        "durable": int(durable),
        "atomic_write": int(atomic),
        "page_cache": _choose("page_cache", _PAGE_CACHES, page_cache),
        "as_bytes": int(as_bytes),
        "mode": _choose("mode", _MODES, mode) or 0,
    }
    told = _Told(
        None if dtype is None else raw._dtype_number("open", dtype),
        None if shape is None else _shape_of(shape),
        path=os.fspath(path),
        mode=mode,
    )
    name = os.fspath(path)
    file = _create(name, told, options) if mode == "w" else raw.via_file_open(name, options)
    file._keep(told)
    return file


def _create(path: str | bytes, told: _Told, options: dict[str, int]) -> raw.File:
    if told.dtype is None or told.shape is None:
        raise raw.InvalidArgumentError("open: arguments 'dtype' and 'shape': found none, expected both for mode 'w'")
    return raw.via_file_create(path, told.dtype, told.shape, options)


# ------------------------------------------------------------------------------------------------- attributes


def _info(file: raw.File) -> dict[str, Any]:
    if file.closed:
        raise raw.InvalidArgumentError("the file is closed; expected one that is open")
    return dict(raw.via_file_info(file))


def _is_npy(info: dict[str, Any]) -> bool:
    return bool(info["file_format"] == raw.VIA_FORMAT_NPY)


def _content(
    file: raw.File, shape: Any = None, dtype: object = None, offset: int = 0
) -> tuple[int, tuple[int, ...], dict[str, Any]]:
    """What is meant by a shape and a dtype of which either may be None, and one extent -1."""
    info = _info(file)
    offset = _offset_of(offset)
    told = file._told or _Told(None, None)
    number = raw._dtype_number("File", dtype) if dtype is not None else info["dtype"] or told.dtype or raw.VIA_UINT8
    if shape is None and (told.axes is not None or not _is_npy(info)):
        shape = told.shape if told.shape is not None else (-1,)
    elif shape is None:
        shape = info["shape"]
    return number, _fit(_shape_of(shape), number, info["nbytes"] - info["byte_offset"] - offset), info


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
    """What repr() says."""
    told = file._told or _Told(None, None)
    name = "" if told.path is None else f" window of {told.path!r}" if told.axes is not None else f" {told.path!r}"
    if file.closed:
        return f"<viaduct.File{name}, closed>"
    number, extents, _ = _content(file)
    order_told = ", order 'F'" if order(file) == "F" else ""
    mode = "" if told.mode is None else f", mode {told.mode!r}"
    return f"<viaduct.File{name}, shape {extents}, {raw.via_dtype_name(number)}{order_told}{mode}>"


def order(file: raw.File) -> str:
    return "F" if _info(file)["column_major"] else "C"


# ----------------------------------------------------------------------------------------------------- windows


class _Taken(NamedTuple):
    """What an index takes of one axis."""

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
        raise raw.DTypeError(f"File: argument 'key' is {found}; expected integers, slices and ...") from None
    if not -extent <= at < extent:
        raise raw.OutOfRangeError(f"File: index {at} of axis {axis}: expected {-extent} to {extent - 1}")
    return _Taken(at % extent, 1, 1, False)


def _picks(index: Any, ndim: int) -> list[Any]:
    """One for each axis, an ellipsis being as many slices as it takes."""
    picks = list(index) if isinstance(index, tuple) else [index]
    dots = [at for at, pick in enumerate(picks) if pick is ...]
    if len(dots) > 1 or len(picks) - len(dots) > ndim:
        raise raw.OutOfRangeError(f"File: found {len(picks)} indices, expected at most {ndim} and one ellipsis")
    at = dots[0] if dots else len(picks)
    return picks[:at] + [_WHOLE] * (ndim - len(picks) + len(dots)) + picks[at + 1 :]


def _is_window(file: raw.File) -> bool:
    return file._told is not None and file._told.axes is not None


def _has_axes(file: raw.File) -> bool:
    """Whether parts of it are windows: those of a raw file are bytes behind an offset."""
    return _is_window(file) or _is_npy(_info(file))


def window(file: raw.File, index: Any) -> raw.File:
    number, extents, info = _content(file)
    inner = _is_window(file)
    every = [_Taken(0, 1, 1, False)] * len(info["shape"] if inner else extents)
    for axis, pick in enumerate(_picks(index, len(extents))):
        every[file._told.axes[axis] if inner else axis] = _take(pick, axis, extents[axis])
    starts, counts, steps = (tuple(one[field] for one in every) for field in range(3))
    made = raw.via_file_window(file, 0, 0 if inner else number, () if inner else extents, starts, counts, steps)
    stays = [axis for axis, one in enumerate(every) if one.stays]
    _keep_window(made, file, number, tuple(every[axis].length for axis in stays), tuple(stays))
    return made


def window_at(file: raw.File, offset: int, dtype: object, shape: Any) -> raw.File:
    """All of what lies there."""
    number = raw._dtype_number("File", dtype)
    made = raw.via_file_window(file, offset, number, shape, None, None, None)
    extents = _shape_of(shape)
    _keep_window(made, file, number, extents, tuple(range(len(extents))))
    return made


def _keep_window(made: raw.File, file: raw.File, dtype: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    outer = file._told or _Told(None, None)
    made._keep(_Told(dtype, shape, axes, outer.path, outer.mode))


def _map_window(file: raw.File) -> raw.Array:
    mapped = raw.via_file_array(file, 0, 0, ())
    gone = set(range(mapped.ndim)) - set(file._told.axes)
    return mapped[tuple(0 if axis in gone else _WHOLE for axis in range(mapped.ndim))]


# ----------------------------------------------------------------------------------------------------- methods


def array(file: raw.File, shape: Any = None, dtype: object = None, offset: int = 0) -> raw.Array:
    number, extents, _ = _content(file, shape, dtype, offset)
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
) -> raw.Array:
    if dst is None:
        number, extents, info = _content(file, shape, dtype, offset)
        dst = raw.empty(extents, number, device=device)
        asks = shape is not None or dtype is not None or offset != 0
        if asks and _is_npy(info) and not _is_window(file):
            file, offset = window_at(file, offset, number, extents), 0
    found = raw.asarray(dst)
    _finish(_begin_read(file, found, offset, _after(found, stream)))
    return found


def write(file: raw.File, src: Any, offset: int = 0, *, stream: Any = None) -> None:
    found = raw.asarray(src)
    _finish(_begin_write(file, found, offset, _after(found, stream)))


def read_submit(file: raw.File, dst: Any, offset: int = 0, *, stream: Any = None) -> raw.Task:
    return raw.via_file_read_submit(file, offset, raw.asarray(dst), _as_stream(stream))


def write_submit(file: raw.File, src: Any, offset: int = 0, *, stream: Any = None) -> raw.Task:
    return raw.via_file_write_submit(file, offset, raw.asarray(src), _as_stream(stream))


class _Done:
    """In place of the task of a transfer that is done."""

    def wait(self) -> None: ...

    def cancel(self) -> None: ...


def _begin_read(file: raw.File, dst: raw.Array, offset: int, stream: Any) -> raw.Task | _Done:
    """A task, which Ctrl-C can leave; in a callback, where no task may be waited for, the transfer on this thread."""
    if not raw._is_inside_callback():
        return read_submit(file, dst, offset, stream=stream)
    raw.via_file_read(file, offset, dst, _as_stream(stream))
    return _Done()


def _begin_write(file: raw.File, src: raw.Array, offset: int, stream: Any) -> raw.Task | _Done:
    """As _begin_read."""
    if not raw._is_inside_callback():
        return write_submit(file, src, offset, stream=stream)
    raw.via_file_write(file, offset, src, _as_stream(stream))
    return _Done()


def _as_stream(stream: Any) -> raw.Stream | None:
    return stream if stream is None or isinstance(stream, raw.Stream) else raw.Stream.wrap(stream)


def _after(array: raw.Array, stream: Any) -> Any:
    """What is waited for is ordered as a copy that is: after the legacy stream's work."""
    return raw.Stream.legacy if stream is None and array.device != "cpu" else stream


def _finish(task: raw.Task | _Done) -> None:
    """Waits; what is no longer wanted ends before its memory may go."""
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
        pass  # cancelled, or what is being told already


# ------------------------------------------------------------------------------------------------- out of core


class Block:
    """A part of a file in memory, while stream_blocks() is at it: rows start to stop, in `array`."""

    __slots__ = ("_results", "array", "start", "stop")

    def __init__(self, array: raw.Array, start: int, stop: int, results: _Results) -> None:
        self.array = array
        self.start = start
        self.stop = stop
        self._results = results

    def write(self, result: Any) -> None:
        """Has the rows' result written to the output, behind the caller; it must not be written meanwhile."""
        self._results.write(raw.asarray(result), self.start, self.stop)


class _Results:
    """The output, and the writes under way by the first row of their block."""

    def __init__(self, output: Any, rows: int, stream: Any) -> None:
        self._output = output
        self._file: raw.File | None = output if isinstance(output, raw.File) else None
        self._rows = rows
        self._stream = stream
        self._tasks: list[tuple[int, raw.Task | _Done]] = []

    def write(self, result: raw.Array, start: int, stop: int) -> None:
        if self._output is None:
            raise raw.InvalidArgumentError("Block.write: found no output, expected stream_blocks(output=...)")
        if result.ndim == 0 or result.shape[0] != stop - start:
            raise raw.ShapeError(f"Block.write: found shape {result.shape}, expected {stop - start} rows")
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
        """Waits for what is written of blocks that begin before that row."""
        while self._tasks and self._tasks[0][0] < before:
            self._tasks.pop(0)[1].wait()

    def abandon(self) -> None:
        for _, task in self._tasks:
            _abandon(task)
        self._tasks.clear()


class _Progress:
    """Bytes that have arrived, told to a function or shown by tqdm; by nothing where that is not installed."""

    def __init__(self, wanted: Any, total: int) -> None:
        self._tell: Callable[[int, int], object] | None = wanted if callable(wanted) else None
        self._bar = _make_bar(total) if wanted is True else None
        self._total = total
        self._done = 0

    def add(self, nbytes: int) -> None:
        self._done += nbytes
        if self._tell is not None:
            self._tell(self._done, self._total)
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
    """The rows of a file, and how they are cut."""

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
    """Buffers for some blocks, and the reads into those that nobody looks at."""

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
        raise raw.ShapeError("stream_blocks: found no dimension, expected rows")
    if info["column_major"] and len(extents) > 1 and not _is_window(file):
        raise raw.NeedsCopyError("stream_blocks: found Fortran order, expected rows that are adjacent in the file")
    row_bytes = _row_bytes("stream_blocks", raw.via_dtype_bits(number), extents[1:])
    return _Rows(number, extents[0], extents[1:], row_bytes, min(block, max(extents[0], 1)), _has_axes(file))


def _element_bits(array: raw.Array) -> int:
    """Of one as a file has it: where elements narrower than a byte have a byte each, they are written so."""
    bits = raw.via_dtype_bits(raw.via_array_dtype(array))
    padded = raw.via_array_flags(array) & raw.VIA_ARRAY_SUBBYTE_PADDED
    return -(-bits // 8) * 8 if padded else bits


def _row_bytes(function: str, element_bits: int, extents: tuple[int, ...]) -> int:
    bits = element_bits * math.prod(extents)
    if bits % 8 != 0:
        raise raw.UnsupportedError(f"{function}: found rows of {bits} bits, expected whole bytes")
    return bits // 8


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
    """The rows of a file that need not fit in memory, `block` of them at a time, in arrays on a device.

    The next blocks arrive while one is worked on; what Block.write() is given goes to `output` behind that, a file or
    the path of one to be made. An array is good until the next but one block: it lies in one of `depth` buffers, which
    is all the memory that it takes. What is done with it on a device is to be queued on `stream`, the legacy one by
    default. `progress` is called with the bytes so far and in all; True shows them by tqdm, where it is installed.
    """
    if block < 1 or depth < 3:
        raise raw.InvalidArgumentError(
            f"stream_blocks: found block {block} and depth {depth}, expected 1 and 3 or more"
        )
    with ExitStack() as stack:
        source = file if isinstance(file, raw.File) else stack.enter_context(open(file))
        rows = _rows_of(source, block)
        reads = _Reads(source, rows, depth, device, stream)
        stack.callback(reads.abandon)
        results = _Results(output, rows.rows, stream)
        stack.callback(results.abandon)
        meter = _Progress(progress, rows.rows * rows.row_bytes)
        stack.callback(meter.close)
        yield from _blocks(rows, reads, results, meter, depth)


def _blocks(rows: _Rows, reads: _Reads, results: _Results, meter: _Progress, depth: int) -> Iterator[Block]:
    """By the time that a block is asked for, the caller has queued its work on the one before, and the results of the
    one before that have had as long to be written: its buffer is the one that is read into again."""
    for number in range(depth - 2):
        reads.start(number)
    for number in range(rows.blocks):
        part = reads.next()
        meter.add(part.nbytes)
        results.finish((number - 1) * rows.block)
        reads.start(number + depth - 2)
        yield Block(part, number * rows.block, number * rows.block + part.shape[0], results)
    results.finish(rows.rows)
