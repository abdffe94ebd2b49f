"""Rows by index to another dtype, against NumPy."""

import numpy as np
import pytest
import viaduct as via

PAIRS = [("f8", "f4"), ("f2", "f4"), ("u1", "f4"), ("i8", "i4"), ("c16", "c8"), ("f4", "f4")]


def layouts(draw, shape, dtype):
    """A new array of the shape: adjacent, transposed, or with gaps, along some axes backwards."""
    kind = draw.integers(3)
    if kind == 0:
        return np.zeros(shape, dtype)
    if kind == 1:
        return np.zeros(shape[::-1], dtype).T
    steps = tuple(slice(None, None, int(step)) for step in draw.choice([1, 2, -1], len(shape)))
    return np.zeros(tuple(2 * extent for extent in shape), dtype)[steps][tuple(slice(extent) for extent in shape)]


@pytest.mark.parametrize(("source", "dtype"), PAIRS)
@pytest.mark.parametrize("seed", range(25))
def test_rows_of_any_layout_are_converted(seed, source, dtype):
    draw = np.random.default_rng(seed)
    ndim = int(draw.integers(1, 5))
    axis = int(draw.integers(ndim))
    shape = [int(n) for n in draw.integers(1, 20, ndim)]
    other = list(shape)
    shape[axis], other[axis] = (int(n) for n in draw.integers(1, 300, 2))
    src = layouts(draw, tuple(other), source)
    src[...] = draw.integers(0, 100, other)
    dst = layouts(draw, tuple(shape), dtype)
    count = int(draw.integers(1, min(shape[axis], other[axis]) + 1))
    to = draw.permutation(shape[axis])[:count] if draw.integers(2) else None
    rows = draw.integers(0, other[axis], count) if to is None or draw.integers(2) else None
    expected = dst.copy()
    where = [slice(None)] * ndim
    where[axis] = slice(count) if to is None else to
    expected[tuple(where)] = np.take(src, np.arange(count) if rows is None else rows, axis).astype(dtype)
    via.copy_indexed(dst, to, src, rows, axis, casting="unsafe")
    assert np.array_equal(dst, expected)
    dst[...] = 0
    via.copy_indexed_submit(dst, to, src, rows, axis, casting="unsafe").wait()
    assert np.array_equal(dst, expected)
    dst[...] = 0
    batch = via.Batch()
    batch.add_indexed(dst, to, src, rows, axis, casting="unsafe")
    batch.run()
    assert np.array_equal(dst, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("row", [1, 7, 500, 5000, 1_100_000])
@pytest.mark.parametrize("lists", ["src", "dst", "both"])
def test_rows_of_any_length_are_converted(row, lists):
    draw = np.random.default_rng(row)
    extent = max(2_500_000 // row, 3)
    src = draw.random((extent, row), "f4")
    to = draw.permutation(extent) if lists != "src" else None
    rows = draw.permutation(extent) if lists != "dst" else None
    dst = np.zeros((extent, row), "f8")
    expected = dst.copy()
    expected[slice(None) if to is None else to] = src if rows is None else src[rows]
    via.copy_indexed(dst, to, src, rows, casting="safe")
    assert np.array_equal(dst, expected)
    dst[...] = 0
    via.copy_indexed_submit(dst, to, src, rows, casting="safe").wait()
    assert np.array_equal(dst, expected)


def test_scales_go_along_another_axis_than_the_rows():
    src = np.arange(60, dtype="u1").reshape(5, 4, 3)
    dst = np.zeros((2, 4, 3), "f4")
    scale, offset = np.float32([2, 3, 4]), np.float32([1, 0, -1])
    for axis in (2, -1):
        via.copy_indexed(dst, None, src, [4, 1], scale=scale, offset=offset, scale_axis=axis)
        assert np.array_equal(dst, src[[4, 1]].astype("f4") * scale + offset)
    via.copy_indexed(dst, [1, 0], src, [4, 1], scale=2)
    assert np.array_equal(dst, src[[1, 4]].astype("f4") * 2)
    with pytest.raises(via.UnsupportedError, match="the axis of the rows"):
        via.copy_indexed(dst, None, src, [4, 1], scale=[1, 2], scale_axis=0)
    with pytest.raises(via.ShapeError, match="scale_count is 2"):
        via.copy_indexed(dst, None, src, [4, 1], scale=[1, 2], scale_axis=1)


def test_numbers_of_another_byte_order_are_swapped():
    src = np.arange(40, dtype=">f8").reshape(10, 4)
    dst = np.zeros((3, 4), "f4")
    raw = src.view(src.dtype.newbyteorder("="))
    via.copy_indexed(dst, None, raw, [9, 0, 5], byteorder=">")
    assert np.array_equal(dst, src[[9, 0, 5]])


def test_what_no_rule_allows_is_refused_before_a_byte_is_written():
    src, dst = np.arange(12.0).reshape(4, 3), np.full((4, 3), 7, "i4")
    with pytest.raises(via.DTypeError, match="expected that of dst, int32"):
        via.copy_indexed(dst, [0], src, [1])
    with pytest.raises(via.DTypeError, match="casting is same_kind, which does not take float64 to int32"):
        via.copy_indexed(dst, [0], src, [1], casting="same_kind")
    with pytest.raises(via.OutOfRangeError, match=r"src_index\[1\] is 4"):
        via.copy_indexed(dst, [0, 1], src, [1, 4], casting="unsafe")
    with pytest.raises(via.OverlapError, match="occurs before"):
        via.copy_indexed(dst, [0, 0], src, [1, 2], casting="unsafe")
    with pytest.raises(via.OverlapError, match="shares bytes with src"):
        via.copy_indexed(src.view("f4")[:, :3], [0], src, [1], casting="same_kind")
    with pytest.raises(via.InvalidArgumentError, match="casting is 'no'"):
        via.copy_indexed(dst, [0], src, [1], casting="no")
    assert (dst == 7).all()
    batch = via.Batch()
    with pytest.raises(via.DTypeError):
        batch.add_indexed(dst, [0], src, [1], casting="safe")
    assert len(batch) == 0


@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_without_elements_nothing_happens(shape):
    via.copy_indexed(np.zeros(shape, "f4"), None, np.zeros(shape), None, casting="same_kind")
    via.copy_indexed(np.zeros((4, 3), "f4"), [], np.zeros((4, 3)), None, casting="same_kind")
    with pytest.raises(via.DTypeError):
        via.copy_indexed(np.zeros(shape, "i4"), None, np.zeros(shape), None, casting="same_kind")
