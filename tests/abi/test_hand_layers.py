"""The layers written by hand: a function of the header is called by each, or is left out on purpose."""

from __future__ import annotations

import re

import pytest
from abi_tools import ROOT, functions

SOURCES = {
    "python": ["python/src/**/*.cpp", "python/viaduct/_*.py"],
    "java": ["java/src/**/*.java", "java/native/*.cpp", "swig/viaduct_java.i"],
    "csharp": ["csharp/src/*.cs", "csharp/native/*.cpp", "swig/viaduct_csharp.i"],
}

# What has no method of its own in a language, whose generated layer has it (viaduct.raw, org.viaduct.Native).
LEFT_OUT = {
    "python": {
        "via_cuda_warmup": "raw",
        "via_calibrate": "raw",
        "via_calibration_save": "raw",
        "via_calibration_load": "raw",
        "via_array_retain": "an object is one share",
        "via_array_context": "Array.owner recovers what was given",
        "via_copy_batch": "raw",
        "via_archive_load": "Archive.load makes the buffer and submits the read",
        "via_save": "save writes an atomic file",
        "via_load": "load reads a File",
        "via_memcpy": "raw: addresses alone are bytes to copy",
    },
    "java": {
        "via_memory_retain": "an object is one share",
        "via_stream_retain": "an object is one share",
        "via_event_retain": "an object is one share",
        "via_batch_retain": "an object is one share",
        "via_file_retain": "an object is one share",
        "via_archive_retain": "an object is one share",
    },
    "csharp": {},
}


def text_of(language: str) -> str:
    return "".join(
        path.read_text() for pattern in SOURCES[language] for path in sorted((ROOT / "bindings").glob(pattern))
    )


# Where strides are reported, and in which unit: they are bytes in Python and elements elsewhere, and each place says so.
STRIDES = {
    "include/viaduct/viaduct.h": r"strides in elements, .*?Python's strides count bytes.*?via_array_strides\(",
    "bindings/cpp/viaduct/cpp/array.hpp": r"In elements, where Python's strides are bytes.*?\n.*\bstrides\(\)",
    "bindings/java/src/org/viaduct/ViaArray.java": r"in elements, where Python's.*?\n.*\blong\[\] strides\(\)",
    "bindings/csharp/src/ViaArray.cs": r"in elements, where Python's are bytes.*?ReadOnlySpan<long> Strides\b",
    "bindings/fortran/viaduct.f90": r"In elements, where Python's strides are bytes.*?\n  function steps",
    "bindings/python/viaduct/__init__.pyi": r"def strides.*?in bytes, as NumPy counts.*?other languages count elements",
}


@pytest.mark.parametrize("place", STRIDES)
def test_strides_are_reported_with_their_unit(place: str) -> None:
    text = (ROOT / place).read_text()
    found = re.search(STRIDES[place], text, re.DOTALL)
    assert found and len(found[0]) < 400


@pytest.mark.parametrize("language", SOURCES)
def test_every_function_is_called_by_the_layer_or_left_out_on_purpose(language: str) -> None:
    text = text_of(language)
    missing = {name for name in functions() if not re.search(rf"\b{name}\b", text)}
    assert missing == set(LEFT_OUT[language])
