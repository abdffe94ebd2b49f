"""Files and archives whose elements are converted on the way, against NumPy."""

import os

import numpy as np
import pytest
import viaduct as via

RULES = ["equiv", "safe", "same_kind", "unsafe"]
# More than the bytes of a part that is read at a time, and of a chunk; neither divides them.
LARGE = [(700_001,), (1201, 977), (3, 250_007), (250_007, 3), (61, 7, 11, 13, 17)]


def save(path, values):
    np.save(path, values)
    return path


def read(file, astype, **options):
    return np.asarray(file.read(astype=astype, **options))


@pytest.mark.parametrize("source", ["<f8", ">f8", "<f4", "<i2", "<u1"])
def test_a_file_is_converted_while_it_is_read(tmp_path, source):
    values = np.arange(3000, dtype=source).reshape(30, 100)
    path = save(tmp_path / "numbers.npy", values)
    assert np.array_equal(np.asarray(via.load(path, dtype="float32")), values.astype("f4"))
    with via.open(path) as file:
        assert np.array_equal(read(file, "float16"), values.astype("f2"))
        with pytest.raises(via.DTypeError, match="same_kind"):
            file.read(astype="bool")
        assert read(file, "bool", casting="unsafe").sum() == np.count_nonzero(values)
        found = np.zeros((100, 30), "f4").T
        file.read(found, astype="float32")
        assert np.array_equal(found, values.astype("f4"))
        with pytest.raises(via.DTypeError, match="dtype of the array is float64; expected float32"):
            file.read(np.zeros((30, 100)), astype="float32")
        assert np.array_equal(read(file[3:7, ::2], "float32"), values[3:7, ::2].astype("f4"))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("source", "dtype"), [("<f8", "f4"), (">f8", "f4"), ("<i2", "f8"), ("<c16", "c8"), (">u4", "f4")]
)
def test_large_files_are_converted_in_any_order(tmp_path, shape, order, source, dtype):
    values = np.random.default_rng(5).integers(0, 30_000, shape).astype(source, order=order)
    path = save(tmp_path / "numbers.npy", values)
    expected = values.astype(dtype)
    with via.open(path) as file:
        for found in (np.empty(shape, dtype), np.empty(shape, dtype, "F"), np.empty((*shape, 2), dtype)[..., 1]):
            file.read(found, astype=dtype)
            assert np.array_equal(found, expected)
    (tmp_path / "raw").write_bytes(b"..." + values.tobytes(order))
    with via.open(tmp_path / "raw", order=order) as raw:
        words = "<" if source[0] == "<" else ">"
        window = via._file.window_at(raw, 3, values.dtype.newbyteorder("="), shape)
        assert np.array_equal(np.asarray(window.astype(dtype, byteorder=words).read()), expected)


