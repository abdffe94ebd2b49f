"""Files of safetensors: the header, and each tensor as a window of the file."""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

from . import _file
from ._extension import raw

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
    """The tensors of a .safetensors file by name, and its `metadata`: a dict of texts, empty if it has none."""

    __slots__ = ("metadata",)

    metadata: dict[str, str]


def _refuse(found: str) -> NoReturn:
    # What is found may be no text: half a surrogate pair, written as an escape.
    raise raw.FormatError("open_safetensors: " + found.encode(errors="backslashreplace").decode())


def _bytes(file: raw.File, offset: int, count: int) -> bytes:
    return bytes(memoryview(file.read(shape=(count,), dtype="uint8", offset=offset)))


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        _refuse(f"a text is '{text[:80]}'; expected no lone surrogate")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, value in pairs:
        _check_text(name)
        if isinstance(value, str):
            _check_text(value)
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse(f"a name occurs twice among {len(pairs)}; expected each once")
    return found


def _no_number(text: str) -> NoReturn:
    _refuse(f"a number is {text[:40]}; expected an integer below 2^63")


def _number(text: str) -> int:
    """Checks the length first: parsing very many digits takes longer than everything else."""
    return int(text) if len(text) <= _MOST_DIGITS else _no_number(text)


def _header(file: raw.File) -> tuple[dict[str, Any], int]:
    """Returns the parsed header, and the offset of the tensors."""
    if file.nbytes < _LENGTH_BYTES:
        _refuse(f"the file has {file.nbytes} bytes; expected a length in the first {_LENGTH_BYTES}")
    length = int.from_bytes(_bytes(file, 0, _LENGTH_BYTES), "little")
    if length > min(file.nbytes - _LENGTH_BYTES, _MOST_TEXT):
        _refuse(f"the header has {length} bytes in a file of {file.nbytes}; expected at most {_MOST_TEXT}")
    text = _bytes(file, _LENGTH_BYTES, length)
    if not text.startswith(b"{"):
        _refuse(f"the header begins with {text[:8]!r}; expected '{{'")
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
        _refuse(f"the header is no JSON: {error}")
    return found, _LENGTH_BYTES + length


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number <= _MOST_NUMBER for number in numbers)


def _nbytes(shown: str, shape: list[int], bits: int) -> int:
    """Returns the bytes of a shape. The product of all extents must fit, as in any array, apart from extents of 0."""
    product = bits // 8
    for extent in shape:
        product *= max(extent, 1)
        if product > _MOST_NUMBER:
            _refuse(f"'{shown}': shape exceeds 2^63 - 1 bytes; expected fewer")
    return 0 if 0 in shape else product


def _check(name: str, entry: Any) -> tuple[int, int]:
    """Returns where the tensor's bytes begin and end, counted from the end of the header."""
    shown = name[:80]
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        _refuse(f"'{shown}': the entry is {str(entry)[:80]}; expected dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _DTYPES:
        _refuse(f"'{shown}': dtype is {str(entry['dtype'])[:40]}; expected one of {', '.join(_DTYPES)}")
    if isinstance(entry["shape"], list) and len(entry["shape"]) > raw.VIA_MAX_NDIM:
        _refuse(f"'{shown}': shape has {len(entry['shape'])} axes; expected at most {raw.VIA_MAX_NDIM}")
    if not _are_counts(entry["shape"]):
        _refuse(f"'{shown}': shape is {str(entry['shape'])[:80]}; expected integers of 0 or more")
    if not _are_counts(entry["data_offsets"]) or len(entry["data_offsets"]) != 2:
        _refuse(f"'{shown}': data_offsets is {str(entry['data_offsets'])[:80]}; expected a begin and an end")
    begin, end = entry["data_offsets"]
    nbytes = _nbytes(shown, entry["shape"], raw.via_dtype_bits(raw.via_dtype_from_name(_DTYPES[entry["dtype"]])))
    if end - begin != nbytes:
        _refuse(f"'{shown}': data_offsets span {end - begin} bytes; expected {nbytes} for the shape")
    return begin, end


def _check_all(entries: dict[str, Any], nbytes: int) -> None:
    """Checks that the tensors are contiguous up to the end of the file, as the format requires."""
    at = 0
    for begin, end, name in sorted((*_check(name, entry), name) for name, entry in entries.items()):
        if begin != at:
            _refuse(f"'{name[:80]}': data_offsets begin at {begin}; expected {at}, the end of the tensor before")
        at = end
    if at != nbytes:
        _refuse(f"the file has {nbytes} bytes after the header; expected {at}")


def _check_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        _refuse(f"'__metadata__' is {str(metadata)[:80]}; expected texts by name")
    return metadata


def _window(file: raw.File, name: str, start: int, entry: dict[str, Any]) -> raw.File:
    try:
        return _file.window_at(file, start + entry["data_offsets"][0], _DTYPES[entry["dtype"]], entry["shape"])
    except (raw.ShapeError, raw.ExtentOverflowError) as error:
        _refuse(f"'{name[:80]}': {error}")


def open_safetensors(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, page_cache: str = "auto"
) -> Safetensors:
    """Opens the tensors of a .safetensors file by name, each as a window of the file. Reads only the header.

    The file's other texts are its `metadata`. Each tensor is read, mapped and sliced like any file:
    `open_safetensors(path)["weight"].read(device="cuda:0")`. The whole header is checked; float4 and float6 tensors are
    refused.
    """
    with _file.open(path, format="raw", page_cache=page_cache) as file:
        entries, start = _header(file)
        metadata = _check_metadata(entries.pop("__metadata__", {}))
        _check_all(entries, file.nbytes - start)
        found = Safetensors((name, _window(file, name, start, entry)) for name, entry in entries.items())
        found.metadata = metadata
        return found
