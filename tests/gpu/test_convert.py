"""Conversions between every two kinds of memory: the same bits as within host memory."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import viaduct as via
from repeats import repeats

KINDS = ["cpu", "pinned", "managed", "cuda:0"]
PAIRS = [pair for pair in itertools.product(KINDS, KINDS) if "cuda:0" in pair]
REAL = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e3m4": 1,
    "float8_e4m3": 1,
    "float8_e4m3b11fnuz": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
}
COMPLEX = {"complex64": 8, "complex128": 16}
SIZES = REAL | COMPLEX


def content(a: via.Array) -> bytes:
    host = a if a.device == "cpu" else a.copy("cpu")
    return bytes(memoryview(host.reshape(host.size).view("uint8")))


def on(device: str, data: bytes | bytearray) -> via.Array:
    host = via.asarray(bytearray(data))
    return host if device == "cpu" else host.copy(device)


def elements(dtype: str, count: int, rng: random.Random) -> bytes:
    """All numbers of up to 16 bits, or random bits of as many sizes as there are."""
    size = SIZES[dtype]
    if dtype == "bool":
        return bytes(rng.choices([0, 1], k=count))
    if size <= 2:
        numbers = [number % (1 << 8 * size) for number in range(count)]
    else:
        half = 8 * min(size, 8)
        ends = [0, 1 << (half - 1), (1 << half) - 1, (1 << (half - 1)) - 1]
        numbers = [rng.choice(ends) if rng.random() < 0.05 else rng.getrandbits(half) for _ in range(count)]
        if dtype in {"float32", "float64"}:  # of magnitudes that narrower floats have
            bias, shift = (127, 23) if dtype == "float32" else (1023, 52)
            for i in range(0, count, 2):
                exponent = rng.randint(bias - 30, bias + 30) << shift
                numbers[i] = exponent | numbers[i] & ~(((1 << (half - 1 - shift)) - 1) << shift)
        size = min(size, 8)
    return b"".join(number.to_bytes(size, "little") for number in numbers * (SIZES[dtype] // size))


def side(device: str, dtype: str, shape: list[int], rng: random.Random) -> tuple[via.Array, via.Array]:
    """An array of any layout in a block, and the block."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    steps = [rng.choice([1, 1, 1, 2, -1]) for _ in shape]
    lead = rng.choice([0, 0, 1])
    extents = [shape[axis] * abs(steps[axis]) for axis in order]
    count = lead
    total = 1
    for extent in extents:
        total *= extent
    block = on(device, elements(dtype, count + total, rng))
    inner = block.view(dtype)[lead:].reshape(*extents)
    view = inner.transpose(*[order.index(axis) for axis in range(len(shape))]) if len(shape) > 1 else inner
    return view[tuple(slice(None, None, step) for step in steps)], block


def twin(a: via.Array, block: via.Array) -> tuple[via.Array, via.Array]:
    """The same array on a copy of its block in host memory."""
    memory = via.asarray(bytearray(content(block)))
    start = a.ptr - block.ptr
    dtype = a.dtype if isinstance(a.dtype, str) else a.dtype.name
    return via.wrap(memory.ptr + start, a.shape, dtype, strides=a.strides, owner=memory, check=False), memory


@pytest.mark.sampled
@pytest.mark.parametrize(("source", "target"), list(itertools.product(SIZES, SIZES)))
def test_a_device_makes_the_bits_that_the_host_makes(source: str, target: str) -> None:
    count = 70000 if SIZES[source] == 2 and SIZES[target] <= 2 else 3001
    data = elements(source, count, random.Random(count))
    host = via.asarray(bytearray(data)).view(source)
    for overflow, byteorder in [("infinity", "="), ("saturate", ">")]:
        wanted = via.empty(count, target)
        via.convert(wanted, host, casting="unsafe", overflow=overflow, byteorder=byteorder)  # type: ignore[arg-type]
        found = (
            via.full(count, 1, target, device="cuda:0") if target in REAL else via.empty(count, target, device="cuda:0")
        )
        there = host.copy("cuda:0")
        via.convert(found, there, casting="unsafe", overflow=overflow, byteorder=byteorder)  # type: ignore[arg-type]
        assert content(found) == content(wanted)


