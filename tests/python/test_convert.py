"""Conversions within host memory, against NumPy and ml_dtypes, element for element."""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import viaduct as via
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from repeats import QUICK, repeats
from tensors import Producer

ml_dtypes = pytest.importorskip("ml_dtypes")

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
FLOAT8 = [
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]
BELOW = ["int4", "uint4", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]  # a byte each, in NumPy
CODES = dict(zip(BELOW, [(0, 4, 1), (1, 4, 1), (15, 6, 1), (16, 6, 1), (17, 4, 1)], strict=True))
PADDED = 4  # DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
COMPLEX = ["complex64", "complex128"]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy warns of what it converts here on purpose."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def bits(a: np.ndarray) -> np.ndarray:
    return a.view(f"u{a.dtype.itemsize}")


def known(a: np.ndarray) -> np.ndarray | via.Array:
    """The array with a name for its dtype: buffers have none for elements narrower than a byte."""
    if a.dtype.name not in BELOW:
        return a
    return via.from_dlpack(
        Producer(a.shape, (1,), CODES[a.dtype.name], data=a.ctypes.data, flags=PADDED, version=(1, 3))
    )


@functools.cache
def edges(dtype: np.dtype) -> np.ndarray:
    """All numbers of up to 16 bits; of wider ones random bits, limits, ties of narrower floats, and their neighbours."""
    made = all_edges(dtype)
    made = made[::11].copy() if QUICK and made.size > 1 << 16 else made
    made.flags.writeable = False  # tests share it
    return made


def all_edges(dtype: np.dtype) -> np.ndarray:
    size = dtype.itemsize
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.name in BELOW:
        return np.arange(1 << CODES[dtype.name][1], dtype=np.uint8).view(dtype)
    if size <= 2:
        return np.arange(1 << 8 * size, dtype=f"u{size}").view(dtype)
    rng = np.random.default_rng(1)
    random = rng.integers(0, 1 << 63, 40000, dtype=np.uint64).astype(f"u{size}") * 2 + 1
    if dtype.kind != "f":
        powers = np.uint64(1) << np.arange(8 * size, dtype=np.uint64)
        near = np.concatenate([powers - np.uint64(1), powers, powers + np.uint64(1), ~powers, np.uint64(0) - powers])
        small = np.arange(-70000, 70000).astype(f"i{size}").view(f"u{size}")
        spread = rng.integers(0, 1 << 63, 40000, dtype=np.uint64) >> rng.integers(0, 63, 40000).astype(np.uint64)
        return np.concatenate([bits(random), near.astype(f"u{size}"), small, spread.astype(f"u{size}")]).view(dtype)
    halves = np.arange(1 << 16, dtype=np.uint16)
    narrow = [halves.view("f2").astype(dtype), halves.view(ml_dtypes.bfloat16).astype(dtype)]
    narrow += [np.arange(256, dtype=np.uint8).view(dtype_of(name)).astype(dtype) for name in FLOAT8]
    exact = np.concatenate(narrow)
    exact = exact[np.isfinite(exact)]
    ties = np.concatenate([exact * dtype.type(1 + 2.0**-k) for k in (2, 3, 4, 5, 8, 9, 11, 12)])
    neighbours = [np.nextafter(ties, dtype.type(np.inf)), np.nextafter(ties, dtype.type(-np.inf))]
    spread = rng.uniform(-1, 1, 40000) * 2.0 ** rng.integers(-30, 70, 40000)
    odd = [np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]
    return np.concatenate([random.view(dtype), exact, ties, *neighbours, spread.astype(dtype), np.array(odd, dtype)])


