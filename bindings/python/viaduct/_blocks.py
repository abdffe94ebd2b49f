"""Streams files that do not fit in memory."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from . import _conversion, _file
from ._extension import raw


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
        self._tasks: list[tuple[int, raw.Task | _file._Done]] = []

    def write(self, result: raw.Array, start: int, stop: int) -> None:
        if self._output is None:
            raise raw.InvalidArgumentError("Block.write: output is None; expected stream_blocks(output=...)")
        if result.ndim == 0 or result.shape[0] != stop - start:
            raise raw.ShapeError(f"Block.write: result has shape {result.shape}; expected {stop - start} rows")
        offset = _row_bytes("Block.write", _element_bits(result), result.shape[1:]) * start
        file = self._open(result)
        if _file._has_axes(file):
            file, offset = _file.window(file, slice(start, stop)), 0
        self._tasks.append((start, _file._begin_write(file, result, offset, _file._after(result, self._stream))))

    def _open(self, result: raw.Array) -> raw.File:
        if self._file is None:
            self._file = _file.open(self._output, "w", dtype=result.dtype_name, shape=(self._rows, *result.shape[1:]))
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
                _file._abandon(task)
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
        self._under_way: list[tuple[raw.Task | _file._Done, raw.Array]] = []

    def start(self, number: int) -> None:
        if number >= self._rows.blocks:
            return
        part = self._buffers[number % len(self._buffers)][: self._rows.length(number)]
        first = number * self._rows.block
        source, offset = self._file, first * self._rows.row_bytes
        if self._rows.are_windows:
            source, offset = _file.window(source, slice(first, first + part.shape[0])), 0
        self._under_way.append((_file._begin_read(source, part, offset, _file._after(part, self._stream)), part))

    def next(self) -> raw.Array:
        task, part = self._under_way[0]
        task.wait()
        self._under_way.pop(0)
        return part

    def abandon(self) -> None:
        for task, _ in self._under_way:
            _file._abandon(task)
        self._under_way.clear()


def _rows_of(file: raw.File, block: int) -> _Rows:
    number, extents, info = _file._content(file)
    if not extents:
        raise raw.ShapeError("stream_blocks: the file has no axis; expected rows")
    if info["column_major"] and len(extents) > 1 and not _file._is_window(file):
        raise raw.NeedsCopyError("stream_blocks: the file is in Fortran order; expected C order")
    row_bytes = _row_bytes("stream_blocks", raw.via_dtype_bits(number), extents[1:])
    return _Rows(number, extents[0], extents[1:], row_bytes, min(block, max(extents[0], 1)), _file._has_axes(file))


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
    path = (file._given or _file._Given(None, None)).path if isinstance(file, raw.File) else file
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
    background. An array is valid until the next but one block: it lies in one of `depth` buffers, 3 or more, which are
    all the memory used. Leaving the loop early waits for the results written so far. Queue device work on `stream`, the
    legacy stream by default. Calls `progress` with the bytes so far and in all; True shows a bar if tqdm is installed.
    """
    block, depth = (
        _conversion.integer("stream_blocks", name, value) for name, value in (("block", block), ("depth", depth))
    )
    if block < 1 or depth < 3:
        raise raw.InvalidArgumentError(
            f"stream_blocks: block is {block} and depth is {depth}; expected at least 1 and at least 3"
        )
    if _are_same(file, output):
        raise raw.InvalidArgumentError("stream_blocks: output is the file that is read; expected another")
    with ExitStack() as stack:
        source = file if isinstance(file, raw.File) else stack.enter_context(_file.open(file))
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
