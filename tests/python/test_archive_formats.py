"""Archives of other formats than safetensors: .npz as NumPy writes it, GGUF, and files cut short."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf_files as gguf
import numpy as np
import pytest
import viaduct as via

NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def numpy_arrays() -> dict[str, Any]:
    """Arrays of every layout and dtype that NumPy writes."""
    draw = np.random.default_rng(2)
    found: dict[str, Any] = {f"{name}": draw.integers(0, 2, (3, 5)).astype(name) for name in ("bool", "int8", "uint64")}
    found["transposed"] = np.asfortranarray(draw.random((70, 90)))
    found["deep"] = np.asfortranarray(draw.random((3, 1, 4, 5)).astype(np.float16))
    found["large"] = draw.random((700, 300))
    found |= {
        "none": np.zeros((3, 0)),
        "one": np.array(3.5),
        "n\u00e4me/x": np.arange(3),
        "complex": np.ones(3, complex),
    }
    return found | {f"t{i}": draw.random(int(draw.integers(1, 40))) for i in range(50)}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        array = found[name].copy("cpu").numpy()
        assert array.dtype == value.dtype and array.shape == value.shape
        assert np.array_equal(array, value)


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def npz_bytes(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zip_of(entries: dict[str, bytes], **options: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **options) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return stream.getvalue()


def npy_bytes(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@pytest.mark.parametrize("page_cache", ["use", "avoid"])
def test_what_numpy_saves_is_loaded(tmp_path: Path, device: str, page_cache: Any) -> None:
    if device != "cpu" and via.device_count() == 0:
        pytest.skip("no CUDA device")
    arrays = numpy_arrays()
    np.savez(tmp_path / "a.npz", **arrays)
    assert_same(via.load(tmp_path / "a.npz", device, page_cache=page_cache), arrays)
    archive = via.Archive(tmp_path / "a.npz")
    assert archive.type_name("transposed") == "float64" and archive.metadata == {}
    for name in ("transposed", "deep", "one", "none", "large", "complex"):
        window = archive[name]
        assert window.shape == arrays[name].shape
        assert np.array_equal(window.read().numpy(), arrays[name])
    assert np.array_equal(archive["transposed"][3:50:7, 2].read().numpy(), arrays["transposed"][3:50:7, 2])


def test_an_array_keeps_the_order_that_its_file_has(tmp_path: Path) -> None:
    arrays = numpy_arrays()
    np.savez(tmp_path / "a.npz", **arrays)
    found = via.load(tmp_path / "a.npz")
    assert found["transposed"].numpy().flags.f_contiguous and found["deep"].numpy().flags.f_contiguous
    assert found["large"].numpy().flags.c_contiguous


def test_entries_in_another_byte_order_have_windows(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    arrays = {
        "rows": draw.integers(-99, 99, (30, 40)).astype(">i2"),
        "columns": np.asfortranarray(draw.random((30, 40)).astype(">f8")),
        "complex": (draw.random((30, 40)) + 1j).astype(">c16"),
    }
    np.savez(tmp_path / "a.npz", **arrays)
    archive = via.Archive(tmp_path / "a.npz")
    for name, array in arrays.items():
        window = archive[name][3:27:2, ::-3]
        assert window.dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(window.read().numpy(), array[3:27:2, ::-3])
        assert np.array_equal(window[:, 4].read().numpy(), array[3:27:2, ::-3][:, 4])
        blocks = [np.array(block.array) for block in via.stream_blocks(archive[name], 7)]
        assert np.array_equal(np.concatenate(blocks), array)
    halves = archive["columns"][2:5].astype("float16")
    assert np.array_equal(halves.read().numpy(), arrays["columns"][2:5].astype("f2"))
    with pytest.raises(via.UnsupportedError, match="converts int16 to int16 of this machine's byte order; .*a mapping"):
        archive["rows"][1:].array()


def test_parts_of_npz_arrays_of_either_order_are_read_alone(tmp_path: Path) -> None:
    arrays = numpy_arrays()
    np.savez(tmp_path / "a.npz", **arrays)
    archive = via.Archive(tmp_path / "a.npz")
    for name in ("transposed", "large"):
        archive.slice(name, 0, 10, 40)
        archive.slice(name, -1, 5, 30)
        arrays[name] = arrays[name][10:50, 5:35]
    archive.slice("deep", 2, 1, 2)
    arrays["deep"] = arrays["deep"][:, :, 1:3]
    assert_same(archive.load(), arrays)
    assert np.array_equal(archive["transposed"].read().numpy(), arrays["transposed"])
    assert archive.nbytes < 200_000


def test_the_content_says_the_format_not_the_name(tmp_path: Path) -> None:
    arrays = {"a": NUMBERS}
    assert_same(via.load(put(tmp_path / "a.safetensors", npz_bytes(**arrays))), arrays)
    assert_same(via.load(put(tmp_path / "a.npz", gguf.of_arrays(arrays))), arrays)
    via.save(tmp_path / "b.safetensors", arrays)
    assert_same(via.load((tmp_path / "b.safetensors").rename(tmp_path / "b.gguf")), arrays)
    several = [put(tmp_path / "1", npz_bytes(x=NUMBERS)), tmp_path / "a.npz", tmp_path / "b.gguf"]
    with pytest.raises(via.FormatError, match="tensor 'a' is in"):
        via.load(several)
    assert_same(via.load(several[:2]), {"x": NUMBERS, "a": NUMBERS})


def test_a_safetensors_header_whose_length_looks_like_a_zip_is_one(tmp_path: Path) -> None:
    length = int.from_bytes(b"PK\x03\x04", "little")
    path = put(tmp_path / "a", length.to_bytes(8, "little") + b"{}".ljust(length))
    assert via.load(path) == {}


def test_npz_files_of_other_writers_are_read(tmp_path: Path) -> None:
    assert via.load(put(tmp_path / "none.npz", npz_bytes())) == {}
    entries = {"a.npy": npy_bytes(NUMBERS)}
    stream = io.BytesIO(zip_of(entries))
    with zipfile.ZipFile(stream, "a") as file:
        file.comment = b"a comment with PK\x05\x06 in it"
    assert_same(via.load(put(tmp_path / "comment.npz", stream.getvalue())), {"a": NUMBERS})

    class Unseekable(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, more: Any) -> int:
            self.content += bytes(more)
            return len(more)

    streamed = Unseekable()
    with zipfile.ZipFile(streamed, "w") as file:  # type: ignore[call-overload]
        file.writestr("a.npy", entries["a.npy"])
    assert_same(via.load(put(tmp_path / "streamed.npz", streamed.content)), {"a": NUMBERS})


def test_zip64_records_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    content = npz_bytes(a=NUMBERS, b=NUMBERS[0])
    assert b"PK\x06\x06" in content
    assert_same(via.load(put(tmp_path / "a.npz", content)), {"a": NUMBERS, "b": NUMBERS[0]})


def test_as_many_entries_as_sixteen_bits_count_need_no_zip64(tmp_path: Path) -> None:
    one = npz_bytes(**{"00000": NUMBERS[0, 0]})
    directory = one.index(b"PK\x01\x02")
    local, central, count = one[:directory], one[directory:-22], 65_535
    names = [b"%05d.npy" % number for number in range(count)]
    parts = [local.replace(b"00000.npy", name) for name in names]
    for number, name in enumerate(names):
        entry = central.replace(b"00000.npy", name)
        parts += [entry[:42], struct.pack("<I", number * len(local)), entry[46:]]
    sizes = (count * len(central), count * len(local))
    path = put(
        tmp_path / "a.npz", b"".join(parts) + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, *sizes, 0)
    )
    archive = via.Archive(path)
    assert len(archive) == count
    assert np.array_equal(archive["65534"].read().numpy(), NUMBERS[0, 0])


def changed(content: bytes, found: bytes, instead: bytes, *, last: bool = False) -> bytes:
    at = content.rindex(found) if last else content.index(found)
    return content[:at] + instead + content[at + len(found) :]


def at_central(content: bytes, offset: int, form: str, value: int, number: int = -1) -> bytes:
    """The file with a number of the directory replaced, of the last entry unless said."""
    places = [at for at in range(len(content)) if content.startswith(b"PK\x01\x02", at)]
    at = places[number] + offset
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


def in_both(content: bytes, offset: int, value: int) -> bytes:
    """The file of one entry with a number of its header replaced, which the directory has two bytes farther on."""
    return at_central(content[:offset] + struct.pack("<H", value) + content[offset + 2 :], offset + 2, "<H", value)


def duplicate() -> bytes:
    return npz_bytes(a=NUMBERS, b=NUMBERS).replace(b"b.npy", b"a.npy")


def overlap() -> bytes:
    return at_central(duplicate().replace(b"a.npy", b"b.npy", 2), 42, "<I", 0)


WRONG_NPZ: dict[str, tuple[Callable[[], bytes], type[Exception], str]] = {
    "deflated": (
        lambda: zip_of({"a.npy": npy_bytes(NUMBERS)}, compression=zipfile.ZIP_DEFLATED),
        via.UnsupportedError,
        "tensor 'a': the entry is compressed, deflated by method 8",
    ),
    "bzip2": (
        lambda: in_both(npz_bytes(a=NUMBERS), 8, zipfile.ZIP_BZIP2),
        via.UnsupportedError,
        "tensor 'a': the entry is compressed, by method 12",
    ),
    "encrypted": (
        lambda: in_both(npz_bytes(a=NUMBERS), 6, 1),
        via.UnsupportedError,
        "tensor 'a': the entry is encrypted",
    ),
    "no array": (lambda: zip_of({"a.txt": b"text"}), via.FormatError, "entry 'a.txt' is no array"),
    "a folder": (lambda: zip_of({"a/": b""}), via.FormatError, "entry 'a/' is no array"),
    "no header": (lambda: zip_of({"a.npy": b"1234"}), via.FormatError, "tensor 'a': the file begins with other"),
    "too little": (
        lambda: zip_of({"a.npy": npy_bytes(NUMBERS)[:-1]}),
        via.FormatError,
        "tensor 'a': the data span 95 bytes; expected 96",
    ),
    "too much": (
        lambda: zip_of({"a.npy": npy_bytes(NUMBERS) + b"1"}),
        via.FormatError,
        "tensor 'a': the data span 97 bytes; expected 96",
    ),
    "a name twice": (duplicate, via.FormatError, "tensor 'a' occurs twice"),
    "other bytes before": (lambda: npz_bytes(a=NUMBERS)[:4] + npz_bytes(a=NUMBERS), via.FormatError, "ZIP directory"),
    "an overlap": (
        lambda: at_central(npz_bytes(a=NUMBERS, b=NUMBERS).replace(b"b.npy", b"a.npy"), 42, "<I", 0),
        via.FormatError,
        "tensor 'a.npy'.*overlap",
    ),
    "other names": (
        lambda: changed(npz_bytes(a=NUMBERS), b"a.npy", b"b.npy", last=True),
        via.FormatError,
        "entry 'b.npy': the header at byte 0 differs",
    ),
    "other sizes": (
        lambda: at_central(at_central(npz_bytes(a=NUMBERS), 24, "<I", 8), 20, "<I", 8),
        via.FormatError,
        "entry 'a.npy': the header at byte 0 differs",
    ),
    "an offset past the end": (
        lambda: at_central(npz_bytes(a=NUMBERS), 42, "<I", 1 << 30),
        via.FormatError,
        "entry 'a.npy': the entry has .* from 1073741824 on",
    ),
    "a size past the end": (
        lambda: at_central(npz_bytes(a=NUMBERS), 20, "<I", 1 << 30),
        via.FormatError,
        "entry 'a.npy': the entry has 1073741824 bytes",
    ),
    "another part": (lambda: at_central(npz_bytes(a=NUMBERS), 34, "<H", 1), via.UnsupportedError, "another part"),
    "a wrong count": (
        lambda: npz_bytes(a=NUMBERS)[:-14] + struct.pack("<HH", 7, 7) + npz_bytes(a=NUMBERS)[-10:],
        via.FormatError,
        "the number of ZIP entries is 7; expected at most 1",
    ),
    "parts": (
        lambda: npz_bytes(a=NUMBERS)[:-18] + struct.pack("<H", 1) + npz_bytes(a=NUMBERS)[-16:],
        via.UnsupportedError,
        "a part of several",
    ),
    "no UTF-8": (
        lambda: npz_bytes(a=NUMBERS).replace(b"a.npy", b"\xff.npy"),
        via.FormatError,
        "the name of a ZIP entry",
    ),
    "NUL": (lambda: npz_bytes(a=NUMBERS).replace(b"a.npy", b"\0.npy"), via.FormatError, "without NUL"),
}


@pytest.mark.parametrize("case", WRONG_NPZ)
def test_a_wrong_npz_is_refused_by_name(tmp_path: Path, case: str) -> None:
    make, error, words = WRONG_NPZ[case]
    path = put(tmp_path / "bad.npz", make())
    before = via.stats()
    with pytest.raises(error, match=words) as caught:
        via.Archive(path)
    assert "bad.npz" in str(caught.value) and len(str(caught.value)) < 600
    assert via.stats() == before


UNREADABLE = {
    "objects": (np.array([{}]), "these are Python objects, pickled"),
    "a record with objects": (np.zeros(2, [("x", "f4"), ("y", "O")]), "no Python objects"),
    "text": (np.array(["x"]), "descr is '<U1'"),
    "times": (np.zeros(2, "M8[ns]"), "read times as raw int64"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_an_entry_that_is_no_array_of_numbers_is_listed_and_refused_alone(tmp_path: Path, case: str) -> None:
    array, words = UNREADABLE[case]
    np.savez(tmp_path / "mixed.npz", a=NUMBERS, odd=array, z=NUMBERS[0])
    archive = via.Archive(tmp_path / "mixed.npz")
    assert list(archive) == ["a", "odd", "z"] and "odd" in archive and archive.type_name("odd") == ""
    assert_same(archive.load(["z", "a"], dtype="float32"), {"z": NUMBERS[0], "a": NUMBERS})
    assert np.array_equal(archive["z"].read().numpy(), NUMBERS[0])
    before = via.stats()
    for ask in (
        lambda: archive["odd"],
        lambda: archive.load(),
        lambda: archive.load(["odd"], dtype="float32"),
        lambda: archive.slice("odd", 0, 0, 1),
        lambda: archive.astype("odd", "float32"),
    ):
        with pytest.raises(via.DTypeError, match=f"mixed.npz: tensor 'odd': .*{words}"):
            ask()
    assert via.stats() == before


def plain() -> dict[str, Any]:
    draw = np.random.default_rng(8)
    found: dict[str, Any] = {name: draw.integers(0, 9, (3, 4, 5)).astype(name) for name in gguf.TYPES}
    found["one"] = np.array(4, np.float32)
    found["none"] = np.zeros((0, 7), np.float32)
    found["large"] = draw.random((600, 500)).astype(np.float32)
    return found


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("align", [8, 32, 4096])
def test_plain_tensors_of_gguf_have_their_rows_last(tmp_path: Path, version: int, align: int) -> None:
    arrays = plain()
    path = put(tmp_path / "m.gguf", gguf.of_arrays(arrays, align=align, version=version))
    assert_same(via.load(path), arrays)
    archive = via.Archive(path)
    assert archive.type_name("float64") == "F64" and archive["int16"].shape == (3, 4, 5)
    archive.slice("large", 1, 100, 50)
    assert np.array_equal(archive.load(["large"])["large"].numpy(), arrays["large"][:, 100:150])


def test_bfloat16_is_a_type_of_gguf(tmp_path: Path) -> None:
    path = put(tmp_path / "m.gguf", gguf.whole([gguf.entry("w", [3, 2], 30, 0)], bytes(range(12))))
    found = via.load(path)["w"]
    assert str(found.dtype) == "bfloat16" and found.shape == (2, 3)
    assert via.Archive(path).type_name("w") == "BF16"


def test_quantised_blocks_are_bytes_with_their_types_name(tmp_path: Path) -> None:
    arrays = {
        f"{name}: {extra}": np.arange(4 * 3 * bytes_, dtype=np.uint8).reshape(4, 3 * bytes_)
        for extra in "ab"
        for name, (_, _, bytes_) in gguf.BLOCKS.items()
    }
    archive = via.Archive(put(tmp_path / "m.gguf", gguf.of_arrays(arrays)))
    assert_same(archive.load(), arrays)
    assert {name: archive.type_name(name) for name in archive} == {name: name.partition(":")[0] for name in arrays}


def test_every_type_has_the_size_that_ggufs_own_package_gives_it(tmp_path: Path) -> None:
    constants = pytest.importorskip("gguf.constants")
    left_out = {"Q8_1"}  # no file stores it
    for kind, (elements, bytes_) in constants.GGML_QUANT_SIZES.items():
        content = gguf.whole([gguf.entry("w", [2 * elements, 3], kind.value, 0)], bytes(6 * bytes_))
        path = put(tmp_path / "m.gguf", content)
        if kind.name in left_out:
            with pytest.raises(via.DTypeError, match="tensor 'w': the type is 9"):
                via.Archive(path)
            continue
        archive = via.Archive(path)
        assert archive.type_name("w") == kind.name
        assert archive.load()["w"].nbytes == 6 * bytes_


def test_what_ggufs_own_package_writes_is_read(tmp_path: Path) -> None:
    theirs = pytest.importorskip("gguf")
    arrays = {name: array for name, array in plain().items() if array.size > 0 and array.ndim > 0}
    writer = theirs.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_uint32("llama.block_count", 3)
    writer.add_array("tokenizer.ggml.tokens", ["a", "\u00e9"])
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    archive = via.Archive(tmp_path / "m.gguf")
    assert_same(archive.load(), arrays)
    assert archive.metadata["general.architecture"] == "llama" and archive.metadata["llama.block_count"] == "3"
    assert json.loads(archive.metadata["tokenizer.ggml.tokens"]) == ["a", "\u00e9"]


def test_metadata_of_gguf_are_texts(tmp_path: Path) -> None:
    numbers = {
        "u8": struct.pack("<IB", 0, 255),
        "i8": struct.pack("<Ib", 1, -128),
        "u16": struct.pack("<IH", 2, 65535),
        "i16": struct.pack("<Ih", 3, -32768),
        "u32": struct.pack("<II", 4, (1 << 32) - 1),
        "i32": struct.pack("<Ii", 5, -(1 << 31)),
        "u64": struct.pack("<IQ", 10, (1 << 64) - 1),
        "i64": struct.pack("<Iq", 11, -(1 << 63)),
    }
    given = {
        **numbers,
        "f32": gguf.value(gguf.FLOAT32, 1e-5),
        "f64": struct.pack("<Id", 12, math.pi),
        "nan": gguf.value(gguf.FLOAT32, math.nan),
        "yes": gguf.value(gguf.BOOL, 1),
        "no": gguf.value(gguf.BOOL, 0),
        "text": gguf.value(gguf.STRING, 'a "b"\n'),
        "texts": gguf.texts("a", '"\n', "\u00e9"),
        "floats": struct.pack("<IIQ3f", gguf.ARRAY, gguf.FLOAT32, 3, 0.5, math.inf, -2),
        "bools": struct.pack("<IIQ2B", gguf.ARRAY, gguf.BOOL, 2, 1, 0),
        "empty": struct.pack("<IIQ", gguf.ARRAY, 0, 0),
    }
    found = via.Archive(put(tmp_path / "m.gguf", gguf.whole([], b"", given))).metadata
    assert found.keys() == given.keys()
    assert [int(found[name]) for name in numbers] == [
        *(255, -128, 65535, -32768),
        *((1 << 32) - 1, -(1 << 31), (1 << 64) - 1, -(1 << 63)),
    ]
    assert np.float32(found["f32"]) == np.float32(1e-5) and float(found["f64"]) == math.pi and found["nan"] == "nan"
    assert (found["yes"], found["no"], found["text"]) == ("true", "false", 'a "b"\n')
    assert json.loads(found["texts"]) == ["a", '"\n', "\u00e9"] and json.loads(found["empty"]) == []
    assert json.loads(found["floats"]) == [0.5, "inf", -2] and json.loads(found["bools"]) == [True, False]


ENTRY = gguf.entry("w", [4], 24, 0)
WRONG_GGUF: dict[str, tuple[bytes, type[Exception], str]] = {
    "version 1": (gguf.whole([ENTRY], b"1234", version=1), via.VersionError, "the GGUF version is 1"),
    "version 4": (gguf.whole([ENTRY], b"1234", version=4), via.VersionError, "the GGUF version is 4"),
    "big-endian": (gguf.whole([ENTRY], b"1234", version=3 << 24), via.UnsupportedError, "big-endian"),
    "a name twice": (gguf.whole([ENTRY, ENTRY], b"1234"), via.FormatError, "tensor 'w' occurs twice"),
    "no UTF-8": (gguf.whole([gguf.entry(b"\xff", [4], 24, 0)], b"1234"), via.FormatError, "expected UTF-8"),
    "NUL": (gguf.whole([gguf.entry(b"a\0", [4], 24, 0)], b"1234"), via.FormatError, "without NUL"),
    "an unknown type": (
        gguf.whole([gguf.entry("w", [4], 99, 0)], b"1234"),
        via.DTypeError,
        "tensor 'w': the type is 99",
    ),
    "a removed type": (gguf.whole([gguf.entry("w", [32], 4, 0)], b"1234"), via.DTypeError, "tensor 'w': the type is 4"),
    "half a block": (
        gguf.whole([gguf.entry("w", [33], 2, 0)], b"1234"),
        via.FormatError,
        "tensor 'w'.*whole blocks of 32",
    ),
    "a block without axes": (gguf.whole([gguf.entry("w", [], 2, 0)], b"1234"), via.FormatError, "tensor 'w'.*blocks"),
    "65 axes": (gguf.whole([gguf.entry("w", [1] * 65, 24, 0)], b"1"), via.ShapeError, "tensor 'w'.*axes is 65"),
    "a huge extent": (gguf.whole([gguf.entry("w", [1 << 63], 24, 0)], b"1"), via.ShapeError, "tensor 'w'.*extent"),
    "a huge product": (
        gguf.whole([gguf.entry("w", [1 << 40, 1 << 40], 24, 0)], b"1"),
        via.ExtentOverflowError,
        "tensor 'w'",
    ),
    "a huge row of blocks": (
        gguf.whole([gguf.entry("w", [(1 << 63) - 256], 15, 0)], b"1"),
        via.ExtentOverflowError,
        "tensor 'w'",
    ),
    "an offset past the end": (
        gguf.whole([gguf.entry("w", [4], 24, 1 << 62)], b"1234"),
        via.FormatError,
        "tensor 'w'.*offset",
    ),
    "a file without padding": (
        gguf.whole([gguf.entry("w", [0], 24, 0)], b"")[:57],
        via.FormatError,
        "the data begin at byte 64; expected at most 57",
    ),
    "too little": (gguf.whole([ENTRY], b"123"), via.FormatError, "tensor 'w'.*end at 4; expected at most 3"),
    "too much": (gguf.whole([ENTRY], bytes(33)), via.FormatError, "33 bytes after its header; expected 4"),
    "a hole": (gguf.whole([gguf.entry("w", [4], 24, 32)], bytes(36)), via.FormatError, "tensor 'w'.*a hole"),
    "an overlap": (
        gguf.whole([gguf.entry("v", [40], 24, 0), gguf.entry("w", [4], 24, 32)], bytes(68)),
        via.FormatError,
        "tensor 'w'.*overlap",
    ),
    "not aligned": (
        gguf.whole([gguf.entry("v", [4], 24, 0), gguf.entry("w", [4], 24, 4)], bytes(8)),
        via.FormatError,
        "tensor 'w': the data begin at 4; expected 32",
    ),
    "absurdly many tensors": (
        b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
        via.FormatError,
        "the number of tensors is 1152921504606846976",
    ),
    "absurdly many texts": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), via.FormatError, "the number of metadata"),
    "an absurdly long name": (
        b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", (1 << 64) - 1) + bytes(40),
        via.FormatError,
        "the header needs 18446744073709551615 bytes",
    ),
    "an absurd array": (
        gguf.whole([], b"", {"k": struct.pack("<IIQ", 9, 0, 1 << 50)}),
        via.FormatError,
        "metadata 'k': the array has",
    ),
    "an empty array of an unknown kind": (
        gguf.whole([], b"", {"k": struct.pack("<IIQ", 9, 13, 0)}),
        via.FormatError,
        "'k': the type is 13",
    ),
    "arrays of arrays": (
        gguf.whole([], b"", {"k": struct.pack("<IIQ", 9, 9, 1)}),
        via.FormatError,
        "'k'.*array of arrays",
    ),
    "an unknown kind": (gguf.whole([], b"", {"k": struct.pack("<I", 13)}), via.FormatError, "'k': the type is 13"),
    "a bool of 2": (gguf.whole([], b"", {"k": gguf.value(gguf.BOOL, 2)}), via.FormatError, "'k': the value is 2"),
    "a text of no UTF-8": (
        gguf.whole([], b"", {"k": struct.pack("<I", 8) + gguf.text(b"\xc0")}),
        via.FormatError,
        "'k'.*UTF-8",
    ),
    "an alignment of 3": (
        gguf.whole([], b"", {"general.alignment": gguf.value(gguf.UINT32, 3)}),
        via.FormatError,
        "'general.alignment': the value is 3",
    ),
    "an alignment of 0": (
        gguf.whole([], b"", {"general.alignment": gguf.value(gguf.UINT32, 0)}),
        via.FormatError,
        "power of two",
    ),
    "an alignment of another type": (
        gguf.whole([], b"", {"general.alignment": gguf.value(gguf.INT64, 32)}),
        via.FormatError,
        "type uint32",
    ),
}


@pytest.mark.parametrize("case", WRONG_GGUF)
def test_a_wrong_gguf_is_refused_by_name(tmp_path: Path, case: str) -> None:
    content, error, words = WRONG_GGUF[case]
    path = put(tmp_path / "bad.gguf", content)
    before = via.stats()
    with pytest.raises(error, match=words) as caught:
        via.Archive(path)
    assert "bad.gguf" in str(caught.value) and len(str(caught.value)) < 600
    assert via.stats() == before


def test_metadata_that_occur_twice_are_refused(tmp_path: Path) -> None:
    given = gguf.whole([], b"", {"k": gguf.value(gguf.BOOL, 1), "l": gguf.value(gguf.BOOL, 1)})
    with pytest.raises(via.FormatError, match="metadata 'k' occur twice"):
        via.Archive(put(tmp_path / "bad.gguf", given.replace(b"l", b"k")))


@pytest.mark.parametrize("form", ["npz", "gguf", "safetensors"])
def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, form: str) -> None:
    arrays = {"a": NUMBERS[0, 0], "b": np.arange(8, dtype=np.int64)}
    if form == "safetensors":
        via.save(tmp_path / "m", arrays, metadata={"a": "b"})
        content = (tmp_path / "m").read_bytes()
    else:
        content = npz_bytes(**arrays) if form == "npz" else gguf.of_arrays(arrays, {"k": gguf.texts("a", "b")})
    path = put(tmp_path / "cut", content)
    assert_same(via.load(path), arrays)
    before, descriptors = via.stats(), os.listdir("/proc/self/fd")
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(via.FormatError, match="cut"):
            via.Archive(path)
    assert via.stats() == before and os.listdir("/proc/self/fd") == descriptors


@pytest.mark.parametrize("form", ["npz", "gguf"])
def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path, form: str) -> None:
    arrays = {"a": np.asfortranarray(NUMBERS[0]), "b": np.arange(4, dtype=np.int64)}
    content = npz_bytes(**arrays) if form == "npz" else gguf.of_arrays(arrays, {"k": gguf.texts("a", "b")})
    path = tmp_path / "changed"
    before, descriptors = via.stats(), os.listdir("/proc/self/fd")
    for at in range(len(content)):
        for value in (0, 255, content[at] ^ 1):
            path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            try:
                via.load(path)
            except (via.Error, ValueError) as error:
                assert "changed" in str(error)
    assert via.stats() == before and os.listdir("/proc/self/fd") == descriptors