@pytest.mark.parametrize(("to", "of"), PAIRS)
@pytest.mark.parametrize("seed", range(repeats(12)))
def test_any_layout_converts_between_any_memory(to: str, of: str, seed: int) -> None:
    rng = random.Random(f"{to} {of} {seed}")
    for _ in range(4):
        shape = [rng.choice([1, 2, 3, 7, 33]) for _ in range(rng.randint(1, 4))]
        source, target = rng.choice(list(SIZES)), rng.choice(list(SIZES))
        src, _src_block = side(of, source, shape, rng)
        dst, dst_block = side(to, target, shape, rng)
        dst_twin, wanted = twin(dst, dst_block)
        src_twin, _memory = twin(src, _src_block)
        via.convert(dst_twin, src_twin, casting="unsafe")
        via.convert(dst, src, casting="unsafe")
        assert content(dst_block) == content(wanted), (shape, source, target, dst.strides, src.strides)


@pytest.mark.sampled
@pytest.mark.parametrize(("to", "of"), [("cuda:0", "cpu"), ("cpu", "cuda:0")])
@pytest.mark.parametrize(("source", "target"), [("float64", "float32"), ("float16", "float64"), ("uint8", "float16")])
@pytest.mark.parametrize("transposed", [False, True])
def test_large_arrays_cross_the_link_as_the_narrower_type(
    to: str, of: str, source: str, target: str, transposed: bool
) -> None:
    shape = [1500, 1001]
    src = on(of, elements("uint16", shape[0] * shape[1], random.Random(1))).view("uint16").reshape(*shape)
    src = src.astype(source)
    dst = via.empty(shape[::-1] if transposed else shape, target, device=to)
    if transposed:
        src = src.transpose(1, 0)
    via.convert(dst, src)
    wanted = via.empty(dst.shape, target)
    via.convert(wanted, src.copy("cpu"))
    assert content(dst) == content(wanted)
    narrower = min(SIZES[source], SIZES[target]) * shape[0] * shape[1]
    text = via.convert_explain(dst, src)
    assert "staged" in text and f"{narrower} bytes cross" in text
    first = SIZES[target] <= SIZES[source]
    assert (
        f"converted {'before' if first else 'after'} by {'the host' if first == (of == 'cpu') else 'a kernel'}" in text
    )


@pytest.mark.parametrize("of", KINDS)
@pytest.mark.parametrize("to", KINDS)
def test_a_task_converts_between_any_memory(to: str, of: str) -> None:
    src = on(of, elements("float32", 5000, random.Random(2))).view("float32")
    dst = via.empty(5000, "float16", device=to)
    via.convert_submit(dst, src).wait()
    wanted = via.empty(5000, "float16")
    via.convert(wanted, src.copy("cpu"))
    assert content(dst) == content(wanted)


@pytest.mark.parametrize("of", KINDS)
def test_a_conversion_on_a_stream_runs_after_its_work(of: str) -> None:
    stream = via.Stream("cuda:0")
    first = on("cuda:0", elements("float32", 4000, random.Random(3))).view("float32")
    src = via.empty(4000, "float32", device=of)
    via.copy(src, first, stream)
    dst = via.empty(4000, "float64", device="cuda:0")
    via.convert(dst, src, stream=stream)
    stream.synchronize()
    wanted = via.empty(4000, "float64")
    via.convert(wanted, first.copy("cpu"))
    assert content(dst) == content(wanted)


def test_two_devices_exchange_the_narrower_type() -> None:
    if via.device_count() < 2:
        pytest.skip("there is one device")
    src = on("cuda:0", elements("float64", 6000, random.Random(4))).view("float64").reshape(60, 100)
    for target in ["float32", "complex128", "float8_e5m2"]:
        for dst in [
            via.empty((60, 100), target, device="cuda:1"),
            via.empty((100, 60), target, device="cuda:1").transpose(1, 0),
        ]:
            via.convert(dst, src)
            wanted = via.empty((60, 100), target)
            via.convert(wanted, src.copy("cpu"))
            assert content(dst.copy("cpu")) == content(wanted)
            assert "device 0 to device 1" in via.convert_explain(dst, src)


def test_a_refusal_touches_nothing_and_says_what_would_do() -> None:
    src = on("cuda:0", elements("float64", 16, random.Random(5))).view("float64")
    dst = via.full(16, 3, "int16", device="cuda:0")
    with pytest.raises(via.DTypeError, match="same_kind, which does not take float64 to int16; expected unsafe"):
        via.convert(dst, src)
    assert content(dst) == b"\3\0" * 16


