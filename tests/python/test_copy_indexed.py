"""Copies of rows by index within host memory, against NumPy's indexing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viaduct as via
from hypothesis import given, settings
from hypothesis import strategies as st
from repeats import repeats

DTYPES = ["u1", "i2", "f4", "f8", "c16", "S3", "S24", "S100"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None, int]:
    """Arrays of any layout, lists of any kind: sorted, random, repeated, empty, adjacent, or none."""
    ndim = draw(st.integers(1, 4))
    axis = draw(st.integers(0, ndim - 1))
    shape = [draw(st.sampled_from([1, 2, 3, 7, 40])) for _ in range(ndim)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    count = draw(st.sampled_from([0, 1, 2, 9, 33]))

    def side(extent: int) -> np.ndarray:
        extents = list(shape)
        extents[axis] = extent
        order = draw(st.permutations(range(ndim)))
        steps = [draw(st.sampled_from([1, 1, -1, 2, -2])) for _ in range(ndim)]
        block = [extents[i] * abs(steps[i]) for i in order]
        nbytes = int(np.prod(block)) * dtype.itemsize
        base = rng.integers(1, 255, nbytes, dtype=np.uint8).view(dtype).reshape(block)
        a = base.transpose(np.argsort(order))
        return a[tuple(slice(None, None, step) for step in steps)]

    rows_of_dst, rows_of_src = count + draw(st.integers(1, 5)), draw(st.integers(1, 40))
    to: np.ndarray | None = rng.permutation(rows_of_dst)[:count]
    kind = draw(st.sampled_from(["random", "sorted", "adjacent", "none", "no dst"]))
    of: np.ndarray | None = rng.integers(0, rows_of_src, count)
    if kind == "sorted":
        assert to is not None and of is not None
        to, of = np.sort(to), np.sort(of)
    elif kind == "adjacent":
        rows_of_src = count + 3
        to, of = np.arange(count) + 1, np.arange(count) + 2
    elif kind == "none":
        rows_of_src, of = count + 2, None
    elif kind == "no dst":
        to = None
    kinds = st.sampled_from([np.int32, np.int64])
    to = None if to is None else to.astype(draw(kinds))
    of = None if of is None else of.astype(draw(kinds))
    return side(rows_of_dst), side(rows_of_src), to, of, axis


def indexed(a: np.ndarray, rows: np.ndarray | None, count: int, axis: int) -> tuple:
    return (slice(None),) * axis + (slice(count) if rows is None else rows,)


def root_of(a: np.ndarray) -> np.ndarray:
    """The block that a view is of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def naive(dst: np.ndarray, to: np.ndarray | None, src: np.ndarray, of: np.ndarray | None, axis: int) -> np.ndarray:
    """The bytes of dst's whole block afterwards: gaps keep what they hold."""
    block = root_of(dst).copy()
    start = dst.ctypes.data - root_of(dst).ctypes.data
    view = np.ndarray(dst.shape, dst.dtype, block.data, start, dst.strides)
    count = len(to if to is not None else of)  # type: ignore[arg-type]
    view[indexed(dst, to, count, axis)] = src[indexed(src, of, count, axis)]
    return block


@settings(max_examples=repeats(400), deadline=None)
@given(cases(), st.booleans())
def test_any_rows_of_any_layout_equal_what_numpy_copies(case: tuple, as_task: bool) -> None:
    dst, src, to, of, axis = case
    expected = naive(dst, to, src, of, axis)
    if as_task:
        via.copy_indexed_submit(dst, to, src, of, axis - dst.ndim).wait()
    else:
        via.copy_indexed(dst, to, src, of, axis)
    assert root_of(dst).tobytes() == expected.tobytes()


