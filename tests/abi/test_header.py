"""The header alone, in every language and standard that it promises, under every warning."""

from pathlib import Path

import pytest
from abi_tools import HEADER, ROOT, compilers, run

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wundef", "-Wshadow", "-Wconversion"]
C_STANDARDS = ["c11", "c17", "gnu11", "c2x"]
CXX_STANDARDS = ["c++11", "c++14", "c++17", "c++20", "c++2b"]

# Twice, because it must not mind; first, because it must not need anything before it.
ALONE = '#include "viaduct/viaduct.h"\n#include "viaduct/viaduct.h"\n'
EVERY_INIT = """
via_device_properties device = VIA_DEVICE_PROPERTIES_INIT;
via_stats_info stats = VIA_STATS_INFO_INIT;
via_pointer_info pointer = VIA_POINTER_INFO_INIT;
via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
via_convert_options convert_options = VIA_CONVERT_OPTIONS_INIT;
via_file_options file_options = VIA_FILE_OPTIONS_INIT;
via_file_properties file = VIA_FILE_PROPERTIES_INIT;
"""


def compile_text(compiler: str, language: str, standard: str, warnings: list[str], text: str) -> None:
    options = [f"-std={standard}", *warnings, f"-I{ROOT / 'include'}", "-S", "-o", "/dev/null"]
    run(compiler, "-x", language, *options, "-", stdin=text)


@pytest.mark.parametrize("standard", C_STANDARDS)
@pytest.mark.parametrize("compiler", compilers())
def test_the_header_compiles_alone_as_c(compiler: str, standard: str) -> None:
    compile_text(compiler, "c", standard, STRICT + ["-Wstrict-prototypes"], ALONE + EVERY_INIT)


@pytest.mark.parametrize("standard", CXX_STANDARDS)
@pytest.mark.parametrize("compiler", compilers())
def test_the_header_compiles_alone_as_cxx(compiler: str, standard: str) -> None:
    compile_text(compiler, "c++", standard, STRICT + ["-Wold-style-cast"], ALONE + EVERY_INIT)


@pytest.mark.parametrize("compiler", compilers())
def test_a_status_that_is_not_looked_at_is_warned_of(compiler: str) -> None:
    ignored = ALONE + "void f(void) { via_copy(0, 0); }\n"
    with pytest.raises(AssertionError, match="unused-result"):
        compile_text(compiler, "c", "c11", STRICT, ignored)


@pytest.mark.parametrize("language", ["python", "java", "csharp"])
def test_swig_reads_the_header_without_a_warning(tmp_path: Path, language: str) -> None:
    interface = tmp_path / "viaduct.i"
    interface.write_text(
        "%module viaduct\n%{\n#include <viaduct/viaduct.h>\n%}\n"
        "%apply int {int32_t}; %apply long long {int64_t};\n"
        f'%include "{HEADER}"\n'
    )
    printed = run("swig", f"-{language}", "-Wall", "-Werror", "-outdir", tmp_path, "-o", tmp_path / "wrap.c", interface)
    assert printed == ""


def test_the_header_is_plain_ascii_and_defines_nothing_inline() -> None:
    text = HEADER.read_bytes().decode("ascii")
    assert "inline" not in text.replace("nothing inline", "")
    assert not [line for line in text.splitlines() if line.rstrip() != line or "\t" in line]
