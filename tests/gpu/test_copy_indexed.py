"""Copies of rows by index between every two kinds of memory, against a loop over the elements."""

from __future__ import annotations

import itertools
import random
from array import array as numbers
from typing import Any

import pytest
import viaduct as via
from cuda_driver import held
from programs import shown
from repeats import repeats

KINDS = ["cpu", "pinned", "managed", "cuda:0"]
PAIRS = list(itertools.product(KINDS, KINDS))
DTYPES = ["uint8", "int16", "float32", "float64", "complex128"]


def two_devices() -> None:
    if via.device_count() < 2:
        pytest.skip("there is one device")


def content(a: via.Array) -> bytearray:
    host = a if a.device == "cpu" else a.copy("cpu")
    return bytearray(memoryview(host.reshape(host.size).view("uint8")))


def on(device: str, data: bytes | bytearray) -> via.Array:
    host = via.asarray(bytearray(data))
    return host if device == "cpu" else host.copy(device)


def index_on(device: str | None, rows: list[int], rng: random.Random) -> object:
    """An index as a list, or as an array of either type on a device, with gaps now and then."""
    if device is None:
        return rows
    code = rng.choice("iq")
    step = rng.randint(1, 2)
    spread = [0] * (step * len(rows))
    spread[::step] = rows
    flat = on(device, numbers(code, spread or [0]).tobytes()).view("int32" if code == "i" else "int64")
    return flat[: len(spread) : step]


class Side:
    """An array of any layout in a block, and the block's bytes."""

    def __init__(self, device: str, dtype: str, shape: list[int], rng: random.Random) -> None:
        order = list(range(len(shape)))
        rng.shuffle(order)
        steps = [rng.choice([1, 1, 1, 2]) for _ in shape]
        backwards = [rng.random() < 0.2 for _ in shape]
        lead = rng.choice([0, 0, 1])
        block = [shape[axis] * steps[axis] for axis in order]
        size = via.empty(1, dtype).nbytes
        total = size
        for extent in block:
            total *= extent
        self.block = on(device, rng.randbytes(total + lead * size))
        inner = self.block.view(dtype)[lead:].reshape(*block)
        back = [order.index(axis) for axis in range(len(shape))]
        view = inner.transpose(*back) if len(shape) > 1 else inner
        key = tuple(slice(None, None, -step if back else step) for step, back in zip(steps, backwards, strict=True))
        self.array = view[key]
        assert list(self.array.shape) == shape

    def offsets(self, axis: int, row: int) -> list[int]:
        ranges = [range(extent) if i != axis else [row] for i, extent in enumerate(self.array.shape)]
        start = self.array.ptr - self.block.ptr
        return [
            start + sum(i * step for i, step in zip(at, self.array.strides, strict=True))
            for at in itertools.product(*ranges)
        ]


class Case:
    """A random copy: what it is given, and the bytes that must be in the destination's block afterwards."""

    def __init__(self, dst: str, src: str, index: str | None, rng: random.Random) -> None:
        dtype = rng.choice(DTYPES)
        ndim = rng.randint(1, 4)
        self.axis = rng.randrange(ndim)
        shape = [rng.choice([1, 2, 3, 5, 8]) for _ in range(ndim)]
        if ndim < 3 and rng.random() < 0.5:
            shape[-1 if self.axis != ndim - 1 else 0] = rng.choice([64, 129, 400])
        count = rng.choice([0, 1, 2, 7, 20])
        to, of = list(shape), list(shape)
        to[self.axis] = count + rng.randint(1, 6)
        of[self.axis] = rng.randint(1, 20)
        self.dst_rows: list[int] | None = rng.sample(range(to[self.axis]), count)
        pattern = rng.randrange(4)
        if pattern == 0:
            self.src_rows: list[int] | None = [rng.randrange(of[self.axis]) for _ in range(count)]
        elif pattern == 1:
            self.src_rows = sorted(rng.randrange(of[self.axis]) for _ in range(count))
            self.dst_rows = sorted(self.dst_rows)
        elif pattern == 2:
            of[self.axis] = count + rng.randint(1, 4)
            self.src_rows = None
        else:
            first = rng.randint(0, to[self.axis] - count)
            of[self.axis] = count + 2
            self.dst_rows, self.src_rows = list(range(first, first + count)), list(range(1, count + 1))
        if rng.random() < 0.2:
            self.dst_rows = None if self.src_rows is not None else self.dst_rows
        self.dst, self.src = Side(dst, dtype, to, rng), Side(src, dtype, of, rng)
        self.dst_index = None if self.dst_rows is None else index_on(index, self.dst_rows, rng)
        self.src_index = None if self.src_rows is None else index_on(index, self.src_rows, rng)
        self.expected = self.reference(count, via.empty(1, dtype).nbytes)

    def reference(self, count: int, size: int) -> bytearray:
        to, of = content(self.dst.block), content(self.src.block)
        for k in range(count):
            into = self.dst.offsets(self.axis, k if self.dst_rows is None else self.dst_rows[k])
            out_of = self.src.offsets(self.axis, k if self.src_rows is None else self.src_rows[k])
            for a, b in zip(into, out_of, strict=True):
                to[a : a + size] = of[b : b + size]
        return to

    def run(self, way: int) -> None:
        given = (self.dst.array, self.dst_index, self.src.array, self.src_index, self.axis)
        if way == 0:
            via.copy_indexed(*given)
        elif way == 1:
            stream = via.Stream()
            via.copy_indexed(*given, stream=stream)
            self.dst.array.synchronize()
        elif way == 2:
            via.copy_indexed_submit(*given).wait()
        else:
            self.run_batch(way, given)

    def run_batch(self, way: int, given: tuple[Any, ...]) -> None:
        """Runs the copy twice, with another one."""
        other = [via.asarray(bytearray(16)), via.asarray(bytearray(range(16)))]
        batch = via.Batch()
        batch.add_indexed(*given)
        if way > 3:
            batch.add(*other)
        assert len(batch) == (1 if way == 3 else 2)
        for _ in range(2):
            if way % 2 == 0:
                batch.submit().wait()
            else:
                stream = via.Stream()
                batch.run(stream)
                stream.synchronize()
                batch.run()
        assert way == 3 or content(other[0]) == bytes(range(16))

    def check(self, way: int) -> None:
        self.run(way)
        assert content(self.dst.block) == self.expected


