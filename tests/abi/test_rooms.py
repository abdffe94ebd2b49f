"""The rooms of the sources: arrows between them go one way, and a folder is private behind few headers."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PYTHON = ROOT / "bindings/python/src"

CORE = {"core/base", "core/system", "core/layout", "core/diagnostics", "core/async", "core/array"}

# Which rooms each one may include, besides itself. "cuda" and "copy" are the headers at the top of those rooms.
ARROWS = {
    "core/base": set(),
    "core/system": {"core/base"},
    "core/layout": {"core/base"},
    "core/diagnostics": {"core/base"},
    "core/async": {"core/base", "core/system", "core/diagnostics"},
    "core/array": CORE,
    "cuda": CORE,
    "cuda/kernels": {"core/layout"},
    "cuda/driver": CORE | {"cuda"},
    "cuda/stream": CORE | {"cuda", "cuda/driver"},
    "cuda/topology": CORE | {"cuda", "cuda/driver"},
    "cuda/memory": CORE | {"cuda", "cuda/driver", "cuda/stream", "cuda/topology"},
    "cuda/layout": CORE | {"cuda", "cuda/driver", "cuda/stream"},
    "cuda/launch": CORE | {"cuda", "cuda/driver", "cuda/stream", "cuda/layout", "cuda/kernels"},
    "cuda/staging": CORE
    | {"cuda", "cuda/driver", "cuda/stream", "cuda/topology", "cuda/memory", "cuda/layout", "cuda/launch"},
    "cuda/route": CORE
    | {"cuda", "cuda/driver", "cuda/stream", "cuda/memory", "cuda/layout", "cuda/launch", "cuda/staging"},
    "cuda/batch": CORE | {"cuda", "cuda/driver", "cuda/stream", "cuda/memory", "cuda/launch", "cuda/kernels"},
    "exchange": CORE | {"cuda"},
    "ipc": CORE | {"cuda"},
    "copy": CORE | {"cuda"},
    "copy/plan": CORE | {"copy"},
    "copy/host": CORE | {"copy", "copy/plan"},
    "copy/batch": CORE | {"copy", "copy/plan", "copy/indexed", "cuda"},
    "copy/convert": CORE | {"copy", "copy/plan", "copy/host", "cuda"},
    "copy/indexed": CORE | {"copy", "copy/plan", "copy/host", "cuda"},
    "file": CORE | {"copy", "cuda"},
    "archive": CORE | {"copy", "cuda", "exchange", "file"},
    "api": CORE | {"archive", "copy", "cuda", "exchange", "file", "ipc"},
}

# What is at the top of a room has its private folders to build on: the sources there, never the headers.
PRIVATE = {
    "cuda": {name for name in ARROWS if name.startswith("cuda/")},
    "copy": {"copy/plan", "copy/host", "copy/batch", "copy/convert", "copy/indexed"},
}

# Sources without a header of their own: the header of the API is the contract; the stub answers for the whole room of
# CUDA; the kernels of one instruction set are the same source, compiled for it.
HEADERLESS = {"stub", "kernels_base", "kernels_avx2", "kernels_avx512", "images"} | {
    "conversions_base",
    "conversions_avx2",
    "conversions_avx512",
}


# The rooms of the Python module. "top" is what lies in no folder: module functions and the reader of raw arguments.
PYTHON_ARROWS = {
    "support": set(),
    "objects": {"support"},
    "array": {"objects", "support"},
    "interop": {"array", "objects", "support"},
    "top": {"array", "interop", "objects", "support"},
}

# The headers of a room of the Python module that other rooms may include. Every header of "support" is one.
PYTHON_DOORS = {
    "objects": {"handles.hpp", "memory.hpp", "stream_argument.hpp"},
    "array": {"array.hpp", "array_convert.hpp", "array_copy.hpp", "array_index.hpp"},
    "interop": {"interop.hpp"},
}


def sources(root=SRC):
    return sorted(path for path in root.rglob("*") if path.suffix in {".cpp", ".hpp", ".h", ".cu", ".cuh", ".def"})


def room_of(path):
    parts = path.relative_to(SRC).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def python_room_of(path):
    parts = path.relative_to(PYTHON).parts
    return parts[0] if len(parts) > 1 else "top"


def includes(path, root=SRC):
    found = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)
    return [root / name for name in found if (root / name).exists()]


def may_include(path, other):
    room, target = room_of(path), room_of(other)
    is_private_source = path.suffix == ".cpp" and target in PRIVATE.get(room, set())
    return target == room or target in ARROWS[room] or is_private_source


def may_include_in_python(path, other):
    room, target = python_room_of(path), python_room_of(other)
    has_door = other.name in PYTHON_DOORS.get(target, {other.name})
    return target == room or (target in PYTHON_ARROWS[room] and has_door)


def test_every_folder_of_the_sources_is_a_room_with_its_arrows():
    assert {room_of(path) for path in sources()} == set(ARROWS)
    assert {python_room_of(path) for path in sources(PYTHON)} == set(PYTHON_ARROWS)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SRC)))
def test_no_include_runs_up_or_into_a_private_room(path):
    wrong = [str(other.relative_to(SRC)) for other in includes(path) if not may_include(path, other)]
    assert not wrong


@pytest.mark.parametrize("path", sources(PYTHON), ids=lambda path: str(path.relative_to(PYTHON)))
def test_no_include_of_the_python_module_runs_up_or_past_a_door(path):
    wrong = [
        str(other.relative_to(PYTHON)) for other in includes(path, PYTHON) if not may_include_in_python(path, other)
    ]
    assert not wrong


# Functions of C that some standard library declares in headers of C++ as well, and another does not.
FUNCTIONS_OF_C = {
    "cstdio": r"v?s?n?printf|sscanf|f(open|close|puts|read|write|printf)",
    "cstring": r"mem(cpy|move|set|cmp)|str(len|n?cmp|r?chr|str|c?spn)",
    "cstdlib": r"malloc|calloc|realloc|free|abort|getenv|strtou?ll?",
}


def names_of_c_headers(path, root, seen):
    """Those that a file includes, itself or by headers of this tree."""
    seen.add(path)
    found = set(re.findall(r"^#include <(c\w+)>", path.read_text(), re.MULTILINE))
    for other in includes(path, root):
        found |= set() if other in seen else names_of_c_headers(other, root, seen)
    return found


@pytest.mark.parametrize("root", [SRC, PYTHON], ids=["src", "python"])
def test_whoever_calls_a_function_of_c_includes_its_header(root):
    wrong = []
    for path in sources(root):
        text, there = path.read_text(), names_of_c_headers(path, root, set())
        wrong += [
            f"{path.relative_to(ROOT)}: {header}"
            for header, functions in FUNCTIONS_OF_C.items()
            if header not in there and re.search(rf"\bstd::({functions})\(", text)
        ]
    assert not wrong


def test_every_door_of_the_python_module_is_there_and_used():
    used = {
        other
        for path in sources(PYTHON)
        for other in includes(path, PYTHON)
        if python_room_of(path) != python_room_of(other)
    }
    doors = {PYTHON / room / name for room, names in PYTHON_DOORS.items() for name in names}
    assert doors <= used


@pytest.mark.parametrize("root", [SRC, PYTHON], ids=["src", "python"])
def test_no_file_name_occurs_twice(root):
    names = [path.name for path in sources(root)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("root", [SRC, PYTHON], ids=["src", "python"])
def test_every_source_has_a_header_of_its_own_name(root):
    headers = {path.stem for path in sources(root) if path.suffix in {".hpp", ".h"}}
    lonely = [
        str(path.relative_to(root))
        for path in sources(root)
        if path.suffix == ".cpp" and path.stem not in headers | HEADERLESS and path.parent != SRC / "api"
    ]
    assert lonely == []


@pytest.mark.parametrize("arrows", [ARROWS, PYTHON_ARROWS], ids=["src", "python"])
def test_no_arrows_run_in_a_circle(arrows):
    above = {room: {target for target in targets if target != room} for room, targets in arrows.items()}
    while above:
        free = [room for room, targets in above.items() if not targets & above.keys()]
        assert free, f"a circle among {sorted(above)}"
        above = {room: targets for room, targets in above.items() if room not in free}
