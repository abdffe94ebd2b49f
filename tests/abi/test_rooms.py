"""The rooms of src: arrows between them go one way, and a folder is private behind the headers at its top."""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"

CORE = {"core/base", "core/system", "core/layout", "core/diagnostics", "core/async", "core/array"}

# Which rooms each one may include, beside itself. "cuda" and "copy" are the headers at the top of those rooms.
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
    "cuda/batch": CORE | {"cuda", "cuda/driver", "cuda/stream", "cuda/launch", "cuda/kernels"},
    "exchange": CORE | {"cuda"},
    "ipc": CORE | {"cuda"},
    "copy": CORE | {"cuda"},
    "copy/plan": CORE | {"copy"},
    "copy/host": CORE | {"copy", "copy/plan"},
    "copy/batch": CORE | {"copy", "copy/plan", "cuda"},
    "file": CORE | {"copy", "cuda"},
    "api": CORE | {"copy", "cuda", "exchange", "file", "ipc"},
}

# What is at the top of a room has its private folders to build on: the sources there, never the headers.
PRIVATE = {
    "cuda": {name for name in ARROWS if name.startswith("cuda/")},
    "copy": {"copy/plan", "copy/host", "copy/batch"},
}

# Sources without a header of their own: the header of the API is the contract; the stub answers for the whole room of
# CUDA; the kernels of one instruction set are the same source, compiled for it.
HEADERLESS = {"stub", "kernels_base", "kernels_avx2", "kernels_avx512", "images"}


def sources():
    return sorted(path for path in SRC.rglob("*") if path.suffix in {".cpp", ".hpp", ".h", ".cu", ".cuh", ".def"})


def room_of(path):
    parts = path.relative_to(SRC).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def includes(path):
    found = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)
    return [SRC / name for name in found if (SRC / name).exists()]


def may_include(path, other):
    room, target = room_of(path), room_of(other)
    is_private_source = path.suffix == ".cpp" and target in PRIVATE.get(room, set())
    return target == room or target in ARROWS[room] or is_private_source


def test_every_folder_of_the_sources_is_a_room_with_its_arrows():
    assert {room_of(path) for path in sources()} == set(ARROWS)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SRC)))
def test_no_include_runs_up_or_into_a_private_room(path):
    wrong = [str(other.relative_to(SRC)) for other in includes(path) if not may_include(path, other)]
    assert not wrong


def test_no_file_name_occurs_twice():
    names = [path.name for path in sources()]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_source_has_a_header_of_its_own_name():
    headers = {path.stem for path in sources() if path.suffix in {".hpp", ".h"}}
    lonely = [
        str(path.relative_to(SRC))
        for path in sources()
        if path.suffix == ".cpp" and path.stem not in headers | HEADERLESS and room_of(path) != "api"
    ]
    assert lonely == []


def test_no_arrows_run_in_a_circle():
    above = {room: {target for target in targets if target != room} for room, targets in ARROWS.items()}
    while above:
        free = [room for room, targets in above.items() if not targets & above.keys()]
        assert free, f"a circle among {sorted(above)}"
        above = {room: targets for room, targets in above.items() if room not in free}