@pytest.mark.parametrize("seed", range(40))
def test_random_windows_are_read_and_written_as_numpy_would(tmp_path, seed):
    draw = np.random.default_rng(seed)
    shape = tuple(int(n) for n in draw.integers(1, 40, draw.integers(1, 5)))
    source, dtype = (
        draw.choice(["<f8", ">f8", "<f4", ">i4", "<i2", "<u1", ">c8"]),
        draw.choice(["f4", "f8", "f2", "i4"]),
    )
    values = draw.integers(0, 100, shape).astype(source, order=draw.choice(["C", "F"]))
    path = save(tmp_path / "numbers.npy", values)
    picks = tuple(
        slice(int(a), None, int(s))
        for a, s in zip(draw.integers(0, 2, len(shape)), draw.choice([1, 2, 3, -1], len(shape)))
    )
    with via.open(path, "r+") as file:
        part = file[picks].astype(dtype, casting="unsafe")
        expected = values[picks].real.astype(dtype)
        assert part.shape == expected.shape and part.dtype == np.dtype(dtype)
        assert np.array_equal(np.asarray(part.read()), expected)
        written = draw.integers(0, 100, part.shape).astype(dtype)
        part.write(np.asfortranarray(written) if seed % 2 else written)
    values = values.copy()
    values[picks] = written
    assert np.array_equal(np.load(path), values) and np.load(path).dtype == np.dtype(source)


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", "<i2"])
def test_large_arrays_are_converted_while_they_are_written(tmp_path, dtype):
    values = np.random.default_rng(1).integers(0, 2000, (1201, 977)).astype("f8")
    path = save(tmp_path / "numbers.npy", np.zeros(values.shape, dtype))
    for given in (values, np.asfortranarray(values), np.repeat(values, 2, 1)[:, ::2]):
        with via.open(path, "r+") as file:
            file.astype("f8", casting="unsafe").write(given)
        assert np.array_equal(np.load(path), values)
        save(path, np.zeros(values.shape, dtype))
    with via.open(path, "r+", atomic=True) as file:
        file.astype("f8", casting="unsafe").write(values)
    assert np.array_equal(np.load(path), values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_scales_and_offsets_go_along_an_axis_of_the_file(tmp_path, order):
    values = np.random.default_rng(2).integers(0, 255, (9, 40, 3), "u1").copy(order)
    path = save(tmp_path / "frames.npy", values)
    scale, offset = np.float32([0.5, 0.25, 2]), np.float32([1, -3, 7])
    expected = values.astype("f4") * scale + offset
    with via.open(path) as file:
        for axis in (2, -1):
            part = file.astype("f4", scale=scale, offset=offset, scale_axis=axis)
            assert np.array_equal(np.asarray(part.read()), expected)
        assert np.array_equal(np.asarray(file.astype("f4", scale=2).read()), values.astype("f4") * 2)
        backwards = file[::2, 3, ::-1].astype("f4", scale=scale, offset=offset, scale_axis=1)
        assert np.array_equal(np.asarray(backwards.read()), values[::2, 3, ::-1].astype("f4") * scale + offset)
        with pytest.raises(via.ShapeError, match="scale_count is 3; expected 1, or 40 along axis 1"):
            file.astype("f4", scale=scale, scale_axis=1)
        with pytest.raises(via.DTypeError, match="File.astype: scale_axis is of type float; expected an integer"):
            file.astype("f4", scale=scale, scale_axis=1.0)
        with pytest.raises(via.OutOfRangeError, match="scale_axis is 3"):
            file.astype("f4", scale=scale, scale_axis=3)
        with pytest.raises(TypeError, match="scale is 'a'; expected a number"):
            file.astype("f4", scale="a")
        with pytest.raises(via.ShapeError, match="different lengths"):
            file.astype("f4", scale=scale, offset=[1, 2])
        with pytest.raises(via.ShapeError, match="no numbers"):
            file.astype("f4", scale=[])


@pytest.mark.parametrize("dtype", ["<f4", ">f4"])
def test_numbers_of_one_dtype_are_scaled_in_both_directions(tmp_path, dtype):
    path = save(tmp_path / "numbers.npy", np.arange(12, dtype=dtype).reshape(3, 4))
    with via.open(path, "r+") as file:
        part = file.astype("f4", scale=2, offset=1)
        assert np.array_equal(np.asarray(part.read()), np.arange(12).reshape(3, 4) * 2 + 1)
        part.write(np.full((3, 4), 5, "f4"))
    assert np.array_equal(np.load(path), np.full((3, 4), 11)) and np.load(path).dtype == np.dtype(dtype)


def test_parts_of_a_file_whose_numbers_are_swapped_alone_are_read_and_written(tmp_path):
    path = tmp_path / "raw"
    values = np.arange(20, dtype=">i4").reshape(4, 5)
    path.write_bytes(values.tobytes())
    with via.open(path, "r+", dtype="i4", shape=(4, 5)) as file:
        part = file.astype("i4", byteorder=">")[1:3, ::2]
        assert np.array_equal(np.asarray(part.read()), values[1:3, ::2])
        part.write(np.full((2, 3), -7, "i4"))
    with via.open(path, dtype="f4") as file, pytest.raises(via.UnsupportedError, match="for a window"):
        file.astype("f4", byteorder=">", scale=2)[0]
    values[1:3, ::2] = -7
    assert path.read_bytes() == values.tobytes()


def test_a_file_that_converts_says_so(tmp_path):
    path = save(tmp_path / "numbers.npy", np.arange(6, dtype=">f8").reshape(2, 3))
    with via.open(path) as file:
        other = file.astype("float32")
        assert other.shape == (2, 3) and other.dtype == np.float32 and "float32" in repr(other)
        assert np.array_equal(np.asarray(other.read()), np.load(path))
        assert np.array_equal(np.asarray(other.astype("float16").read()), np.load(path))
        with pytest.raises(via.UnsupportedError, match="converts float64 to float32; expected one that does not"):
            other.array()
        with pytest.raises(via.UnsupportedError, match="for a window"):
            other[0]
        with pytest.raises(via.DTypeError, match="float64; expected float32"):
            other.read(np.zeros((2, 3)))
        assert np.array_equal(np.asarray(file.astype("float32", byteorder=">").read()), np.load(path))
        with pytest.raises(via.InvalidArgumentError, match="casting is 'no'"):
            file.astype("float32", casting="no")
    native = save(tmp_path / "native.npy", np.arange(6.0))
    with via.open(native) as file, pytest.raises(via.InvalidArgumentError, match="byte_order is .* for a .npy file"):
        file.astype("float32", byteorder=">")
    with via.open(path, as_bytes=True) as file, pytest.raises(via.UnsupportedError, match="as_bytes"):
        file.astype("float32")
    for word in RULES:
        with via.open(path) as file:
            if word in ("equiv", "safe"):
                with pytest.raises(via.DTypeError, match=f"casting is {word}, which does not take float64 to float32"):
                    file.astype("float32", casting=word)
            else:
                file.astype("float32", casting=word)


def test_a_rule_counts_in_the_direction_of_the_transfer(tmp_path):
    path = save(tmp_path / "numbers.npy", np.arange(5))
    with via.open(path) as file:
        assert np.array_equal(np.asarray(file.astype("f4").read()), np.arange(5))
    with via.open(path, "r+") as file:
        part = file.astype("f4")
        with pytest.raises(via.DTypeError, match="float32 .* int64"):
            part.write(np.ones(5, "f4"))
        assert np.array_equal(np.load(path), np.arange(5))
        with pytest.raises(via.DTypeError, match="same_kind"):
            file.astype("c8", casting="safe")
    with via.open(save(path, np.zeros(5, "f4")), "r+") as file:
        file.astype("i8").write(np.arange(5))
        with pytest.raises(via.DTypeError, match="float32 .* int64"):
            file.astype("i8").read()
    assert np.array_equal(np.load(path), np.arange(5))


def test_files_without_elements_are_converted(tmp_path):
    path = save(tmp_path / "none.npy", np.zeros((3, 0, 2), ">f8"))
    with via.open(path, "r+") as file:
        assert file.read(astype="float32").shape == (3, 0, 2)
        file.astype("float32").write(np.zeros((3, 0, 2), "f4"))
    path = save(tmp_path / "one.npy", np.array(7.5, ">f8"))
    with via.open(path) as file:
        assert np.asarray(file.read(astype="float32")) == 7.5


def test_a_truncated_file_is_an_error_where_it_is_converted(tmp_path):
    path = save(tmp_path / "numbers.npy", np.arange(300_000.0))
    with via.open(path) as file:
        part = file.astype("float32")
        os.truncate(path, 1_000_000)
        found = np.zeros(300_000, "f4")
        for run in (part.read, lambda: part.read(found), lambda: part.read_submit(found).wait()):
            with pytest.raises(via.FileError, match="1000000 bytes"):
                run()


def test_progress_counts_the_bytes_of_the_array(tmp_path):
    path = save(tmp_path / "numbers.npy", np.arange(700_001.0))
    found = np.zeros(700_001, "f4")
    with via.open(path) as file:
        task = file.astype("f4").read_submit(found)
        task.wait()
        assert task.progress() == (found.nbytes, found.nbytes) and np.array_equal(found, np.load(path))


# ---------------------------------------------------------------------------------------------------- archives


def random_arrays(seed):
    draw = np.random.default_rng(seed)
    arrays = {f"t{i}": draw.random(tuple(draw.integers(0, 7, draw.integers(0, 4)))).astype("f4") for i in range(30)}
    return arrays | {
        "transposed": np.asfortranarray(draw.random((30, 20))),
        "n": np.arange(9),
        "same": np.ones(3, "f2"),
        "big": draw.random((700, 1001)).astype("f4"),
        "other": draw.random((50, 60)).astype(">f8"),
        "other_n": np.arange(100, dtype=">i4"),
    }


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_tensors_of_floats_are_converted_while_an_archive_is_loaded(tmp_path, dtype):
    arrays = random_arrays(3)
    np.savez(tmp_path / "a.npz", **arrays)
    archive = via.Archive(tmp_path / "a.npz")
    archive.slice("transposed", 1, 3, 11)
    archive.slice("big", 1, 3, 900)
    arrays["transposed"], arrays["big"] = arrays["transposed"][:, 3:14], arrays["big"][:, 3:903]
    found = archive.load(dtype=dtype)
    assert list(found) == list(archive)
    for name, value in arrays.items():
        expected = value.astype(dtype) if value.dtype.kind == "f" else value.astype(value.dtype.newbyteorder("="))
        assert found[name].dtype == expected.dtype and np.array_equal(np.asarray(found[name]), expected)
    assert [array.dtype for array in archive.load(["t0", "n"]).values()] == [np.float32, np.int64]


def test_an_archive_of_numbers_in_another_byte_order_is_swapped(tmp_path):
    arrays = {"a": np.arange(100_000, dtype=">f8"), "c": np.arange(5, dtype=">c8"), "n": np.arange(3, dtype=">i2")}
    np.savez(tmp_path / "big.npz", **arrays)
    archive = via.Archive(tmp_path / "big.npz")
    for name, array in archive.load().items():
        assert array.dtype == arrays[name].dtype.newbyteorder("=")
        assert np.array_equal(np.asarray(array), arrays[name])
        assert np.array_equal(np.asarray(archive[name].read()), arrays[name])
        assert np.array_equal(np.asarray(archive[name].read(astype="c16")), arrays[name])
    with pytest.raises(via.UnsupportedError, match="converts"):
        archive["a"].array()


def test_one_tensor_is_read_as_another_dtype(tmp_path):
    weights = np.arange(600, dtype="f4").reshape(20, 30)
    via.save(tmp_path / "m.safetensors", {"w": weights, "n": np.arange(5), "b": np.ones(3, "f4")})
    archive = via.Archive(tmp_path / "m.safetensors")
    archive.astype("w", "float16")
    archive.astype("n", "float32")
    assert archive["w"].dtype == np.float16 and archive["w"].shape == (20, 30)
    assert np.array_equal(np.asarray(archive["w"].read()), weights.astype("f2"))
    found = archive.load()
    assert [found[name].dtype_name for name in ("w", "n", "b")] == ["float16", "float32", "float32"]
    assert np.array_equal(np.asarray(found["w"]), weights) and np.array_equal(np.asarray(found["n"]), np.arange(5))
    archive.slice("w", 0, 3, 4)
    assert np.array_equal(np.asarray(archive.load(["w"])["w"]), weights[3:7])
    archive.astype("w", "float32")
    assert archive.load(["w"])["w"].dtype == np.float32
    with pytest.raises(via.DTypeError, match=r"tensor 'w': .*float32 .* int8"):
        archive.astype("w", "int8")
    archive.astype("w", "int8", casting="unsafe")
    assert np.array_equal(np.asarray(archive.load(["w"])["w"]), np.clip(weights[3:7], -128, 127))
    with pytest.raises(via.UnsupportedError, match="narrower than a byte"):
        archive.astype("w", "int4", casting="unsafe")
    with pytest.raises(via.OutOfRangeError):
        archive.astype("no", "float16")
    with pytest.raises(via.OutOfRangeError):
        archive.load(["no"], dtype="float16")


def test_an_archive_that_no_dtype_changes_is_one_allocation(tmp_path):
    path = tmp_path / "model.safetensors"
    via.save(path, {"a": np.ones(3, "f4"), "b": np.ones(5, "f4"), "n": np.arange(2)})
    for dtype, apart in (("float32", 128), ("float16", 128)):
        found = via.load(path, dtype=dtype)
        addresses = [np.asarray(found[name]).ctypes.data for name in ("n", "a", "b")]
        assert max(addresses) - min(addresses) == apart


@pytest.mark.parametrize("change", ["cut", "written"])
def test_an_archive_that_changes_is_an_error_where_it_is_converted(tmp_path, change):
    path = tmp_path / "model.safetensors"
    via.save(path, {"a": np.ones(100_000, "f4")})
    archive = via.Archive(path)
    if change == "cut":
        os.truncate(path, 1000)
    else:
        path.write_bytes(path.read_bytes())
        os.utime(path, (1, 1))
    with pytest.raises(via.FileError, match="ESTALE"):
        archive.load(dtype="float16")


@pytest.mark.parametrize("first", range(9))
def test_a_buffer_at_any_address_takes_converted_tensors(tmp_path, first):
    values = np.arange(900_000.0)
    via.save(tmp_path / "m.safetensors", {"a": values})
    archive = via.Archive(tmp_path / "m.safetensors")
    archive.astype("a", "float32")
    raw = via.raw
    memory = np.zeros(archive.nbytes + 16, "u1")
    buffer = via.asarray(memory[first : first + archive.nbytes])
    raw.via_archive_read(archive._handle, buffer, None)
    found = memory[first : first + archive.nbytes].view("f4")
    assert np.array_equal(found, values.astype("f4"))


# ------------------------------------------------------------------------------------------------------ batches


def test_a_batch_converts_next_to_its_copies():
    batch = via.Batch()
    source, same = np.arange(1000.0), np.arange(10)
    found, copied, frames = np.zeros(1000, "f4"), np.zeros(10, np.int64), np.zeros((4, 3), "f4")
    batch.add_convert(found, source)
    batch.add(copied, same)
    batch.add_convert(frames, np.full((4, 3), 9, "u1"), scale=[1, 2, 3], offset=1, scale_axis=1)
    batch.add_convert(np.zeros(10, np.int64), same)
    assert len(batch) == 4 and [pair[0].shape for pair in batch] == [(1000,), (10,), (4, 3), (10,)]
    for run in (batch.run, lambda: batch.submit().wait()):
        found[:], copied[:], frames[:] = 0, 0, 0
        run()
        assert np.array_equal(found, source) and np.array_equal(copied, same)
        assert np.array_equal(frames, np.full((4, 3), 9) * [1, 2, 3] + 1)
        source += 1
    with pytest.raises(via.DTypeError, match="same_kind"):
        batch.add_convert(np.zeros(10, "i4"), np.zeros(10))
    with pytest.raises(via.ShapeError):
        batch.add_convert(np.zeros(10, "f4"), np.zeros(11))
    assert len(batch) == 4
    lone = via.Batch()
    lone.add_convert(found, source)
    lone.run()
    assert np.array_equal(found, source.astype("f4"))