@pytest.mark.parametrize(("to", "of"), PAIRS)
@pytest.mark.parametrize("seed", range(repeats(6)))
def test_scales_and_offsets_make_the_bits_of_the_host(to: str, of: str, seed: int) -> None:
    rng = random.Random(f"scale {to} {of} {seed}")
    for _ in range(4):
        shape = [rng.choice([1, 2, 3, 7, 300]) for _ in range(rng.randint(1, 3))]
        source = rng.choice([name for name in SIZES if name not in COMPLEX])
        target = rng.choice(["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
        src, src_block = side(of, source, shape, rng)
        dst, dst_block = side(to, target, shape, rng)
        dst_twin, wanted = twin(dst, dst_block)
        src_twin, _memory = twin(src, src_block)
        axis = rng.randrange(len(shape))
        count = rng.choice([1, shape[axis]])
        scale = [rng.uniform(-2, 2) for _ in range(count)]
        offset = [rng.uniform(-300, 300) for _ in range(count)]
        via.convert(dst_twin, src_twin, casting="unsafe", scale=scale, offset=offset, scale_axis=axis)
        via.convert(dst, src, casting="unsafe", scale=scale, offset=offset, scale_axis=axis)
        assert content(dst_block) == content(wanted), (shape, source, target, dst.strides, src.strides, axis, count)


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [[3, 512, 512], [2, 3, 600, 701]])
@pytest.mark.parametrize(
    ("to", "of", "source", "target"),
    [
        ("cuda:0", "cpu", "float32", "float16"),
        ("cuda:0", "cpu", "uint8", "float16"),
        ("cpu", "cuda:0", "uint8", "float32"),
        ("cpu", "cuda:0", "float32", "float16"),
        ("cuda:1", "cuda:0", "float32", "float16"),
        ("cuda:1", "cuda:0", "uint8", "float32"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_scales_stay_with_their_planes_where_a_conversion_is_cut(
    shape: list[int], to: str, of: str, source: str, target: str, packed: bool
) -> None:
    if "cuda:1" in to and via.device_count() < 2:
        pytest.skip("there is one device")
    count = math.prod(shape)
    data = elements("uint8", count * SIZES[source], random.Random(7)) if source == "uint8" else bytes(4 * count)
    src = on(of, data).view(source).reshape(*shape)
    axis = len(shape) - 3
    extents = shape if packed else [*shape[:-1], shape[-1] + 1]
    block = via.full(extents, 1, target, device=to)
    dst = block[..., : shape[-1]]
    scale, offset = [1.0, -2.0, 3.0], [0.5, 4.0, -8.0]
    via.convert(dst, src, scale=scale, offset=offset, scale_axis=axis)
    wanted = via.full(extents, 1, target)
    via.convert(wanted[..., : shape[-1]], src.copy("cpu"), scale=scale, offset=offset, scale_axis=axis)
    assert content(block) == content(wanted)


@pytest.mark.parametrize("source", ["float64", "float32", "int64"])
def test_a_nan_of_an_affine_step_has_the_bits_of_the_host(source: str) -> None:
    data = elements(source, 1000, random.Random(8))
    for dtype in ["float16", "float32", "float64"]:
        found, wanted = via.empty(1000, dtype, device="cuda:0"), via.empty(1000, dtype)
        for dst, src in [(found, on("cuda:0", data)), (wanted, on("cpu", data))]:
            via.convert(dst, src.view(source), scale=math.nan, casting="unsafe")
        assert content(found) == content(wanted)


@pytest.mark.parametrize("of", KINDS)
def test_frames_become_normalised_planes_on_a_device(of: str) -> None:
    frames = on(of, elements("uint8", 6 * 61 * 40 * 3, random.Random(6))).view("uint8").reshape(6, 61, 40, 3)
    planes = via.empty((6, 3, 61, 40), "float16", device="cuda:0")
    scale, offset = [0.017, 0.0175, 0.0174], [-2.1, -2.0, -1.8]
    via.convert_submit(planes, frames.transpose(0, 3, 1, 2), scale=scale, offset=offset, scale_axis=1).wait()
    wanted = via.empty((6, 3, 61, 40), "float16")
    via.convert(wanted, frames.copy("cpu").transpose(0, 3, 1, 2), scale=scale, offset=offset, scale_axis=1)
    assert content(planes) == content(wanted)
