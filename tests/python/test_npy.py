"""Headers of .npy files, against NumPy: what it writes is mapped as it maps it, and what is made here it reads."""

import os
import random

import numpy as np
import pytest
import viaduct as via

raw = via._viaduct

SCALARS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def opened(path, **options):
    return raw.via_file_open(str(path), options or None)


def mapped(path, **options):
    return raw.via_file_array(opened(path, **options), 0, 0, None)


def random_shape(rng, most=5):
    return tuple(rng.randrange(0, 6) if rng.random() < 0.1 else rng.randrange(1, 6) for _ in range(rng.randrange(most)))


def random_fields(rng, depth=0):
    fields = []
    for number in range(rng.randrange(1, 5)):
        name = rng.choice(["", "with space ", "quote' ", "both'\" ", "back\\slash ", "ümlaut "]) + str(number)
        kind = (
            random_fields(rng, depth + 1)
            if depth < 3 and rng.random() < 0.2
            else rng.choice([*SCALARS, "S3", "U2", ">i4"])
        )
        fields.append((name, kind) if rng.random() < 0.7 else (name, kind, random_shape(rng, 3)))
    return fields


@pytest.mark.parametrize("seed", range(60))
def test_plain_types_are_mapped_as_numpy_maps_them(tmp_path, seed):
    rng = random.Random(seed)
    dtype, shape = np.dtype(rng.choice(SCALARS)), random_shape(rng)
    array = np.frombuffer(rng.randbytes(int(np.prod(shape)) * dtype.itemsize), np.uint8)
    array = (array & 1 if dtype.kind == "b" else array).view(dtype).reshape(shape)
    array = array if rng.random() < 0.5 else np.asfortranarray(array)
    path = tmp_path / "array.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version=rng.choice([(1, 0), (2, 0), (3, 0)]))
    found = mapped(path)
    theirs = np.load(path, mmap_mode="r") if array.size else np.load(path)
    assert found.shape == theirs.shape and found.dtype == theirs.dtype and found.readonly
    assert array.size == 0 or found.numpy().strides == theirs.strides
    assert found.numpy().tobytes() == theirs.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_records_are_mapped_as_so_many_bytes(tmp_path, seed):
    rng = random.Random(seed)
    dtype = np.dtype(random_fields(rng), align=rng.random() < 0.5)
    if dtype.itemsize == 0:
        dtype = np.dtype([("a", "i4")])
    array = np.frombuffer(rng.randbytes(3 * dtype.itemsize), dtype)
    path = tmp_path / "records.npy"
    np.save(path, array)
    found = mapped(path)
    assert found.shape == (3,) and found.itemsize == dtype.itemsize
    assert found.numpy().tobytes() == path.read_bytes()[-3 * dtype.itemsize :]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", SCALARS)
def test_what_is_created_numpy_reads(tmp_path, name, order):
    dtype = np.dtype(name)
    path = tmp_path / "made.npy"
    number = raw.via_dtype_from_name(dtype.name)
    file = raw.via_file_create(str(path), number, (3, 0, 2) if order else (3, 5), {"column_major": order})
    raw.via_file_array(file, 0, 0, None)
    theirs = np.load(path)
    assert theirs.shape == ((3, 0, 2) if order else (3, 5)) and theirs.dtype == dtype
    assert not theirs.any()


def test_what_is_written_through_the_array_numpy_reads(tmp_path):
    path = tmp_path / "written.npy"
    file = raw.via_file_create(str(path), raw.VIA_FLOAT64, (4, 6), {"column_major": 1})
    values = np.arange(24.0).reshape(4, 6)
    via.copy(raw.via_file_array(file, 0, 0, None), values)
    theirs = np.load(path)
    assert np.array_equal(theirs, values) and theirs.flags.f_contiguous


