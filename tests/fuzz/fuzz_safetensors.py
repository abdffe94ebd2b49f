#!/usr/bin/env python3
"""Fuzzes what Python makes of .safetensors files, next to json: `fuzz_safetensors.py [OPTION OF LIBFUZZER...]`.

Whatever a file holds, it is refused as one that is no such file, or its tensors are what its header says and lie where
it says. With `--inputs FILE` those of a corpus are run, a line of hexadecimal digits each, and nothing else; else it
takes Atheris, and is executable since that starts it anew to choose a corpus.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import viaduct as via

_WORDS = [
    json.loads(line).encode()
    for line in Path(__file__).with_name("safetensors.dict").read_text().splitlines()
    if line.startswith('"')
]
_REFUSALS = (via.FormatError, via.DTypeError, via.ShapeError, via.ExtentOverflowError, via.UnsupportedError)
_DESCRIPTOR = os.memfd_create("safetensors")
_PATH = f"/proc/self/fd/{_DESCRIPTOR}"


def text_of(data: bytes) -> bytes:
    """Bytes from 128 on stand for words of the dictionary, so that what changes one byte makes another header."""
    return b"".join(bytes([byte]) if byte < 128 else _WORDS[(byte - 128) % len(_WORDS)] for byte in data)


def file_of(data: bytes) -> bytes:
    """The last byte says whether the input is a file as it is, or a header of the right length, and how many bytes come
    behind it."""
    if not data or data[-1] == 255:
        return data[:-1]
    text = text_of(data[:-1])
    return len(text).to_bytes(8, "little") + text + bytes(range(data[-1]))


def put(content: bytes) -> None:
    os.ftruncate(_DESCRIPTOR, 0)
    os.pwrite(_DESCRIPTOR, content, 0)


def compare(content: bytes, tensors: via.Safetensors) -> None:
    """What was made of the file with what it says, read without a doubt."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    assert tensors.metadata == header.pop("__metadata__", {})
    assert tensors.keys() == header.keys()
    for name, entry in header.items():
        tensor = tensors[name]
        begin, end = entry["data_offsets"]
        array = tensor.read()
        assert tensor.shape == array.shape == tuple(entry["shape"])
        assert array.nbytes == end - begin
        assert bytes(array.reshape(-1).view("uint8")) == content[start + begin : start + end]
    assert start + max((entry["data_offsets"][1] for entry in header.values()), default=0) == len(content)


def check(data: bytes) -> None:
    content = file_of(data)
    put(content)
    before = via.stats()
    try:
        tensors = via.open_safetensors(_PATH)
    except _REFUSALS as error:
        assert str(error).startswith("via_archive_") and len(str(error)) < 600, error
    else:
        compare(content, tensors)
        del tensors
    assert via.stats() == before


def run_inputs(path: Path) -> int:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        check(bytes.fromhex(line))
    return len(lines)


def main() -> None:
    if sys.argv[1:2] == ["--inputs"]:
        print(f"{run_inputs(Path(sys.argv[2]))} inputs")
        return
    import atheris

    atheris.instrument_func(check)
    for function in vars(via._archive).values():
        if getattr(function, "__module__", None) == "viaduct._archive" and callable(function):
            atheris.instrument_func(function)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
