"""Rows by index to another dtype, with a device: the same bits as on the host."""

from __future__ import annotations

import array
import itertools
import math
import random

import pytest
import viaduct as via

KINDS = ["cpu", "pinned", "cuda:0"]
PLACES = [pair for pair in itertools.product(KINDS, KINDS) if "cuda:0" in pair]
PAIRS = [("float32", "float16"), ("uint8", "float32"), ("float64", "int32"), ("complex128", "complex64")]


def content(a: via.Array) -> bytes:
    return bytes(memoryview(a.copy("cpu").reshape(a.size).view("uint8")))


def made(shape: tuple[int, ...], dtype: str, place: str, layout: int) -> via.Array:
    """A new array: adjacent, transposed, or with gaps."""
    where = {"memory": "pinned"} if place == "pinned" else {"device": place}
    if layout == 1:
        return via.empty(shape[::-1], dtype, **where).transpose(tuple(range(len(shape)))[::-1])
    return via.empty((*shape, 2), dtype, **where)[..., 1] if layout == 2 else via.empty(shape, dtype, **where)


def numbers(shape: tuple[int, ...], dtype: str, rng: random.Random) -> via.Array:
    data = bytearray(byte & 63 for byte in rng.randbytes(math.prod(shape)))
    return via.asarray(data).reshape(shape).astype(dtype, casting="unsafe")


def index(rows: list[int] | None, place: str) -> via.Array | None:
    if rows is None:
        return None
    host = via.asarray(array.array("q", rows))
    return host.copy(place) if place != "cpu" else host


def check(shape: tuple[int, ...], axis: int, pair: tuple[str, str], places: tuple[str, str], seed: int) -> None:
    rng = random.Random(seed)
    source, dtype = pair
    other = shape[:axis] + (shape[axis] + 7,) + shape[axis + 1 :]
    count = max(shape[axis] - 2, 1)
    to = rng.sample(range(shape[axis]), count) if rng.random() < 0.6 else None
    rows = [rng.randrange(other[axis]) for _ in range(count)] if to is None or rng.random() < 0.6 else None
    host_src, host_dst = numbers(other, source, rng), numbers(shape, dtype, rng)
    src, dst = made(other, source, places[0], rng.randrange(3)), made(shape, dtype, places[1], rng.randrange(3))
    via.copyto(src, host_src)
    lists = (index(to, "cpu"), index(rows, rng.choice(["cpu", "cuda:0"])))
    first = host_dst.copy()
    via.copy_indexed(host_dst, to, host_src, rows, axis, casting="unsafe")
    expected = content(host_dst)
    stream = via.Stream.legacy
    batch = via.Batch()
    batch.add_indexed(dst, lists[0], src, lists[1], axis, casting="unsafe")
    for run in (
        lambda: via.copy_indexed(dst, lists[0], src, lists[1], axis, casting="unsafe"),
        lambda: via.copy_indexed(dst, lists[0], src, lists[1], axis, stream, casting="unsafe"),
        lambda: via.copy_indexed_submit(dst, lists[0], src, lists[1], axis, stream, casting="unsafe").wait(),
        lambda: batch.run(stream),
        lambda: batch.submit(stream).wait(),
    ):
        via.copyto(dst, first)
        run()
        stream.synchronize()
        assert content(dst) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("places", PLACES, ids="-".join)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_converted_as_on_the_host(places, pair, seed):
    rng = random.Random(seed)
    for shape in ((300,), (40, 33), (17, 9, 21), (5, 700, 2)):
        check(shape, rng.randrange(len(shape)), pair, places, seed)


def test_many_rows_go_in_parts():
    rng = random.Random(1)
    src = via.empty((10_000, 1100), "uint8", device="cuda:0")
    via.copyto(src, numbers((10_000, 1100), "uint8", rng))
    rows = index(rng.sample(range(10_000), 9_000), "cpu")
    dst = via.empty((9_000, 1100), "float32", device="cuda:0")
    via.copy_indexed(dst, None, src, rows, casting="safe")
    found, given = dst.copy("cpu"), src.copy("cpu")
    for k, row in enumerate(memoryview(rows)):
        if k % 300 == 0 or k > 8_990:
            assert content(found[k]) == content(given[row].astype("float32"))


@pytest.mark.parametrize("places", PLACES, ids="-".join)
def test_long_rows_are_converted(places):
    check((3, 40_000, 4), 0, ("float32", "float16"), places, 1)
    check((2000, 30), 0, ("uint8", "float32"), places, 2)


@pytest.mark.sampled
@pytest.mark.parametrize("places", [("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")], ids="-".join)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_rows_are_converted_between_two_devices(places, pair):
    if via.device_count() < 2:
        pytest.skip("there is one device")
    for shape, axis in (((300,), 0), ((40, 33), 1), ((17, 9, 21), 1), ((2_000, 200), 0)):
        check(shape, axis, pair, places, 5)


@pytest.mark.parametrize("places", PLACES, ids="-".join)
def test_scales_go_along_another_axis(places):
    rng = random.Random(4)
    src, dst = numbers((30, 40, 3), "uint8", rng), via.empty((9, 40, 3), "float32")
    rows = [rng.randrange(30) for _ in range(9)]
    given = {"scale": [0.5, 2, 3], "offset": [1, -1, 0], "scale_axis": 2}
    via.copy_indexed(dst, None, src, rows, **given)
    there, here = made(src.shape, "uint8", places[0], 0), made(dst.shape, "float32", places[1], 2)
    via.copyto(there, src)
    via.copy_indexed(here, None, there, rows, **given)
    assert content(here) == content(dst)


def test_a_number_of_a_device_out_of_range_is_refused_before_a_row_is_written():
    dst, src = via.zeros((4, 3), "float16", device="cuda:0"), via.zeros((4, 3), "float32", device="cuda:0")
    before = content(dst)
    with pytest.raises(via.OutOfRangeError, match=r"src_index\[1\] is 4"):
        via.copy_indexed(dst, None, src, index([0, 4], "cuda:0"), casting="same_kind")
    assert content(dst) == before