def test_views_of_a_mapped_array_go_wherever_an_array_goes(tmp_path):
    path = tmp_path / "views.npy"
    values = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    np.save(path, values)
    array = mapped(path, mode=raw.VIA_MODE_COPY_ON_WRITE)
    assert np.array_equal(np.from_dlpack(array[1:, ::-2, 3]), values[1:, ::-2, 3])
    assert np.array_equal(np.asarray(array.transpose()), values.T)
    assert np.array_equal(array.reshape(-1).copy().numpy(), values.reshape(-1))
    assert memoryview(array).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([1, "two", None], dtype=object), "pickled"),
        (np.array(["one", "two"]), "text"),
        (np.array([b"one"]), "text"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "times"),
        (np.array([1.0], dtype=np.longdouble), "longdouble"),
    ],
)
def test_types_that_have_no_element_are_refused_by_name(tmp_path, values, words):
    path = tmp_path / "refused.npy"
    np.save(path, values)
    with pytest.raises(via.DTypeError, match=words):
        opened(path)
    assert raw.via_file_info(opened(path, file_format=raw.VIA_FORMAT_RAW))["nbytes"] == path.stat().st_size


@pytest.mark.parametrize("seed", range(200))
def test_where_the_header_is_damaged_we_read_no_more_than_numpy(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "damaged.npy"
    np.save(path, np.arange(24, dtype="<i4").reshape(4, 6))
    damaged = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 3)):
        damaged[rng.randrange(6, 128)] = rng.randrange(32, 127) if rng.random() < 0.8 else rng.randrange(256)
    path.write_bytes(damaged)
    try:
        found = mapped(path)
    except via.Error:
        return
    theirs = np.load(path)
    assert found.shape == theirs.shape and found.numpy().tobytes() == theirs.tobytes()


def put_header(path, text, nbytes):
    text = text.encode()
    path.write_bytes(b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + bytes(nbytes))


def record_of(path, descr):
    """The size of a record, or None if it is refused."""
    put_header(path, f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}", 2000)
    try:
        return mapped(path).itemsize
    except via.Error as error:
        assert isinstance(error, (via.DTypeError, via.FormatError)), error
        return None


UNITS = ["", "[s]", "[ns]", "[25us]", "[0s]", "[generic]", "[foo]", "[]", "[s"]


@pytest.mark.heavy
def test_fields_are_taken_if_numpy_writes_them_and_never_if_it_does_not_read_them(tmp_path):
    path = tmp_path / "field.npy"
    sizes = ["", "0", "1", "2", "3", "4", "8", "08", "12", "16", "24", "32", "64", "-4"]
    for typestr in [f"{order}{kind}{size}" for order in "<>|=" for kind in "?biufcSUVMmOqx" for size in sizes] + [
        f"<{kind}8{unit}" for kind in "Mmf" for unit in UNITS
    ]:
        found = record_of(path, [("first", "|u1"), ("second", typestr)])
        try:
            theirs = np.dtype(typestr)
        except (TypeError, ValueError):
            assert found is None, typestr
            continue
        assert found in (None, 1 + theirs.itemsize), typestr
        assert found is not None or theirs.hasobject or theirs.str != typestr or "V0" in typestr, typestr


