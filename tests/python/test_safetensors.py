"""Files of safetensors: tensors by name, and headers that nobody vouches for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viaduct as via

VALUES = {
    "weight": np.arange(6000, dtype=np.float32).reshape(60, 100),
    "bias": np.arange(60, dtype=np.float64),
    "steps": np.array(7, dtype=np.int64),
    "none": np.zeros((0, 3), np.uint8),
    "mask": np.array([True, False, True]),
}
NAMES = {"float32": "F32", "float64": "F64", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def put(path: Path, header: Any, data: bytes, length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    header: dict[str, Any] = {"__metadata__": {"made by": "hand"}}
    at = 0
    for name, value in VALUES.items():
        header[name] = entry(NAMES[value.dtype.name], list(value.shape), at, at + value.nbytes)
        at += value.nbytes
    data = b"".join(value.tobytes() for value in VALUES.values())
    return put(tmp_path / "model.safetensors", header, data)


def test_tensors_are_windows_by_name(model: Path) -> None:
    tensors = via.open_safetensors(model)
    assert tensors.keys() == VALUES.keys()
    for name, value in VALUES.items():
        tensor = tensors[name]
        assert tensor.shape == value.shape and tensor.dtype == value.dtype
        assert np.array_equal(tensor.read().numpy(), value)
        assert np.array_equal(tensor.array().numpy(), value)
    assert np.array_equal(tensors["weight"][5:50:3, 7].read().numpy(), VALUES["weight"][5:50:3, 7])


def test_tensors_of_every_type_have_the_size_that_the_format_gives_them(tmp_path: Path) -> None:
    sizes = {"F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I32": 4, "U32": 4}
    for name, size in {**sizes, "I8": 1, "U64": 8, "C64": 8}.items():
        path = put(tmp_path / name, {"x": entry(name, [3], 0, 3 * size)}, bytes(range(3 * size)))
        array = via.open_safetensors(path)["x"].read()
        assert array.shape == (3,) and array.nbytes == 3 * size


def test_tensors_of_every_float8_of_the_format_are_read_and_saved(tmp_path: Path) -> None:
    for name, dtype in {
        "F8_E4M3": "float8_e4m3fn",
        "F8_E4M3FNUZ": "float8_e4m3fnuz",
        "F8_E5M2": "float8_e5m2",
        "F8_E5M2FNUZ": "float8_e5m2fnuz",
        "F8_E8M0": "float8_e8m0fnu",
    }.items():
        array = via.load(put(tmp_path / name, {"x": entry(name, [3], 0, 3)}, b"\1\2\3"))["x"]
        assert array.dtype_name == dtype
        via.save(tmp_path / "again", {"x": array})
        again = via.Archive(tmp_path / "again")
        assert again.type_name("x") == name
        assert np.array_equal(again["x"].read().view("uint8").numpy(), [1, 2, 3])


def test_names_written_as_escapes_are_text_of_any_length(tmp_path: Path) -> None:
    names = ["A", "\u00e9", "\u20ac", "\uffff", "\U0001f600"]
    header = json.dumps({name: entry("U8", [1], i, i + 1) for i, name in enumerate(names)})
    assert "\\u20ac" in header and "\\ud83d\\ude00" in header
    tensors = via.open_safetensors(put(tmp_path / "escapes.safetensors", header.encode(), bytes(range(len(names)))))
    assert [tensors[name].read().numpy().item() for name in names] == list(range(len(names)))


def test_what_the_formats_own_library_writes_is_read(tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    theirs.save_file(VALUES, tmp_path / "theirs")
    for name, tensor in via.open_safetensors(tmp_path / "theirs").items():
        assert np.array_equal(tensor.read().numpy(), VALUES[name])


GOOD = entry("U8", [4], 0, 4)
HOSTILE: dict[str, tuple[Any, type[Exception], str]] = {
    "no JSON": (b"{", via.FormatError, "the header ends at byte 1; expected a tensor"),
    "no UTF-8": (b"{\xff}", via.FormatError, "UTF-8"),
    "nested without end": (b'{"x": ' + b"[" * 100_000, via.FormatError, "tensor 'x'"),
    "a number of many digits": (b'{"x": ' + b"9" * 5000 + b"}", via.FormatError, "tensor 'x'"),
    "a number of very many digits": (b'{"x": -' + b"9" * 2_000_000 + b"}", via.FormatError, "tensor 'x'"),
    "a list": (b"[]", via.FormatError, "begins with"),
    "a name twice": (b'{"x": {}, "x": {}}', via.FormatError, "tensor 'x'"),
    "a tensor twice": (
        b"{" + b", ".join([b'"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}'] * 2) + b"}",
        via.FormatError,
        "tensor 'x' occurs twice",
    ),
    "a fraction": (b'{"x": 1.5}', via.FormatError, "tensor 'x'"),
    "no number": (b'{"x": NaN}', via.FormatError, "tensor 'x'"),
    "no entry": ({"x": 4}, via.FormatError, "tensor 'x': the header is `4}` at byte 6"),
    "too little": ({"x": {"dtype": "U8", "shape": [4]}}, via.FormatError, "expected dtype, shape and data_offsets"),
    "too much": ({"x": {**GOOD, "order": "F"}}, via.FormatError, "expected dtype, shape and data_offsets"),
    "packed elements": ({"x": entry("F4", [8], 0, 4)}, via.UnsupportedError, "tensor 'x': dtype is float4"),
    "an unknown type": ({"x": entry("Q4", [8], 0, 4)}, via.DTypeError, "tensor 'x': dtype is 'Q4'"),
    "a type that is none": ({"x": {**GOOD, "dtype": [1]}}, via.FormatError, "dtype"),
    "a negative extent": ({"x": entry("U8", [-4], 0, 4)}, via.FormatError, "tensor 'x'"),
    "a true extent": ({"x": {**GOOD, "shape": [True, 4]}}, via.FormatError, "extents"),
    "a huge extent": ({"x": entry("U8", [1 << 63], 0, 4)}, via.FormatError, "extents"),
    "extents whose product is huge": (
        {"x": entry("U8", [1 << 40, 1 << 40], 0, 4)},
        via.ExtentOverflowError,
        "2^63 - 1",
    ),
    "three offsets": ({"x": {**GOOD, "data_offsets": [0, 2, 4]}}, via.FormatError, "data_offsets"),
    "backwards": ({"x": entry("U8", [4], 4, 0)}, via.FormatError, "a begin and an end"),
    "another size": ({"x": entry("U16", [4], 0, 4)}, via.FormatError, "expected 8"),
    "a gap": ({"x": entry("U8", [2], 2, 4)}, via.FormatError, "begin at 2"),
    "an overlap": ({"x": entry("U8", [3], 0, 3), "y": entry("U8", [2], 2, 4)}, via.FormatError, "begin at 2"),
    "behind the end": ({"x": entry("U8", [5], 0, 5)}, via.FormatError, "end at 5; expected at most 4"),
    "bytes that nobody has": ({"x": entry("U8", [3], 0, 3)}, via.FormatError, "has 4 bytes after its header"),
    "more dimensions than there may be": ({"x": entry("U8", [1] * 64 + [4], 0, 4)}, via.FormatError, "at most 64"),
    "240 huge extents": ({"x": entry("U8", [(1 << 63) - 1] * 240, 0, 4)}, via.FormatError, "at most 64"),
    "200,000 huge extents": ({"x": entry("U8", [(1 << 63) - 1] * 200_000, 0, 4)}, via.FormatError, "at most 64"),
    "64 huge extents": ({"x": entry("U8", [(1 << 63) - 1] * 64, 0, 4)}, via.ExtentOverflowError, "2^63 - 1"),
    "as many bytes as there are no numbers for": (
        {"x": entry("U64", [1 << 60], 0, 4)},
        via.ExtentOverflowError,
        "2^63 - 1",
    ),
    "extents that overflow next to 0": (
        {"x": entry("U8", [1 << 32, 1 << 32, 0], 0, 0), "y": GOOD},
        via.ExtentOverflowError,
        "2^63 - 1",
    ),
    "a lone surrogate in a name": (
        b'{"\\ud800": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}',
        via.FormatError,
        "UTF-8",
    ),
    "half a pair in a name": (
        b'{"a\\ude00b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}',
        via.FormatError,
        "UTF-8",
    ),
    "NUL in a name": (b'{"a\\u0000b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}', via.FormatError, "NUL"),
    "a lone surrogate in a dtype": (
        b'{"x": {"dtype": "\\ud800", "shape": [4], "data_offsets": [0, 4]}}',
        via.FormatError,
        "tensor 'x'",
    ),
    "a lone surrogate in metadata": (b'{"__metadata__": {"a": "b\\udfff"}}', via.FormatError, "UTF-8"),
    "a lone surrogate in the name of metadata": (b'{"__metadata__": {"\\udfff": "b"}}', via.FormatError, "UTF-8"),
    "metadata of numbers": ({"__metadata__": {"a": 1}, "x": GOOD}, via.FormatError, "__metadata__"),
    "metadata twice": (b'{"__metadata__": {}, "__metadata__": {}}', via.FormatError, "__metadata__ occurs twice"),
    "a text of the metadata twice": (b'{"__metadata__": {"a": "b", "a": "b"}}', via.FormatError, "metadata 'a' occur"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers_are_refused_by_name(tmp_path: Path, case: str) -> None:
    header, error, words = HOSTILE[case]
    path = put(tmp_path / "bad", header, b"1234")
    start = time.process_time()
    with pytest.raises(error, match="bad") as caught:
        via.open_safetensors(path)
    assert time.process_time() - start < 5
    assert words in str(caught.value) and len(str(caught.value).encode()) < 600


def test_metadata_is_read_with_the_tensors(model: Path, tmp_path: Path) -> None:
    tensors = via.open_safetensors(model)
    assert isinstance(tensors, dict) and tensors.metadata == {"made by": "hand"}
    assert via.open_safetensors(put(tmp_path / "none", {"x": GOOD}, b"1234")).metadata == {}
    names = {"": "", "ü😀\0": "line\nline", "__metadata__": "{}"}
    found = via.open_safetensors(put(tmp_path / "names", {"__metadata__": names, "ü😀": GOOD}, b"1234"))
    assert found.metadata == names and list(found) == ["ü😀"]


def test_metadata_of_a_file_without_tensors_is_read(tmp_path: Path) -> None:
    found = via.open_safetensors(put(tmp_path / "alone", {"__metadata__": {"format": "pt"}}, b""))
    assert found.metadata["format"] == "pt" and not found


@pytest.mark.parametrize("length", [100, (1 << 64) - 1, 1 << 63, 100_000_001])
def test_a_header_longer_than_its_file_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(via.FormatError, match="the header has"):
        via.open_safetensors(put(tmp_path / "long", {"x": GOOD}, b"1234", length))


@pytest.mark.parametrize("content", [b"", b"1234567"])
def test_a_file_without_a_length_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "short").write_bytes(content)
    with pytest.raises(via.FormatError, match="expected the length of a header"):
        via.open_safetensors(tmp_path / "short")


def test_whatever_a_fuzzer_found_worth_keeping_is_read_right_or_refused() -> None:
    """In a process of its own: it counts what is alive after each."""
    folder = Path(__file__).parents[1] / "fuzz"
    command = [sys.executable, folder / "fuzz_safetensors.py", "--inputs", folder / "corpus/safetensors.txt"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 10
