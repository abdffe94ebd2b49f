"""Files and archives whose elements are converted on the way to and from a device: the same bits as on the host."""

from __future__ import annotations

import random

import pytest
import viaduct as via

# Narrower, wider, as wide; and numbers in another byte order.
PAIRS = [
    ("float64", "float32"),
    ("bfloat16", "float32"),
    ("float32", "int32"),
    ("uint8", "float16"),
    ("float16", "bfloat16"),
    ("complex128", "complex64"),
    ("complex64", "float32"),
    ("float32", "float8_e4m3fn"),
]
SHAPES = [(5,), (300_011,), (601, 977), (977, 3, 211), (3, 0, 7)]


def content(a: via.Array) -> bytes:
    host = a.copy("cpu")  # row-major
    return bytes(memoryview(host.reshape(host.size).view("uint8"))) if host.size else b""


def random_file(path, dtype, shape, seed=3):
    """A raw file, and the window of its elements: numbers that every dtype has."""
    numbers = via.empty(shape, "uint8")
    if numbers.size:
        draw = random.Random(seed).randbytes(numbers.size)
        via.copyto(numbers, via.asarray(bytearray(byte & 63 for byte in draw)).reshape(shape))
    values = numbers.astype(dtype, casting="unsafe")
    with via.open(path, "w", dtype="uint8", shape=(max(values.nbytes, 1),), format="raw") as file:
        if values.size:
            file.write(values.reshape(values.size).view("uint8"))
    return via._file.window_at(via.open(path, "r+"), 0, dtype, shape)


def layouts(shape, dtype, device):
    """New arrays of the shape: adjacent, transposed, and with gaps."""
    axes = tuple(range(len(shape)))[::-1]
    yield via.empty(shape, dtype, device=device)
    yield via.empty(shape[::-1], dtype, device=device).transpose(axes)
    yield via.empty((*shape, 2), dtype, device=device)[..., 1]


@pytest.mark.sampled
@pytest.mark.parametrize("byteorder", ["=", ">"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("source", "dtype"), PAIRS)
def test_a_device_reads_what_the_host_reads(tmp_path, source, dtype, shape, byteorder):
    window = random_file(tmp_path / "raw", source, shape)
    part = window.astype(dtype, casting="unsafe", byteorder=byteorder)
    expected = content(part.read())
    for dst in layouts(shape, dtype, "cuda:0"):
        part.read(dst)
        assert content(dst) == expected
        task = part.read_submit(dst, stream=via.Stream.legacy)
        task.wait()
        assert content(dst) == expected and task.progress() == (dst.nbytes, dst.nbytes)


@pytest.mark.sampled
@pytest.mark.parametrize("byteorder", ["=", ">"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("source", "dtype"), PAIRS)
def test_a_device_writes_what_the_host_writes(tmp_path, source, dtype, shape, byteorder):
    # The file has `dtype`, the array `source`.
    if (source, dtype) == ("complex64", "float32"):
        source, dtype = dtype, source
    random_file(tmp_path / "raw", dtype, shape)
    part = random_file(tmp_path / "raw", dtype, shape).astype(source, casting="unsafe", byteorder=byteorder)
    host = random_file(tmp_path / "other", source, shape, seed=4).read()
    part.write(host)
    expected = (tmp_path / "raw").read_bytes()
    for src in layouts(shape, source, "cuda:0"):
        via.copyto(src, host)
        (tmp_path / "raw").write_bytes(b"\1" * len(expected))
        part.write(src)
        assert (tmp_path / "raw").read_bytes() == expected or host.size == 0


def test_scales_of_a_file_go_along_its_axis(tmp_path):
    window = random_file(tmp_path / "raw", "uint8", (40, 50, 3))
    part = window[::2, :, ::-1].astype("float16", scale=[0.5, 2, 3], offset=[1, 2, 3], scale_axis=2)
    expected = content(part.read())
    found = via.empty((3, 20, 50), "float16", device="cuda:0").transpose((1, 2, 0))
    part.read(found)
    assert content(found) == expected


def test_a_swapped_npy_file_is_read_and_written(tmp_path):
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '>f8', 'fortran_order': False, 'shape': (300011,), }"
    header = header + b" " * (127 - len(header)) + b"\n"
    body = content(via.asarray(bytearray(range(250))).astype("float64")) * 1300
    (tmp_path / "big.npy").write_bytes(header + body[: 300_011 * 8])
    with via.open(tmp_path / "big.npy", "r+") as file:
        host, device = file.read(), file.read(device="cuda:0")
        assert content(host) == content(device)
        file.write(via.zeros((300_011,), "float64"))
        file.write(device)
    assert (tmp_path / "big.npy").read_bytes() == header + body[: 300_011 * 8]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_archive_is_converted_on_a_device(tmp_path, dtype):
    rng = random.Random(7)
    arrays = {}
    for number in range(40):
        shape = tuple(rng.randrange(0, 40) for _ in range(rng.randrange(3)))
        numbers = via.empty(shape, "uint8")
        via.copyto(numbers, via.zeros(shape, "uint8"))
        arrays[f"t{number}"] = numbers.astype(rng.choice(["float16", "bfloat16", "float32", "int32"]), casting="unsafe")
    wide = via.asarray(bytearray(rng.randbytes(1_400_000))).reshape((700, 2000))
    arrays |= {"big": wide.astype("float32"), "half": wide.astype("bfloat16"), "odd": wide[:, :1999].astype("float16")}
    via.save(tmp_path / "m.safetensors", arrays)
    archive = via.Archive(tmp_path / "m.safetensors")
    archive.slice("half", 1, 10, 1800)
    expected = archive.load(dtype=dtype)
    found = archive.load(device="cuda:0", dtype=dtype)
    for name, array in expected.items():
        assert found[name].dtype_name == array.dtype_name and content(found[name]) == content(array), name


def test_a_batch_on_a_device_converts_next_to_its_copies():
    source = via.asarray(bytearray(range(200))).astype("float32").copy("cuda:0")
    plain = via.asarray(bytearray(range(100))).copy("cuda:0")
    found, copied, back = (
        via.empty(n, t, device=d)
        for n, t, d in ((200, "float16", "cuda:0"), (100, "uint8", "cuda:0"), (200, "float64", "cpu"))
    )
    batch = via.Batch()
    batch.add_convert(found, source)
    batch.add(copied, plain)
    batch.add_convert(back, source)
    expected = (
        content(source.astype("float16", device="cpu")),
        content(plain),
        content(source.astype("float64", device="cpu")),
    )
    for run in (batch.run, lambda: batch.run(via.Stream.legacy), lambda: batch.submit(via.Stream.legacy).wait()):
        for array in (found, copied, back):
            via.copyto(array, via.zeros(array.shape, array.dtype_name))
        run()
        assert (content(found), content(copied), content(back)) == expected
