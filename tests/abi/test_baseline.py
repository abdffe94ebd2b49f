"""What was promised holds: nothing that a program was built with goes away or changes; more may come."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import baseline
import pytest
from abi_tools import HEADER, ROOT, compilers

needs_libabigail = pytest.mark.skipif(not baseline.is_there(), reason="abidiff: install abigail-tools")


def refused_layout(compiler: str, include: Path = baseline.INCLUDE) -> str:
    """What a compiler finds that has another value, place or type; nothing if all is as it was."""
    command = [compiler, "-std=c11", f"-I{include}", "-fsyntax-only", str(baseline.LAYOUT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stderr if done.returncode else ""


def differences(folder: Path, text: str, include: Path = baseline.INCLUDE) -> str:
    """What breaks programs of the baseline; nothing if they go on working."""
    built = baseline.build_empty(folder, text, include)
    allowed = ["--suppressions", str(Path(__file__).parent / "suppressed.ini"), "--no-added-syms", "--no-architecture"]
    done = subprocess.run(
        ["abidiff", *allowed, str(baseline.TYPES), str(built)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode & 3 == 0, done.stdout + done.stderr  # its own failures
    return (done.stdout if done.returncode else "") + refused_layout("gcc", include)


@pytest.mark.parametrize("compiler", compilers())
def test_constants_and_layouts_are_those_of_the_released_header(compiler: str) -> None:
    assert refused_layout(compiler) == ""


@needs_libabigail
def test_programs_built_with_the_released_header_go_on_working(tmp_path: Path) -> None:
    assert differences(tmp_path, baseline.empty_functions()) == ""


def changed(folder: Path, edit: Callable[[str], str]) -> str:
    """What abidiff finds when the header and its functions are edited alike."""
    header = folder / "include/viaduct/viaduct.h"
    header.parent.mkdir(parents=True)
    text = HEADER.read_text()
    header.write_text(edit(text))
    functions = baseline.empty_functions()
    assert (header.read_text(), functions) != (text, edit(functions))
    return differences(folder, edit(functions), header.parents[1])


def swap(before: str, after: str) -> Callable[[str], str]:
    return lambda text: re.sub(before, after, text)


BREAKS = {
    "a function goes": swap(r"(?m)^.*\bvia_num_threads\(.*\n", ""),
    "a parameter has another type": swap(r"via_set_num_threads\(int32_t", "via_set_num_threads(int64_t"),
    "a parameter more": swap(
        r"via_array_release\(via_array \*array\)", "via_array_release(via_array *array, int32_t x)"
    ),
    "another type is returned": swap(r"int64_t via_array_size\(", "int32_t via_array_size("),
    "a field goes in between": swap("    int64_t live_arrays;", "    int64_t inserted;\n    int64_t live_arrays;"),
    "a field is wider": swap("int32_t read_only;", "int64_t read_only;"),
    "a field has another type of that size": swap("int64_t live_arrays;", "double live_arrays;"),
    "a field goes": swap("    int64_t staged_bytes;[^\n]*\n", ""),
    "a constant has another number": swap("VIA_WRAP_PROBE = 16", "VIA_WRAP_PROBE = 32"),
    "a status has another number": swap("VIA_ERROR_IO = 20", "VIA_ERROR_IO = 30"),
    "a callback has another parameter": swap(r"\*via_release_fn\)\(void \*context", "*via_release_fn)(int64_t context"),
}

ADDS = {
    "a function": swap(
        r"(?s)\A(.*int32_t via_version\(void\)[^\n]*\n)", r"\1extern int32_t via_added(int32_t value);\n"
    ),
    "a status": swap("VIA_ERROR_INTERNAL = 23", "VIA_ERROR_INTERNAL = 23, VIA_ERROR_ADDED = 24"),
    "a field at the end": swap(r"\n\} via_stats_info;", "\n    int64_t added;\n} via_stats_info;"),
    "a use for what was padding": swap(r"(typedef struct via_stats_info \{[^}]*?)int32_t pad;", r"\1int32_t used;"),
}


@needs_libabigail
@pytest.mark.parametrize("what", BREAKS)
def test_a_change_that_breaks_programs_is_found(tmp_path: Path, what: str) -> None:
    assert changed(tmp_path, BREAKS[what]) != ""


@needs_libabigail
@pytest.mark.parametrize("what", ADDS)
def test_what_is_added_breaks_nothing(tmp_path: Path, what: str) -> None:
    assert changed(tmp_path, ADDS[what]) == ""


def test_the_library_asserts_the_layout_of_every_struct() -> None:
    """So that a compiler that lays them out otherwise refuses to build it."""
    text = "".join(path.read_text() for path in (ROOT / "src/api").glob("*.cpp"))
    names = re.findall(r"^SIZE\((\w+),", baseline.LAYOUT.read_text(), re.MULTILINE)
    assert len(names) == 7
    assert [name for name in names if f"static_assert(sizeof({name}) == " not in text] == []
