"""Files of safetensors: their header, and each tensor as a window of the file."""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

from . import _file
from . import _viaduct as raw

_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "U16": "uint16",
    "I16": "int16",
    "F16": "float16",
    "BF16": "bfloat16",
    "U32": "uint32",
    "I32": "int32",
    "F32": "float32",
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "C64": "complex64",
}

_LENGTH_BYTES = 8
_MOST_TEXT = 100_000_000  # the format's own limit
_MOST_NUMBER = (1 << 63) - 1
_MOST_DIGITS = len(str(_MOST_NUMBER))


class Safetensors(dict[str, raw.File]):
    """The tensors of a .safetensors file by name, and its `metadata`: texts by name, none if it has none."""

    __slots__ = ("metadata",)

    metadata: dict[str, str]


def _refuse(found: str) -> NoReturn:
    # What is found may be no text: half a surrogate pair, written as an escape.
    raise raw.FormatError("open_safetensors: " + found.encode(errors="backslashreplace").decode())


def _bytes(file: raw.File, offset: int, count: int) -> bytes:
    return bytes(memoryview(file.read(shape=(count,), dtype="uint8", offset=offset)))


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        _refuse(f"found '{text[:80]}', expected no surrogate alone")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, value in pairs:
        _check_text(name)
        if isinstance(value, str):
            _check_text(value)
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse(f"found a name twice, expected each once of {len(pairs)}")
    return found


def _no_number(text: str) -> NoReturn:
    _refuse(f"found {text[:40]}, expected whole numbers")


def _number(text: str) -> int:
    """Before it is made, which takes longer than all else where there are many digits."""
    return int(text) if len(text) <= _MOST_DIGITS else _no_number(text)


def _header(file: raw.File) -> tuple[dict[str, Any], int]:
    """What the text says, and where the tensors begin."""
    if file.nbytes < _LENGTH_BYTES:
        _refuse(f"found {file.nbytes} bytes, expected a length in the first {_LENGTH_BYTES}")
    length = int.from_bytes(_bytes(file, 0, _LENGTH_BYTES), "little")
    if length > min(file.nbytes - _LENGTH_BYTES, _MOST_TEXT):
        _refuse(f"found a header of {length} bytes in a file of {file.nbytes}, expected at most {_MOST_TEXT}")
    text = _bytes(file, _LENGTH_BYTES, length)
    if not text.startswith(b"{"):
        _refuse(f"found a header that begins with {text[:8]!r}, expected '{{'")
    try:
        found = json.loads(
            text.decode(),
            object_pairs_hook=_pairs,
            parse_int=_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except raw.FormatError:
        raise
    except (ValueError, RecursionError) as error:
        _refuse(f"found no JSON in the header: {error}")
    return found, _LENGTH_BYTES + length


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number <= _MOST_NUMBER for number in numbers)


def _nbytes(shown: str, shape: list[int], bits: int) -> int:
    """Extents of 0 aside, all of them must have a product, as in any array."""
    product = bits // 8
    for extent in shape:
        product *= max(extent, 1)
        if product > _MOST_NUMBER:
            _refuse(f"'{shown}': found extents whose bytes exceed 2^63 - 1, expected fewer")
    return 0 if 0 in shape else product


def _check(name: str, entry: Any) -> tuple[int, int]:
    """Where the tensor's bytes are, behind the header."""
    shown = name[:80]
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        _refuse(f"'{shown}': found {str(entry)[:80]}, expected dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _DTYPES:
        _refuse(f"'{shown}': found dtype {str(entry['dtype'])[:40]}, expected one of {', '.join(_DTYPES)}")
    if isinstance(entry["shape"], list) and len(entry["shape"]) > raw.VIA_MAX_NDIM:
        _refuse(f"'{shown}': found {len(entry['shape'])} axes, expected at most {raw.VIA_MAX_NDIM}")
    if not _are_counts(entry["shape"]):
        _refuse(f"'{shown}': found shape {str(entry['shape'])[:80]}, expected whole numbers of 0 or more")
    if not _are_counts(entry["data_offsets"]) or len(entry["data_offsets"]) != 2:
        _refuse(f"'{shown}': found data_offsets {str(entry['data_offsets'])[:80]}, expected where it begins and ends")
    begin, end = entry["data_offsets"]
    nbytes = _nbytes(shown, entry["shape"], raw.via_dtype_bits(raw.via_dtype_from_name(_DTYPES[entry["dtype"]])))
    if end - begin != nbytes:
        _refuse(f"'{shown}': found {end - begin} bytes, expected {nbytes} for its shape")
    return begin, end


def _check_all(entries: dict[str, Any], nbytes: int) -> None:
    """Tensors follow one another to the end of the file, as the format has it."""
    at = 0
    for begin, end, name in sorted((*_check(name, entry), name) for name, entry in entries.items()):
        if begin != at:
            _refuse(f"'{name[:80]}': found it at byte {begin}, expected {at}, where the one before it ends")
        at = end
    if at != nbytes:
        _refuse(f"found {nbytes} bytes behind the header, expected {at}")


def _check_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        _refuse(f"'__metadata__': found {str(metadata)[:80]}, expected texts by name")
    return metadata


def _window(file: raw.File, name: str, start: int, entry: dict[str, Any]) -> raw.File:
    try:
        return _file.window_at(file, start + entry["data_offsets"][0], _DTYPES[entry["dtype"]], entry["shape"])
    except (raw.ShapeError, raw.ExtentOverflowError) as error:
        _refuse(f"'{name[:80]}': {error}")


def open_safetensors(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, page_cache: str = "auto"
) -> Safetensors:
    """The tensors of a .safetensors file by name, each as a window of the file: nothing of it is read yet. What the
    file says beside them is its `metadata`.

    Each is read, mapped and sliced like any other: `open_safetensors(path)["weight"].read(device="cuda:0")`. The header
    is checked to the last character; float4 and float6 tensors are refused.
    """
    with _file.open(path, format="raw", page_cache=page_cache) as file:
        entries, start = _header(file)
        metadata = _check_metadata(entries.pop("__metadata__", {}))
        _check_all(entries, file.nbytes - start)
        found = Safetensors((name, _window(file, name, start, entry)) for name, entry in entries.items())
        found.metadata = metadata
        return found