@pytest.mark.parametrize("dst,src", PAIRS)
@pytest.mark.parametrize("way", [0, 1, 2, 3, 4, 5])
def test_random_rows_equal_a_loop_over_the_elements(dst: str, src: str, way: int) -> None:
    rng = random.Random(f"{dst} {src} {way}")
    for _ in range(repeats(25)):
        Case(dst, src, rng.choice([None, "cpu", "pinned", "managed"]), rng).check(way)


@pytest.mark.parametrize("dst,src", [pair for pair in PAIRS if "cuda:0" in pair])
@pytest.mark.parametrize("way", [0, 1, 2, 3, 4, 5])
def test_an_index_may_be_on_the_device(dst: str, src: str, way: int) -> None:
    rng = random.Random(f"{dst} {src} {way} device")
    for _ in range(repeats(25)):
        Case(dst, src, "cuda:0", rng).check(way)


@pytest.mark.parametrize("index", [None, "cuda:0", "cuda:1"])
@pytest.mark.parametrize("way", [0, 1, 2, 3, 4, 5])
def test_rows_go_between_devices(index: str | None, way: int) -> None:
    two_devices()
    rng = random.Random(f"{index} {way}")
    for _ in range(repeats(15)):
        Case("cuda:0", "cuda:1", index, rng).check(way)
        Case("cuda:1", "cuda:0", index, rng).check(way)


def test_many_short_and_few_long_rows_arrive() -> None:
    for rows, nbytes in [(5000, 4), (5000, 12), (300, 4096), (3, 1 << 18), (70, 4097)]:
        rng = random.Random(rows)
        table = on("cuda:0", rng.randbytes(rows * nbytes)).reshape(rows, nbytes)
        wanted = rng.choices(range(rows), k=rows)
        taken = via.empty((rows, nbytes), "uint8", device="cuda:0")
        via.copy_indexed(taken, None, table, wanted)
        before, after = bytes(content(table)), bytes(content(taken))
        assert after == b"".join(before[row * nbytes : (row + 1) * nbytes] for row in wanted)


def test_rows_that_exceed_the_staging_ring_arrive_in_pageable_memory_and_back() -> None:
    rows, nbytes = 4000, 8192
    rng = random.Random(1)
    host = via.asarray(bytearray(rng.randbytes(rows * nbytes))).reshape(rows, nbytes)
    order = list(range(rows))
    rng.shuffle(order)
    there = via.empty((rows, nbytes), "uint8", device="cuda:0")
    back = via.asarray(bytearray(rows * nbytes)).reshape(rows, nbytes)
    via.copy_indexed(there, order, host, None)
    via.copy_indexed(back, None, there, order)
    assert content(back) == content(host)


# ------------------------------------------------------------------------------------------------ bad numbers