@pytest.mark.parametrize("nbytes", [1, 4, 24, 64, 100, 512, 4096, 5000])
def test_many_rows_on_several_threads_equal_take(nbytes: int) -> None:
    rng = np.random.default_rng(nbytes)
    rows = 8_000_000 // max(nbytes, 40)
    src = rng.integers(0, 255, (rows, nbytes), dtype=np.uint8)
    for wanted in (rng.integers(0, rows, rows // 2), np.sort(rng.permutation(rows)[: rows // 2]), np.arange(rows // 2)):
        out = np.zeros((len(wanted), nbytes), np.uint8)
        via.copy_indexed(out, None, src, wanted)
        np.testing.assert_array_equal(out, src[wanted])
        back = np.zeros_like(src)
        to = rng.permutation(rows)[: len(wanted)]
        via.copy_indexed(back, to, out, None)
        np.testing.assert_array_equal(back[to], out)


@pytest.mark.parametrize("kind", [list, tuple, np.array, via.asarray])
def test_an_index_is_anything_like_an_array(kind: object) -> None:
    src = np.arange(12, dtype="f4").reshape(4, 3)
    dst = np.zeros((2, 3), "f4")
    given = np.array([3, 1]) if kind is via.asarray else [3, 1]
    via.copy_indexed(dst, None, src, kind(given))  # type: ignore[operator]
    np.testing.assert_array_equal(dst, src[[3, 1]])
    via.copy_indexed(dst, range(2), src, range(1, 3))
    np.testing.assert_array_equal(dst, src[1:3])


def test_without_an_index_all_rows_are_copied() -> None:
    src = np.arange(12).reshape(4, 3)
    dst = np.zeros((4, 3), src.dtype)
    via.copy_indexed(dst, None, src, None, axis=1)
    np.testing.assert_array_equal(dst, src)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype,bits", [("int4", 4), ("uint1", 1), ("float6_e2m3fn", 6)])
def test_rows_of_packed_elements_equal_a_loop_of_bits(dtype: str, bits: int, axis: int) -> None:
    rng = np.random.default_rng(bits)
    for shape in [(5, 8), (5, 3), (6, 7)]:
        blocks = [rng.integers(0, 255, (shape[0] * shape[1] * bits + 7) // 8, dtype=np.uint8) for _ in range(2)]
        dst, src = (via.asarray(block) for block in blocks)
        arrays = [via.wrap(a.ptr, shape, dtype, owner=a) for a in (dst, src)]
        to, of = [2, 0, 1], [1, 1, 0]
        wide = [
            np.unpackbits(block, bitorder="little")[: shape[0] * shape[1] * bits].reshape(*shape, bits)
            for block in blocks
        ]
        expected = wide[0].copy()
        expected[indexed(expected, np.array(to), 3, axis)] = wide[1][indexed(expected, np.array(of), 3, axis)]
        via.copy_indexed(arrays[0], to, arrays[1], of, axis=axis)
        after = np.unpackbits(blocks[0], bitorder="little")[: expected.size].reshape(expected.shape)
        np.testing.assert_array_equal(after, expected)


def test_rows_of_one_array_move_to_others_of_it() -> None:
    a = np.arange(24).reshape(6, 4)
    expected = a.copy()
    expected[[0, 2]] = expected[[5, 4]]
    via.copy_indexed(a, [0, 2], a, [5, 4])
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("as_task", [False, True])
def test_rows_of_a_longer_view_move_to_a_shorter_one_of_the_same_array_and_back(as_task: bool) -> None:
    rows = 1_000_000
    a = np.arange(rows, dtype="u4")
    head = a[:64]
    copy = (lambda *args: via.copy_indexed_submit(*args).wait()) if as_task else via.copy_indexed
    copy(head, [0], a, [rows - 1])
    assert head[0] == rows - 1
    for first in range(64, 4096, 64):
        copy(head, range(64), a, range(first, first + 64))
        np.testing.assert_array_equal(head, a[first : first + 64])
    copy(a, [rows - 1, 64], head, [1, 63])
    assert a[rows - 1] == a[1] and a[64] == a[63]
    for to, of in ((head, a), (a, head)):
        before = a.copy()
        with pytest.raises(via.OverlapError, match=r"src_index\[1\] is 63, a row of dst_index"):
            copy(to, [63, 0], of, [7, 63])
        np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_copies_rows_by_index_again_and_again(count: int) -> None:
    sources = [np.arange(12.0).reshape(4, 3) + i for i in range(count)]
    targets = [np.zeros((2, 3)) for _ in range(count)]
    index = np.array([3, 1])
    batch = via.Batch()
    for dst, src in zip(targets, sources, strict=True):
        batch.add_indexed(dst, None, src, index)
    batch.add(np.zeros(3), np.ones(3))
    index[:] = 99  # has been read
    assert len(batch) == count + 1
    for run in (batch.run, lambda: batch.submit().wait()):
        run()
        for dst, src in zip(targets, sources, strict=True):
            np.testing.assert_array_equal(dst, src[[3, 1]])
            dst[...] = 0
    before = len(batch)
    with pytest.raises(via.OutOfRangeError, match=r"Batch.add_indexed|src_index\[1\] is 9"):
        batch.add_indexed(targets[0], None, sources[0], [0, 9])
    assert len(batch) == before == len(list(batch))


def test_the_page_swaps_blocks_of_a_paged_cache_out_and_in() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/guide/rows.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {}
    exec(program, found)  # noqa: S102  (text of this repository)
    pool, cache = (np.asarray(found[name].copy("cpu")) for name in ("pool", "cache"))
    assert (pool[:, found["slots"]] == 1).all() and pool.sum() == 3 * pool[:, 0].size
    assert (cache[:, [*found["blocks"], 0, 1]] == 1).all() and cache.sum() == 5 * cache[:, 0].size


# ------------------------------------------------------------------------------------------------ refusals

A = np.zeros((4, 3), "f4")
FAR = 1 << 40


@pytest.mark.parametrize(
    "error,text,arguments",
    [
        (via.OutOfRangeError, r"src_index\[1\] is 4; expected 0 to 3", (A, [0, 1], A + 1, [0, 4])),
        (via.OutOfRangeError, r"src_index\[0\] is -1; expected 0 to 3", (A, [0, 1], A + 1, [-1, 4])),
        (via.OutOfRangeError, r"dst_index\[1\] is -5; expected 0 to 3", (A, [0, -5], A + 1, None)),
        (via.OutOfRangeError, rf"dst_index\[0\] is {FAR}; expected 0 to 3", (A, [FAR, 0], A + 1, None)),
        (via.OutOfRangeError, r"src_index\[0\] is 4294967296;", (A, [0], A + 1, [1 << 32])),
        (via.OverlapError, r"dst_index\[2\] is 1, which occurs before", (A, [1, 0, 1], A + 1, None)),
        (via.DTypeError, "dst_index has dtype float64; expected int32 or int64", (A, np.array([1.0]), A + 1, None)),
        (via.DTypeError, "src_index has dtype uint32; expected int32", (A, None, A + 1, np.array([1], "u4"))),
        (via.DTypeError, "src_index has dtype int16", (A, None, A + 1, np.array([1], "i2"))),
        (via.ShapeError, "dst_index has ndim 2; expected 1", (A, np.array([[1]]), A + 1, None)),
        (via.ShapeError, "src_index has ndim 0; expected 1", (A, None, A + 1, np.array(1))),
        (via.ShapeError, "src_index has 1 numbers; expected 2, as dst_index", (A, [0, 1], A + 1, [0])),
        (via.ShapeError, "dst has extent 4 along axis 0; expected at least 5", (A, None, A + 1, [0] * 5)),
        (via.ShapeError, "src has extent 4 along axis 0; expected that of dst, 3", (A[:3], None, A + 1, None)),
        (via.ShapeError, "src has extent 2 along axis 1; expected that of dst, 3", (A, [0], A[:, :2] + 1, [0])),
        (via.ShapeError, "src has ndim 1 and dst 2", (A, [0], A[0] + 1, [0])),
        (via.DTypeError, "src has dtype int32; expected that of dst, float32", (A, [0], A.astype("i4"), [0])),
        (via.OutOfRangeError, "axis is 2; expected -2 to 1", (A, [0], A + 1, [0], 2)),
        (via.OutOfRangeError, "axis is -3; expected -2 to 1", (A, [0], A + 1, [0], -3)),
        (via.OverlapError, "dst shares bytes with src; expected separate memory", (A[1:], [0], A[:3], [0])),
        (via.OverlapError, r"src_index\[0\] is 1, a row of dst_index", (A, [1, 2], A, [1, 0])),
        (via.OverlapError, "dst has stride 0", (np.broadcast_to(A[0], (4, 3)), [0], A + 1, [0])),
    ],
)
@pytest.mark.parametrize("function", [via.copy_indexed, via.copy_indexed_submit])
def test_a_wrong_argument_is_named_and_nothing_is_written(
    function: object, error: type, text: str, arguments: tuple
) -> None:
    if not arguments[0].flags.writeable:
        arguments = (via.wrap(A.ctypes.data, (4, 3), "float32", strides=(0, 4), owner=A), *arguments[1:])
    before = A.copy()
    with pytest.raises(error, match=text):
        function(*arguments)  # type: ignore[operator]
    np.testing.assert_array_equal(A, before)


# As many numbers as several threads read, shares of 2 ** 15 each.
MANY = 2**19 + 5


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("at", [2**15, 2**15 + 1, 2**18, MANY - 1])
def test_one_wrong_number_of_very_many_is_named(at: int, dtype: str) -> None:
    rows = np.arange(MANY, dtype="i4")
    out = np.zeros(MANY, "i4")
    index = np.arange(2 * MANY, dtype=dtype)[::2] // 2
    via.copy_indexed(out, index, rows, None)
    np.testing.assert_array_equal(out, rows)
    index[at] = at - 1
    with pytest.raises(via.OverlapError, match=rf"dst_index\[{at}\] is {at - 1}, which occurs before"):
        via.copy_indexed(out, index, rows, None)
    index[at] = MANY
    with pytest.raises(IndexError, match=rf"src_index\[{at}\] is {MANY}; expected 0 to {MANY - 1}"):
        via.copy_indexed(out, None, rows, index)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [([0.5], via.DTypeError), (["1"], via.DTypeError), ([[0]], via.DTypeError), ([2**70], via.ExtentOverflowError)],
)
def test_a_list_of_what_is_no_row_number_is_refused_by_name(wrong: list[Any], kind: type[Exception]) -> None:
    dst = A.copy()
    calls = (via.copy_indexed, via.copy_indexed_submit, via.Batch().add_indexed)
    for call, name in zip(calls, ("copy_indexed", "copy_indexed_submit", "Batch.add_indexed"), strict=True):
        with pytest.raises(kind, match=rf"^{name}: dst_index .*; expected integers of 64 bits: "):
            call(dst, wrong, A, [0])
        with pytest.raises(kind, match=rf"^{name}: src_index .*; expected integers of 64 bits: "):
            call(dst, [0], A, tuple(wrong))
    np.testing.assert_array_equal(dst, A)


@pytest.mark.parametrize("mask", [[True, False], (0, True)])
def test_a_list_of_booleans_is_no_list_of_rows(mask: list[Any]) -> None:
    dst = A.copy()
    with pytest.raises(via.DTypeError, match=r"^copy_indexed: src_index holds booleans; expected row numbers$"):
        via.copy_indexed(dst, [0, 1], A, mask)
    np.testing.assert_array_equal(dst, A)


def test_a_read_only_destination_is_refused() -> None:
    dst = A.copy()
    dst.flags.writeable = False
    with pytest.raises(via.ReadOnlyError):
        via.copy_indexed(dst, [0], A, [0])


def test_empty_rows_and_no_rows_are_no_copy_but_numbers_are_checked() -> None:
    empty = np.zeros((4, 0), "f4")
    via.copy_indexed(empty, [3, 1], empty.copy(), [0, 0])
    via.copy_indexed(A, [], A + 1, [])
    with pytest.raises(via.OutOfRangeError, match=r"dst_index\[0\] is 4"):
        via.copy_indexed(empty, [4], empty.copy(), [0])


def test_a_task_reads_its_index_before_it_returns() -> None:
    src = np.arange(1 << 20, dtype="f8").reshape(-1, 256)
    dst = np.zeros_like(src)
    index = np.arange(len(src))[::-1].copy()
    expected = src[::-1].copy()
    task = via.copy_indexed_submit(dst, None, src, index)
    index[:] = 1 << 40
    task.wait()
    np.testing.assert_array_equal(dst, expected)
    assert task.progress() == (src.nbytes, src.nbytes)
