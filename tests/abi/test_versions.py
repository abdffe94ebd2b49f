"""Programs and libraries of different versions: a header's copy is made newer or older than the library that is there."""

import os
import re
import subprocess
from pathlib import Path

import baseline
import pytest
from abi_tools import HEADER, enumerators, library, run, structs

MAJOR, MINOR = (int(enumerators()[f"VIA_VERSION_{part}"].value.value) for part in ("MAJOR", "MINOR"))

PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "viaduct/viaduct.h"
int main(void) {
    float values[6] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[] = {2, 3};
    via_array *array = NULL;
    via_file *file = NULL;
    struct DLManagedTensorVersioned *tensor = NULL;
    via_stats_info stats = VIA_STATS_INFO_INIT;
    via_pointer_info pointer = VIA_POINTER_INFO_INIT;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    via_file_options file_options = VIA_FILE_OPTIONS_INIT;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    const via_status required = via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR);
    printf("%s %s\\n", via_status_name(required), via_last_error());
    int failed = via_wrap(values, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) != VIA_OK;
    failed |= via_stats(&stats) != VIA_OK || stats.live_arrays != 1;
    failed |= via_pointer_query(values, &pointer) != VIA_OK || pointer.device_type != VIA_DEVICE_CPU;
    failed |= via_to_array_interface(array, &description) != VIA_OK || description.shape[1] != 3;
    failed |= via_to_dlpack(array, &options, NULL, &tensor) != VIA_OK;
    failed |= via_file_open("/proc/self/exe", &file_options, &file) != VIA_OK;
    failed |= via_file_info(file, &properties) != VIA_OK || properties.nbytes < 1000;
    via_dlpack_delete(tensor);
    via_file_release(file);
    via_array_release(array);
    printf("%s\\n", failed ? via_last_error() : "all calls served");
    return failed;
}
"""


@pytest.fixture(autouse=True)
def there_is_a_library() -> None:
    if not library().exists():
        pytest.skip(f"no library at {library()}: build it first")


def versioned(text: str, major: int, minor: int) -> str:
    text = re.sub(r"VIA_VERSION_MAJOR = \d+", f"VIA_VERSION_MAJOR = {major}", text)
    return re.sub(r"VIA_VERSION_MINOR = \d+", f"VIA_VERSION_MINOR = {minor}", text)


def longer(text: str) -> str:
    """Every struct with a field more at its end. Compilers zero what an initialiser leaves out."""
    for name in structs():
        text, count = re.subn(rf"\n}} {name};", f"\n    int64_t of_a_newer_version[4];\n}} {name};", text)
        assert count == 1
    return text


def shorter(text: str) -> str:
    """The options without their last field, and what is described without the last one that the program does not read."""
    for name in ("via_dlpack_options", "via_file_options", "via_stats_info"):
        body = re.search(rf"typedef struct {name} \{{.*?\n}} {name};", text, re.DOTALL)
        assert body
        cut = re.sub(r"\n    int\d+_t \w+;[^\n]*(\n} )", r"\1", body[0])
        assert cut != body[0]
        text = text.replace(body[0], cut)
        text = re.sub(rf"(#define {name.upper()}_INIT .*), 0}}", r"\1}", text)
    return text


def build(folder: Path, header: str, program: str = PROGRAM, link: Path | None = None) -> Path:
    (folder / "viaduct").mkdir()
    (folder / "viaduct/viaduct.h").write_text(header)
    linked = [link] if link else [f"-L{library().parent}", "-lviaduct"]
    options = ["-std=c11", "-Wall", "-Werror", "-Wno-missing-field-initializers", f"-I{folder}"]
    (folder / "program.c").write_text(program)
    run("gcc", *options, folder / "program.c", *linked, f"-Wl,-rpath,{library().parent}", "-o", folder / "program")
    return folder / "program"


def test_a_program_of_a_newer_minor_version_learns_that_the_library_is_older(tmp_path: Path) -> None:
    printed = run(build(tmp_path, longer(versioned(HEADER.read_text(), MAJOR, MINOR + 1))))
    first, second = printed.splitlines()
    assert first.startswith("VIA_ERROR_VERSION via_require: ")
    assert f"{MAJOR}.{MINOR + 1}" in first
    assert f"{MAJOR}.{MINOR}" in first.replace(f"{MAJOR}.{MINOR + 1}", "")
    # If it goes on with what it knows of the older one, its longer structs are served as the shorter ones that they hold.
    assert second == "all calls served"


@pytest.mark.parametrize("major", [MAJOR + 1, MAJOR - 1])
def test_a_program_of_another_major_version_is_reported(tmp_path: Path, major: int) -> None:
    first, *_ = run(build(tmp_path, versioned(HEADER.read_text(), major, 0))).splitlines()
    assert first.startswith("VIA_ERROR_VERSION via_require: ")
    assert f"{major}.0" in first


def test_a_program_of_an_older_minor_version_is_served(tmp_path: Path) -> None:
    header = shorter(versioned(HEADER.read_text(), MAJOR, max(MINOR - 1, 0)))
    assert run(build(tmp_path, header)).splitlines() == ["VIA_OK ", "all calls served"]


def test_a_program_that_needs_a_newer_function_is_not_started(tmp_path: Path) -> None:
    """By the version of the symbol, which the loader looks for before the program runs."""
    added = f"VIADUCT_{MAJOR}.{MINOR + 1}"
    versions = tmp_path / "newer.map"
    versions.write_text(baseline.MAP.read_text() + f"\n{added} {{\n  global: via_added;\n}} VIADUCT_{MAJOR}.{MINOR};\n")
    declared = "VIA_API int32_t via_version(void);"
    header = HEADER.read_text().replace(declared, f"{declared}\nVIA_API int32_t via_added(void);")
    newer = tmp_path / "newer"
    newer.mkdir()
    text = baseline.empty_functions() + "int32_t via_added(void) { return 0; }\n"
    linked = baseline.build_empty(newer, text, versions=versions)
    program = '#include "viaduct/viaduct.h"\nint main(void) { return via_added(); }\n'
    built = build(tmp_path, header, program, linked)
    started = subprocess.run([built], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    assert started.returncode != 0
    assert f"version `{added}' not found" in started.stderr