def bad_number(way: int, dst_rows: list[int], src_rows: list[int]) -> tuple[via.Array, str]:
    """Copies with lists on the device; returns the destination and the error's text."""
    rng = random.Random(0)
    dst, src = on("cuda:0", bytes(64)).reshape(8, 8), on("cuda:0", b"\x01" * 64).reshape(8, 8)
    to, of = index_on("cuda:0", dst_rows, rng), index_on("cuda:0", src_rows, rng)
    with pytest.raises(via.OutOfRangeError) as raised:
        if way == 0:
            via.copy_indexed(dst, to, src, of)
        elif way == 1:
            via.copy_indexed(dst, to, src, of, stream=via.Stream())
            dst.synchronize()
        else:
            via.copy_indexed_submit(dst, to, src, of).wait()
    return dst, str(raised.value)


def unchecked(a: via.Array) -> bytes:
    """The bytes of an array whose last write has failed."""
    return bytes(content(via.wrap(a.ptr, a.shape, a.dtype, device=a.device, owner=a)))


@pytest.mark.parametrize("way", [0, 1, 2])
@pytest.mark.parametrize("number", [-1, 8, 1 << 30, -(1 << 31)])
def test_a_number_out_of_range_on_the_device_is_reported_and_writes_nothing(way: int, number: int) -> None:
    dst, text = bad_number(way, [0, 1, number, 3], [4, 5, 6, 7])
    assert f"dst_index[2] is {number}; expected 0 to 7" in text
    assert unchecked(dst) == b"\x01" * 16 + bytes(8) + b"\x01" * 8 + bytes(32)
    dst, text = bad_number(way, [0, 1, 2, 3], [4, number, 6, 7])
    assert f"src_index[1] is {number}; expected 0 to 7" in text
    assert unchecked(dst) == b"\x01" * 8 + bytes(8) + b"\x01" * 16 + bytes(32)


def test_the_destination_of_a_bad_index_reports_it_once() -> None:
    dst, src = via.empty((4, 4), "uint8", device="cuda:0"), on("cuda:0", bytes(16)).reshape(4, 4)
    index = on("cuda:0", numbers("i", [0, 9]).tobytes()).view("int32")
    stream = via.Stream()
    via.copy_indexed(dst, index, src, [0, 1], stream=stream)
    stream.synchronize()
    with pytest.raises(via.OutOfRangeError, match=r"dst_index\[1\] is 9; expected 0 to 3"):
        dst.synchronize()
    via.copy(dst, src)
    dst.synchronize()
    assert content(dst) == bytes(16)


def test_an_index_of_a_third_place_is_refused() -> None:
    two_devices()
    a = via.empty((4, 4), "uint8", device="cuda:0")
    index = on("cuda:1", numbers("i", [0]).tobytes()).view("int32")
    with pytest.raises(via.DeviceError, match="dst_index is on device 1"):
        via.copy_indexed(a, index, a, [1])


def test_rows_of_one_array_are_copied_if_the_lists_are_known() -> None:
    a = on("cuda:0", bytes(range(64))).reshape(8, 8)
    before = content(a)
    via.copy_indexed(a, [0, 1], a, [6, 7])
    assert content(a) == before[48:] + before[16:]
    index = on("cuda:0", numbers("i", [0]).tobytes()).view("int32")
    with pytest.raises(via.OverlapError):
        via.copy_indexed(a, index, a, [3])
    with pytest.raises(via.OverlapError, match=r"src_index\[0\] is 2, a row of dst_index"):
        via.copy_indexed(a, [2, 3], a, [2, 4])


def test_the_page_swaps_blocks_between_a_device_and_pinned_memory() -> None:
    found: dict[str, Any] = {}
    exec(shown("docs/guide/rows.md", "python"), found)  # noqa: S102  (text of this repository)
    assert found["cache"].device == "cuda:0" and found["pool"].device == "pinned"
    cache, pool = content(found["cache"]), content(found["pool"])
    one = b"\x00\x3c"  # of float16
    block, layers = 2 * 16 * 2 * 8, 4
    assert cache.count(one) == 5 * layers * block and pool.count(one) == 3 * layers * block


# ------------------------------------------------------------------------------------------------ order


def test_a_copy_by_index_comes_after_what_is_queued_on_its_stream() -> None:
    stream = via.Stream()
    src, dst = via.empty((4, 1024), "uint8", device="cuda:0"), via.empty((2, 1024), "uint8", device="cuda:0")
    with held(stream.handle):
        via.fill(src, 7, stream=stream)
        via.copy_indexed(dst, None, src, [3, 1], stream=stream)
        assert not dst.ready
    assert content(dst) == b"\x07" * 2048


def test_a_task_by_index_comes_after_the_last_writes() -> None:
    stream = via.Stream()
    src, dst = via.empty((4, 1024), "uint8", device="cuda:0"), via.empty((2, 1024), "uint8", device="cuda:0")
    with held(stream.handle):
        via.fill(src, 5, stream=stream)
        task = via.copy_indexed_submit(dst, None, src, [3, 1])
        assert not task.done()
    task.wait()
    assert content(dst) == b"\x05" * 2048