def to_integer(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cut, and saturated: NumPy leaves it to the processor."""
    limits = ml_dtypes.iinfo(dtype) if dtype.name in BELOW else np.iinfo(dtype)
    cut = np.trunc(np.nan_to_num(a.astype(np.float64), nan=0.0))
    inside = (cut > float(int(limits.min))) & (cut < float(int(limits.max)))
    whole = np.where(inside, cut, 0).astype(np.int64 if int(limits.min) < 0 else np.uint64)
    ends = np.where(cut > 0, int(limits.max), int(limits.min)).astype(whole.dtype)
    return np.where(inside, whole, ends).astype(dtype)


def once(a: np.ndarray) -> np.ndarray:
    """A float32 that narrower floats round from as from the number itself: inexact ones are odd."""
    wide = a.astype(np.float64)
    if a.dtype.kind in "iu" and a.dtype.itemsize == 8:
        sign = a < 0
        magnitude = np.where(sign, np.uint64(0) - a.astype(np.uint64), a.astype(np.uint64))
        sticky = (magnitude & ~np.uint64(0x7FF)) | np.where(
            magnitude & np.uint64(0x7FF), np.uint64(0x800), np.uint64(0)
        )
        wide = np.where(magnitude >> np.uint64(53), sticky, magnitude).astype(np.float64) * np.where(sign, -1.0, 1.0)
    near = wide.astype(np.float32)
    toward_zero = np.where(np.abs(near.astype(np.float64)) > np.abs(wide), np.nextafter(near, np.float32(0)), near)
    inexact = np.isfinite(wide) & (toward_zero.astype(np.float64) != wide)
    return (bits(toward_zero) | inexact.astype(np.uint32)).view(np.float32)


def expected(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    is_integer = dtype.name in INTEGERS[1:] + BELOW[:2]
    from_integer = a.dtype.name in INTEGERS + BELOW[:2]
    if is_integer and not from_integer:
        return to_integer(a, dtype)
    if is_integer or dtype == np.bool_ or dtype.name in {"float16", "float32", "float64"}:
        return a.astype(np.int64).astype(dtype) if a.dtype.name in BELOW[:2] else a.astype(dtype)
    return once(a.astype(np.int64) if a.dtype.name in BELOW[:2] else a).astype(dtype)


def assert_same(found: np.ndarray, wanted: np.ndarray, source: np.ndarray) -> None:
    """The same bits; NaN may have any payload, and any sign where ml_dtypes loses it."""
    different = bits(found) != bits(wanted)
    if found.dtype.name in FLOATS + FLOAT8:
        different &= ~(np.isnan(found.astype(np.float64)) & np.isnan(wanted.astype(np.float64)))
    if found.dtype.name == "float8_e8m0fnu":  # below 2^-126 ml_dtypes does not round to the nearest power
        different &= ~(np.abs(source.astype(np.float64)) < 2.0**-126)
    at = np.flatnonzero(different)[:4]
    assert at.size == 0, [(source[i], found[i], wanted[i]) for i in at]


@pytest.mark.sampled
@pytest.mark.parametrize("source", INTEGERS + FLOATS + FLOAT8 + BELOW)
@pytest.mark.parametrize("target", INTEGERS + FLOATS + FLOAT8 + BELOW)
def test_every_pair_of_dtypes_converts_as_numpy_and_ml_dtypes_do(source: str, target: str) -> None:
    a = edges(dtype_of(source))
    b = np.zeros(a.shape, dtype_of(target))
    via.convert(known(b), known(a), casting="unsafe")
    assert_same(b, a if source == target else expected(a, b.dtype), a)


@pytest.mark.sampled
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("target", FLOAT8[:-1])
def test_a_float8_saturates_on_demand(source: str, target: str) -> None:
    a = edges(dtype_of(source))
    b = np.zeros(a.shape, dtype_of(target))
    via.convert(b, a, casting="unsafe", overflow="saturate")
    most = ml_dtypes.finfo(b.dtype).max.astype(np.float64)
    wanted = np.clip(a.astype(np.float64), -most, most)
    assert_same(b, once(wanted).astype(b.dtype), a)
    assert np.isfinite(b.astype(np.float64)[~np.isnan(a.astype(np.float64))]).all()


def test_a_nan_stays_quiet_with_its_sign_and_the_upper_bits_of_its_payload() -> None:
    wide = np.array([0x7FF0_0000_0000_0001, 0xFFF5_5540_0000_0000, 0x7FFF_FFFF_FFFF_FFFF], np.uint64).view("f8")
    for name, wanted in {
        "float32": [0x7FC00000, 0xFFEAAA00, 0x7FFFFFFF],
        "float16": [0x7E00, 0xFF55, 0x7FFF],
        "bfloat16": [0x7FC0, 0xFFEA, 0x7FFF],
    }.items():
        b = np.zeros(3, dtype_of(name))
        via.convert(b, wide)
        assert bits(b).tolist() == wanted, name
    halves = np.zeros(3, "f8")
    via.convert(halves, np.array([0x7C01, 0xFE55, 0x7FFF], np.uint16).view("f2"))
    assert bits(halves).tolist() == [0x7FF8_0400_0000_0000, 0xFFF9_5400_0000_0000, 0x7FFF_FC00_0000_0000]


@pytest.mark.parametrize(("source", "target"), list(itertools.product(COMPLEX, [*COMPLEX, "float32", "int16", "bool"])))
def test_complex_numbers_lose_their_imaginary_part_to_real_types(source: str, target: str) -> None:
    a = np.array([0, -0.0, 1j, 2.5 - 3j, complex(0, np.nan), -7], source)
    b = np.zeros(a.shape, target)
    via.convert(b, a, casting="unsafe")
    assert (b.astype("c16")[[0, 1, 2, 3, 5]] == a.astype(target).astype("c16")[[0, 1, 2, 3, 5]]).all()
    assert target != "bool" or b.tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(["uint8", "float64", "bfloat16", "bool"], COMPLEX))
)
def test_real_numbers_become_complex_without_an_imaginary_part(source: str, target: str) -> None:
    a = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype_of(source))
    b = np.full((2, 3), 9 + 9j, target)
    via.convert(b, a)
    assert (b == a.astype(np.float64).astype(target)).all()


@pytest.mark.parametrize(
    "name", ["int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("target", ["float64", "complex128", "bool"])
def test_a_big_endian_source_is_swapped_on_the_way(name: str, target: str) -> None:
    a = np.arange(300).astype(name).reshape(20, 15)
    b = np.zeros((15, 20), target)
    via.convert(b, a.byteswap().T, byteorder=">", casting="unsafe")
    assert (b == a.T.astype(target)).all()
    same = np.zeros_like(a)
    via.convert(same, a.byteswap(), byteorder=">", casting="equiv")
    assert (same == a).all()


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of one shape, of any layout: permuted, with gaps, backwards; the source now and then broadcast."""
    ndim = draw(st.integers(0, 4))
    shape = [draw(st.sampled_from([1, 2, 3, 7, 33, 40])) for _ in range(ndim)]
    if draw(st.integers(0, 20)) == 0:
        shape = [draw(st.integers(200, 700)) for _ in range(2)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def side(name: str) -> np.ndarray:
        order = draw(st.permutations(range(len(shape))))
        steps = [draw(st.sampled_from([1, 1, 1, -1, 2, -2])) for _ in shape]
        block = np.asarray(rng.integers(0, 2 if name == "bool" else 100, [shape[i] * abs(steps[i]) for i in order]))
        a = block.astype(dtype_of(name)).transpose(np.argsort(order)) if shape else block.astype(dtype_of(name))
        return a[(..., *(slice(None, None, step) for step in steps))]

    names = st.sampled_from(["bool", "uint8", "int16", "bfloat16", "float32", "float64", "complex64", "complex128"])
    dst, src = side(draw(names)), side(draw(names))
    if shape and draw(st.integers(0, 9)) == 0:
        src = np.broadcast_to(src[..., :1], src.shape)
    return dst, src


def root_of(a: np.ndarray) -> np.ndarray:
    """The block that a view is of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


@settings(max_examples=repeats(400), deadline=None)
@given(layouts())
def test_any_layout_converts_and_gaps_keep_what_they_hold(case: tuple[np.ndarray, np.ndarray]) -> None:
    dst, src = case
    block = root_of(dst).copy()
    start = dst.ctypes.data - root_of(dst).ctypes.data
    wanted = np.ndarray(dst.shape, dst.dtype, bits(block) if block.dtype.kind == "V" else block, start, dst.strides)
    real = src.real if src.dtype.kind == "c" and dst.dtype.kind not in "cb" else src
    wanted[...] = real.astype(np.float64).astype(dst.dtype) if real.dtype.kind == "V" else real.astype(dst.dtype)
    via.convert(dst, src, casting="unsafe")
    assert root_of(dst).tobytes() == block.tobytes()


def test_large_arrays_convert_on_several_threads_past_the_caches() -> None:
    a = np.arange(12_000_000, dtype=np.float64) / 3
    for offset in (0, 1):
        b = np.zeros(a.size + offset, np.float32)[offset:]
        via.convert(b, a)
        assert (b == a.astype(np.float32)).all()


def test_a_task_converts_too() -> None:
    a = np.arange(3_000_000, dtype=np.int32).reshape(1000, 3000)
    b = np.zeros((3000, 1000), np.float64)
    via.convert_submit(b, a.T).wait()
    assert (b == a.T).all()


def test_lanes_convert_one_by_one() -> None:
    a = np.arange(24, dtype=np.int16).reshape(6, 4)
    b = np.zeros((6, 4), np.float32)
    source = via.wrap(a.ctypes.data, 6, "int16x4", owner=a)
    via.convert(via.wrap(b.ctypes.data, 6, "float32x4", owner=b), source)
    assert (a == b).all()
    with pytest.raises(via.DTypeError, match="which no casting converts"):
        via.convert(via.wrap(b.ctypes.data, 6, "float32x2", owner=b), source)


def test_equal_dtypes_are_copied_whatever_they_are() -> None:
    a = np.array([(1, 2.5)], dtype=[("x", "i4"), ("y", "f8")])
    b = np.zeros_like(a)
    via.convert(b, a, casting="equiv")
    assert b.tobytes() == a.tobytes()


# ---------------------------------------------------------------------------------------------------- casting rules


def test_casting_rules_are_numpys() -> None:
    names = INTEGERS + ["float16", "float32", "float64", "complex64", "complex128"]
    for source, target, rule in itertools.product(names, names, ["equiv", "safe", "same_kind", "unsafe"]):
        assert via.can_cast(source, target, rule) == np.can_cast(source, target, rule), (source, target, rule)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product([*FLOATS, *FLOAT8, "int8", "uint8"], FLOATS + FLOAT8))
)
def test_safe_keeps_every_value(source: str, target: str) -> None:
    if dtype_of(source).itemsize > 2:
        return
    a = edges(dtype_of(source))
    b, back = np.zeros(a.shape, dtype_of(target)), np.zeros_like(a)
    via.convert(b, a, casting="unsafe")
    via.convert(back, b, casting="unsafe")
    wide = a.astype(np.float64)
    keeps = np.array_equal(wide, back.astype(np.float64), equal_nan=True)
    keeps = keeps and np.array_equal(np.isfinite(wide), np.isfinite(b.astype(np.float64)))
    keeps = keeps and np.array_equal(np.signbit(wide)[wide == 0], np.signbit(b.astype(np.float64))[wide == 0])
    assert via.can_cast(source, target, "safe") == keeps


@pytest.mark.parametrize(
    ("source", "target", "rule", "allows"),
    [
        ("float64", "int32", "same_kind", "unsafe"),
        ("complex64", "float32", "same_kind", "unsafe"),
        ("int32", "uint32", "same_kind", "unsafe"),
        ("float64", "float32", "safe", "same_kind"),
        ("int16", "float32", "equiv", "safe"),
        ("float32", "bool", "safe", "unsafe"),
    ],
)
def test_a_refusal_names_both_dtypes_the_rule_and_one_that_allows_it(
    source: str, target: str, rule: str, allows: str
) -> None:
    a, b = np.ones(4, source), np.full(4, 7).astype(target)
    before = b.tobytes()
    text = f"convert: casting is {rule}, which does not take {source} to {target}; expected {allows}"
    with pytest.raises(via.DTypeError, match=re.escape(text)):
        via.convert(b, a, casting=rule)  # type: ignore[arg-type]
    assert b.tobytes() == before


def test_bad_input_is_refused_and_nothing_touched() -> None:
    a, b = np.ones(4, "f4"), np.zeros(4, "f8")
    record = np.zeros(4, [("x", "i4")])
    with pytest.raises(via.DTypeError, match="src has dtype float32 and dst record4, which no casting converts"):
        via.convert(record, a, casting="unsafe")
    with pytest.raises(via.UnsupportedError, match="dst has packed elements of int4; expected elements of a byte each"):
        via.convert(via.empty(4, "int4"), a, casting="unsafe")
    with pytest.raises(via.ShapeError, match="src has ndim 1 and shape"):
        via.convert(b, a[:3])
    with pytest.raises(ValueError, match="casting is 'none'; expected 'equiv', 'safe', 'same_kind' or 'unsafe'"):
        via.convert(b, a, casting="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="overflow is 'wrap'; expected 'infinity' or 'saturate'"):
        via.convert(b, a, overflow="wrap")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="byteorder is '|'; expected '=', '<' or '>'"):
        via.convert(b, a, byteorder="|")  # type: ignore[arg-type]
    with pytest.raises(via.OverlapError, match="dst shares bytes with src"):
        via.convert(b, b.view("f4")[:4])
    with pytest.raises(via.OverlapError):
        via.convert(as_strided(np.zeros(1, "f4"), (4,), (0,)), np.broadcast_to(np.float64(3), (4,)))
    b.flags.writeable = False
    with pytest.raises(via.ReadOnlyError):
        via.convert(b, a)
    assert (b == 0).all()


# ---------------------------------------------------------------------------------------------------- other ways in


def test_astype_makes_a_new_array_as_numpys_does() -> None:
    a = np.arange(12, dtype=np.float64).reshape(3, 4) * 1.75
    b = via.asarray(a.T).astype("int16")
    assert b.dtype == np.int16 and (b.numpy() == a.T.astype("i2")).all()
    with pytest.raises(via.DTypeError, match="expected unsafe"):
        via.asarray(a).astype("int16", casting="same_kind")
    assert via.asarray(np.float32([1e9])).astype("float8_e4m3fn", overflow="saturate").numpy() == 448


def test_asarray_converts_to_the_dtype_asked_for() -> None:
    a = np.arange(5, dtype=np.int32)
    assert via.asarray(a, "float32").numpy().tolist() == [0, 1, 2, 3, 4]
    assert via.asarray(a, "int32").numpy().ctypes.data == a.ctypes.data
    with pytest.raises(via.DTypeError, match="expected unsafe"):
        via.asarray(a, "bool")
    with pytest.raises(via.NeedsCopyError, match="dtype is float32, and copy is False; expected int32"):
        via.asarray(a, "float32", copy=False)


def test_copyto_converts_and_broadcasts_if_it_is_told_how() -> None:
    b = np.zeros((3, 4), np.float16)
    via.copyto(b, np.arange(4), casting="same_kind")
    assert (b == np.arange(4)).all()
    with pytest.raises(via.DTypeError):
        via.copyto(b, np.arange(4))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("number", [2.5, -0.5, 3, 2 + 3j, np.float64(2.5), np.float32(2.5), np.complex128(2 + 3j)])
def test_copyto_converts_a_number_of_any_type_if_that_is_unsafe(number: Any, dtype: str) -> None:
    b, expected = via.zeros(2, dtype), via.zeros(2, dtype)
    via.convert(expected, np.array([number, number]), casting="unsafe")
    via.copyto(b, number, casting="unsafe")
    assert b.numpy().tolist() == expected.numpy().tolist()


def test_copyto_refuses_a_number_that_is_cut_off_unless_that_is_unsafe() -> None:
    b = np.zeros(3, np.int32)
    for number in (2.5, np.float64(2.5), np.float32(2.5), 2 + 3j):
        with pytest.raises(via.DTypeError):
            via.copyto(b, number, casting="same_kind")
    with pytest.raises(via.ExtentOverflowError):
        via.copyto(b, 2**40, casting="unsafe")
    assert not b.any()


def test_explain_says_how() -> None:
    a = np.zeros((64, 64))
    assert via.convert_explain(np.zeros((64, 64), "f4"), a).startswith("route: host, by rows")
    text = via.convert_explain(np.zeros((64, 64), "f4"), a.T)
    assert text.startswith("route: host, by blocks in a scratch")
    assert "float64 of 8 bytes to float32 of 4 bytes" in text and "bytes: 32768 read, 16384 written" in text


# ------------------------------------------------------------------------------------------------ scale and offset


def scaled(src: np.ndarray, scale: object, offset: object, axis: int, dtype: np.dtype) -> np.ndarray:
    """src * scale + offset in float32, rounded after each step, and then to the dtype; NaNs are quiet and positive."""
    shape = [1] * src.ndim
    if np.size(scale) > 1 or np.size(offset) > 1:
        shape[axis] = src.shape[axis]
    by = np.broadcast_to(np.asarray(scale, np.float32), np.prod(shape)).reshape(shape)
    plus = np.broadcast_to(np.asarray(offset, np.float32), np.prod(shape)).reshape(shape)
    numbers = src.astype(np.float32) * by + plus
    numbers[np.isnan(numbers)] = np.array(0x7FC00000, np.uint32).view(np.float32)
    return numbers.astype(dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "float8_e5m2"])
def test_numbers_are_scaled_and_offset_in_float32(source: str, target: str) -> None:
    src = edges(dtype_of(source))
    dst = np.zeros(src.shape, dtype_of(target))
    via.convert(dst, src, casting="unsafe", scale=1 / 255, offset=-0.5)
    assert np.array_equal(bits(dst), bits(scaled(src, 1 / 255, -0.5, 0, dst.dtype)))
    rng = np.random.default_rng(2)
    scale, offset = rng.normal(size=src.size).astype(np.float32), rng.normal(size=src.size).astype(np.float32)
    via.convert(dst, src, casting="unsafe", scale=scale, offset=offset)
    assert np.array_equal(bits(dst), bits(scaled(src, scale, offset, 0, dst.dtype)))


@settings(max_examples=repeats(150), deadline=None)
@given(data=st.data())
def test_scales_go_along_any_axis_of_any_layout(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(shape))))
    steps = [data.draw(st.sampled_from([1, 1, -1])) for _ in shape]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    source, target = data.draw(st.sampled_from([("uint8", "float16"), ("int16", "float32"), ("float64", "float32")]))
    block = rng.integers(0, 200, [shape[i] for i in order]).astype(source)
    src = block.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    block = np.zeros([shape[i] for i in order], target)
    backward = data.draw(st.booleans())
    dst = (block.transpose(np.argsort(order)) if data.draw(st.booleans()) else np.zeros(shape, target))[
        tuple(slice(None, None, -1 if backward else 1) for _ in shape)
    ]
    scale = rng.normal(size=shape[axis]).astype(np.float32)
    offset = rng.normal(size=shape[axis]).astype(np.float32) if data.draw(st.booleans()) else 0.25
    via.convert(dst, src, scale=scale, offset=offset, scale_axis=axis)
    assert np.array_equal(dst, scaled(src, scale, offset, axis, dst.dtype))


@pytest.mark.sampled
@pytest.mark.parametrize("channels", [2, 3, 4, 7, 64, 65])
@pytest.mark.parametrize(("source", "target"), [("uint8", "float32"), ("float32", "float16"), ("float64", "float32")])
def test_pixels_keep_their_order_and_their_channels_scales(channels: int, source: str, target: str) -> None:
    rng = np.random.default_rng(channels)
    scale, offset = rng.normal(size=(2, channels)).astype(np.float32)
    large = (3000, 6000 // channels) if channels == 3 or not QUICK else (300, 600 // channels)
    for height, width in [(1, 1), (7, 5), (500, 700 // channels), large]:
        block = rng.integers(0, 200, (height, width + 1, channels)).astype(source)
        for src in [block, block[:, :width], block[::-1], block[..., ::-1], block.transpose(1, 0, 2)]:
            dst = np.zeros(src.shape, target)
            via.convert(dst, src, scale=scale, offset=offset, scale_axis=-1)
            assert np.array_equal(dst, scaled(src, scale, offset, -1, dst.dtype))
    arguments = {"scale": scale, "offset": offset, "scale_axis": -1}
    assert "route: host, by rows" in via.convert_explain(np.zeros(block.shape, target), block, **arguments)


def test_frames_become_normalised_planes() -> None:
    frames = np.random.default_rng(3).integers(0, 256, (5, 130, 70, 3), dtype=np.uint8)
    planes = np.zeros((5, 3, 130, 70), np.float16)
    scale, offset = [1 / 58.395, 1 / 57.12, 1 / 57.375], [-2.1179, -2.0357, -1.8044]
    via.convert(planes, frames.transpose(0, 3, 1, 2), scale=scale, offset=offset, scale_axis=1)
    assert np.array_equal(planes, scaled(frames.transpose(0, 3, 1, 2), scale, offset, 1, planes.dtype))
    text = via.convert_explain(planes, frames.transpose(0, 3, 1, 2), scale=scale, scale_axis=1)
    assert "affine: times a scale, plus an offset, in float32, by index along an axis" in text


def test_one_dtype_is_scaled_too_and_big_endian_numbers_are_swapped_before() -> None:
    src = np.arange(1000, dtype=np.float32)
    dst = np.zeros_like(src)
    via.convert(dst, src, scale=2)
    assert np.array_equal(dst, src * 2)
    via.convert(dst, src.astype(">f4").view("<f4"), byteorder=">", offset=-1)
    assert np.array_equal(dst, src - 1)


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.array(0.5), np.array([0.5]), [0.5]])
def test_one_number_is_one_in_any_form(number: object) -> None:
    dst = np.zeros(5, np.float32)
    via.convert(dst, np.arange(5, dtype=np.uint8), scale=number, offset=number)
    assert np.array_equal(dst, np.arange(5) * 0.5 + 0.5)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"scale": [1.0, 2.0]}, via.ShapeError, "options.scale_count is 2; expected 1, or 4 along axis 0"),
        ({"scale": [1.0] * 4, "scale_axis": 2}, via.OutOfRangeError, "options.scale_axis is 2; expected an axis of 2"),
        ({"scale": [1.0] * 4, "scale_axis": -3}, via.OutOfRangeError, "options.scale_axis is -3"),
        ({"scale": []}, via.ShapeError, "scale has 0 numbers, offset 0; expected as many, or one"),
        ({"scale": [1.0] * 4, "offset": [1.0] * 3}, via.ShapeError, "scale has 4 numbers, offset 3"),
        ({"scale": "no"}, TypeError, "scale is 'no'; expected a number or a sequence of numbers"),
    ],
)
def test_bad_scales_are_refused_and_touch_nothing(arguments: dict, error: type, text: str) -> None:
    dst = np.full((4, 5), 7, np.float32)
    with pytest.raises(error, match=re.escape(text)):
        via.convert(dst, np.ones((4, 5), np.uint8), **arguments)
    assert np.all(dst == 7)


@pytest.mark.parametrize(("source", "target"), [("uint8", "int32"), ("float32", "complex64"), ("complex64", "float32")])
def test_only_real_numbers_are_scaled_and_only_to_floats(source: str, target: str) -> None:
    dst = np.full(4, 7, target)
    with pytest.raises(via.DTypeError, match="expected (booleans, integers or )?floats"):
        via.convert(dst, np.ones(4, source), casting="unsafe", scale=2)
    assert np.all(dst == 7)