@pytest.mark.parametrize("seed", range(60))
def test_names_of_fields_are_taken_as_numpy_takes_them(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "names.npy"
    names = ["a", "b", "", "it's", "both'\"", "\t", "\\", "ümlaut", "\u200b", "\x7f"]
    for _ in range(20):
        descr = []
        for _ in range(rng.randrange(1, 5)):
            name = rng.choice(names)
            descr.append(((rng.choice(names), name) if rng.random() < 0.3 else name, rng.choice(["<f4", "|V2", "|u1"])))
        try:
            theirs = np.lib.format.descr_to_dtype(descr).itemsize
        except ValueError:
            theirs = None
        assert record_of(path, descr) == theirs, descr


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2", ">i8", ">u4", ">i2", ">c8", ">c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_in_another_byte_order_are_swapped_by_reads_and_writes(tmp_path, dtype, order):
    path = tmp_path / "big.npy"
    values = np.asarray(np.arange(60).reshape(3, 4, 5) * 1.5, dtype=dtype, order=order)
    np.save(path, values)
    native = values.astype(values.dtype.newbyteorder("="))
    with via.open(path, "r+") as file:
        assert file.dtype == native.dtype
        assert np.array_equal(np.asarray(file.read()), native)
        strided = np.zeros((3, 4, 10), native.dtype)[:, :, ::2]
        file.read_submit(strided).wait()
        assert np.array_equal(strided, native)
        file.write(native + 1)
        assert np.array_equal(np.load(path), native + 1)
        file.write_submit(native + 2).wait()
    assert np.load(path).dtype == np.dtype(dtype)
    assert np.array_equal(np.load(path), native + 2)
    assert np.array_equal(np.asarray(via.load(path)), native + 2)


def test_the_bytes_of_another_byte_order_are_not_given_away_as_numbers(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, np.arange(10, dtype=">f4"))
    with via.open(path) as file:
        with pytest.raises(via.DTypeError, match="another byte order; expected File.read"):
            file.array()
        with pytest.raises(via.DTypeError, match="another byte order; expected File.read"):
            file[2:5].array()
        with pytest.raises(via.DTypeError, match="another byte order; expected a read"):
            raw.via_file_array(file[2:5], 0, 0, ())
        with pytest.raises(via.DTypeError, match="dtype is int32 for a part of float32 in another byte order"):
            raw.via_file_window(file, 0, raw.VIA_INT32, (10,), None, None, None)
        with pytest.raises(via.DTypeError, match="float32"):
            file.read(np.zeros(10, np.float64))
        assert bytes(memoryview(file.array(dtype="uint8", shape=(40,)))) == np.arange(10, dtype=">f4").tobytes()
    with pytest.raises(via.DTypeError, match="another byte order; expected a read"):
        raw.via_file_array(opened(path), 0, 0, ())
    assert raw.via_file_info(opened(path))["byte_order"] == raw.VIA_BYTE_ORDER_BIG


@pytest.mark.parametrize("dtype", [">f8", ">f2", ">c8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_of_numbers_in_another_byte_order_are_swapped(tmp_path, dtype, order):
    path = tmp_path / "big.npy"
    values = np.arange(60 * 70 * 5).reshape(60, 70, 5).astype(dtype, order=order)
    native = values.astype(values.dtype.newbyteorder("="))
    np.save(path, values)
    with via.open(path, "r+") as file:
        assert np.array_equal(np.asarray(file[3:50:7, ::-1, 2].read()), native[3:50:7, ::-1, 2])
        assert np.array_equal(np.asarray(file[5].read()), native[5])
        file[4:8, 10:20].write(native[:4, :10])
        if order == "C":
            blocks = [np.asarray(block.array).copy() for block in via.stream_blocks(file, 7)]
            native[4:8, 10:20] = native[:4, :10]
            assert np.array_equal(np.concatenate(blocks), native)
    native[4:8, 10:20] = native[:4, :10]
    assert np.load(path).dtype == np.dtype(dtype) and np.array_equal(np.load(path), native)


@pytest.mark.parametrize("offset", [0, 1, 2, 7])
def test_numbers_at_any_address_and_in_any_layout_are_swapped(tmp_path, offset):
    path = tmp_path / "big.npy"
    values = np.arange(700_001, dtype=">f8")
    np.save(path, values)
    memory = np.zeros(values.nbytes + 8, np.uint8)
    found = memory[offset : offset + values.nbytes].view("f8")
    apart = np.zeros((700_001, 2), "f8")[:, 1]
    with via.open(path, "r+") as file:
        file.read(found)
        assert np.array_equal(found, values)
        file.read(apart)
        assert np.array_equal(apart, values)
        found += 1
        file.write(found)
        assert np.array_equal(np.load(path), values + 1) and np.array_equal(found, values + 1)
        file.write_submit(apart).wait()
    assert np.array_equal(np.load(path), values)


def test_a_truncated_file_in_another_byte_order_is_an_error_not_a_signal(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, np.arange(300_000, dtype=">f8"))
    with via.open(path) as file:
        os.truncate(path, 1_000_000)
        found = np.zeros(300_000)
        for read in (file.read, lambda: file.read(astype="float32"), lambda: file.read_submit(found).wait()):
            with pytest.raises(via.FileError, match="1000000 bytes"):
                read()


def test_a_file_to_be_read_refuses_a_write_before_it_swaps_a_byte(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, np.arange(10, dtype=">f8"))
    with via.open(path) as file:
        for write in (file.write, file.write_submit):
            with pytest.raises(via.ReadOnlyError, match="mode"):
                write(np.zeros(10))
