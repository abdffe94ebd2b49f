"""The C++ layer: every function of the header is in it, every compiler and standard takes it, and it costs nothing."""

import re
import shutil
from pathlib import Path

import pytest
from abi_tools import ROOT, functions, library, run
from repeats import repeats

LAYER = ROOT / "bindings/cpp"
HEADERS = sorted(LAYER.glob("viaduct/**/*.hpp"))
# Each standard, and errors thrown (0) or returned (1): what the programs of ctest leave open.
WAYS = [("c++17", 1), ("c++20", 0), ("c++2b", 1)]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion"]
STRICT += ["-Wold-style-cast", "-Werror"]
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{LAYER}"]


def cxx_compilers() -> list[str]:
    """GCC and the newest clang, of those that this machine has."""
    names = [*(f"clang++-{number}" for number in range(40, 13, -1)), "clang++"]
    clang = [name for name in names if shutil.which(name)][:1]
    return [*(["g++"] if shutil.which("g++") else []), *clang]


# Those that what no standard and no warning depends on is compiled with.
FEW_COMPILERS = cxx_compilers()[: repeats(2, quick=1)]


def compile_text(compiler: str, text: str, *options: object) -> None:
    run(compiler, "-x", "c++", *STRICT, *INCLUDES, *options, "-fsyntax-only", "-", stdin=text)


def test_every_function_of_the_header_is_called_by_the_layer() -> None:
    text = "".join(header.read_text() for header in HEADERS)
    assert len(functions()) > 100
    assert sorted(name for name in functions() if not re.search(rf"\b{name}\b", text)) == []


@pytest.mark.sampled
@pytest.mark.parametrize(("standard", "errors"), WAYS)
@pytest.mark.parametrize("compiler", cxx_compilers())
def test_the_layer_compiles_alone_and_twice_without_a_warning(compiler: str, standard: str, errors: int) -> None:
    text = '#include "viaduct/viaduct.hpp"\n#include "viaduct/viaduct.hpp"\n'
    compile_text(compiler, text, f"-std={standard}", f"-DVIADUCT_RETURN_ERRORS={errors}")


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_the_layer_compiles_after_the_macros_of_complex_numbers_in_c(compiler: str) -> None:
    """<complex.h> defines `I`, in C++ too unless the standard is a strict one: FFTW's callers include it."""
    compile_text(compiler, '#include <complex.h>\n#include "viaduct/viaduct.hpp"\n', "-std=gnu++17")


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_without_exceptions_in_the_compiler_errors_are_returned(compiler: str) -> None:
    text = '#include "viaduct/viaduct.hpp"\nbool f() { return viaduct::require().has_value(); }\n'
    compile_text(compiler, text, "-std=c++17", "-fno-exceptions")


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_a_returned_error_that_is_not_looked_at_is_warned_of(compiler: str) -> None:
    text = '#include "viaduct/viaduct.hpp"\nvoid f() { viaduct::require(); }\n'
    with pytest.raises(AssertionError, match="nodiscard|unused-result"):
        compile_text(compiler, text, "-std=c++17", "-DVIADUCT_RETURN_ERRORS=1")


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_a_callback_that_may_throw_does_not_compile(compiler: str) -> None:
    text = (
        '#include "viaduct/viaduct.hpp"\nvoid f(viaduct::Task &t) { t.on_complete([](via_status, const char *) {}); }\n'
    )
    with pytest.raises(AssertionError, match="noexcept"):
        compile_text(compiler, text, "-std=c++17")


ELEMENTS = """
double f{number}() {{
    viaduct::Array array = viaduct::Array::empty(VIA_FLOAT64, {{4}});
    double sum = 0;
    for (const double each : viaduct::elements<double>({given})) {{
        sum += each;
    }}
    return sum;
}}
"""


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_elements_of_a_temporary_do_not_compile(compiler: str) -> None:
    """The loop would read freed memory: nothing holds the array."""
    header, good = '#include "viaduct/viaduct.hpp"\n', ELEMENTS.format(number=0, given="array")
    compile_text(compiler, header + good, "-std=c++17")
    given = ("viaduct::Array::empty(VIA_FLOAT64, {4})", "std::move(array)", "array.reshape({4})")
    bad = [ELEMENTS.format(number=number + 1, given=each) for number, each in enumerate(given)]
    with pytest.raises(AssertionError) as raised:
        compile_text(compiler, header + "".join([good, *bad]), "-std=c++17")
    lines = [int(line) for line in re.findall(r"<stdin>:(\d+):\d+: error: .*deleted", str(raised.value))]
    length = good.count("\n")
    assert lines == [1 + length * number + 5 for number in (1, 2, 3)], str(raised.value)


def hot_instructions(assembly: str, function: str) -> list[str]:
    """A function's instructions as far as its return, which is as far as success goes; places on the stack and labels
    are left out, since they are named as it falls."""
    body = assembly.partition(f"\n{function}:")[2]
    found = []
    for line in body.splitlines():
        words = line.partition("#")[0].split(maxsplit=1)
        if not words or words[0].startswith(".") or words[0].endswith(":"):
            continue
        found.append(re.sub(r"-?\w+\(%rsp\)|\.L\w+|\$\d+, %rsp", "_", " ".join(words)))
        if re.match(r"ret|jmp\s+via_", found[-1]):
            return found
    raise AssertionError(f"{function} does not return")


def calls(instructions: list[str]) -> list[str]:
    return re.findall(r"(?:call|callq|j[a-z]+) ([A-Za-z]\w+)", "\n".join(instructions))


@pytest.fixture(scope="module", params=FEW_COMPILERS)
def assembly(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("cost") / "pairs.s"
    run(request.param, "-std=c++17", "-O2", *INCLUDES, "-S", "-o", out, ROOT / "tests/cpp/cost/pairs.cpp")
    return out.read_text()


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists() or "x86" not in run("uname", "-m"), reason="reads x86's names")
class TestCost:
    @pytest.mark.parametrize("what", ["getter", "copy"])
    def test_a_call_is_instruction_for_instruction_that_of_c(self, assembly: str, what: str) -> None:
        plain, owned = (hot_instructions(assembly, f"{kind}_{what}") for kind in ("plain", "owned"))
        assert sorted(owned) == sorted(plain)

    @pytest.mark.parametrize("what", ["round", "move"])
    def test_an_owner_calls_what_c_calls_and_adds_four_moves_at_most(self, assembly: str, what: str) -> None:
        plain, owned = (hot_instructions(assembly, f"{kind}_{what}") for kind in ("plain", "owned"))
        assert calls(owned) == calls(plain)
        assert len(owned) <= len(plain) + 4, "\n".join(owned)


PART = """
#define VIADUCT_RETURN_ERRORS 1
#include "viaduct/viaduct.hpp"
#include <cstdio>
void say_{standard}() {{
    const auto array = viaduct::Array::empty<float>({{3, 4}});
    const auto row = array->select(0, 9);
    std::puts(row ? "no error" : row.error().what());
}}
"""
WHOLE = "void say_17(); void say_23(); int main() { say_17(); say_23(); }"


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_one_program_has_parts_of_several_standards_that_return_errors(compiler: str, tmp_path: Path) -> None:
    """Where nothing is inlined, the linker takes the functions of one part for both, unless their names differ."""
    (tmp_path / "whole.cpp").write_text(WHOLE)
    for standard, name in ((17, "c++17"), (23, "c++2b")):
        (tmp_path / f"{standard}.cpp").write_text(PART.format(standard=standard))
        part = [tmp_path / f"{standard}.cpp", "-o", tmp_path / f"{standard}.o"]
        run(compiler, f"-std={name}", "-O0", *STRICT, *INCLUDES, "-c", *part)
    parts = [tmp_path / name for name in ("whole.cpp", "17.o", "23.o")]
    where = library().parent
    run(compiler, *parts, "-o", tmp_path / "whole", f"-L{where}", "-lviaduct", f"-Wl,-rpath,{where}")
    said = run(tmp_path / "whole").splitlines()
    assert said == ["via_array_select: index is 9; expected -3 to 2 along axis 0"] * 2


THROWING = """
#define VIADUCT_RETURN_ERRORS 1
#include "viaduct/viaduct.hpp"
#include <cstdio>
long size_without(via_array *array);
int main() {
    const auto array = viaduct::Array::empty<float>({3, 4});
    try {
        static_cast<void>(array.value().select(0, 9).value());
    } catch (const viaduct::BadExpectedAccess<viaduct::Error> &caught) {
        std::puts(caught.error().what());
    }
    try {
        viaduct::copy(array.value(), viaduct::Array()).value();
    } catch (const viaduct::BadExpectedAccess<viaduct::Error> &caught) {
        std::printf("%s; %ld\\n", caught.error().name(), size_without(array.value().get()));
    }
}
"""
ABORTING = """
#include "viaduct/viaduct.hpp"
long size_without(via_array *array) {
    via_array_retain(array);
    const viaduct::Array own(array);
    own.synchronize().value();
    return own.select(0, 0).value().size();
}
"""


@pytest.mark.parametrize("compiler", FEW_COMPILERS)
def test_value_throws_in_the_parts_that_have_exceptions_whatever_the_others_have(compiler: str, tmp_path: Path) -> None:
    """The linker takes one of functions of a name, the first: there must be none of which only one part's is right."""
    parts = []
    for name, text, option in (("throwing", THROWING, "-fexceptions"), ("aborting", ABORTING, "-fno-exceptions")):
        parts.append(tmp_path / f"{name}.o")
        source = ["-x", "c++", "-c", "-", "-o", parts[-1]]
        run(compiler, "-std=c++17", "-O0", option, *STRICT, *INCLUDES, *source, stdin=text)
    where = library().parent
    for order in (parts, parts[::-1]):
        run(compiler, *order, "-o", tmp_path / "whole", f"-L{where}", "-lviaduct", f"-Wl,-rpath,{where}")
        said = run(tmp_path / "whole").splitlines()
        assert said == [
            "via_array_select: index is 9; expected -3 to 2 along axis 0",
            "VIA_ERROR_INVALID_ARGUMENT; 4",
        ]


MDSPAN = """
#include "viaduct/viaduct.hpp"
#include <cstdio>
int main() {
    float values[6] = {0, 1, 2, 3, 4, 5};
    const auto transposed = viaduct::Array::wrap(values, {2, 3}).permute();
    const auto span = viaduct::strided_elements<float, 2>(transposed);
    std::printf("%g %g\\n", span[2, 1], span[1, 0]);
    try {
        const auto backwards = transposed.slice({2, 0}, {}, {-1, 1});
        static_cast<void>(viaduct::strided_elements<float, 2>(backwards));
    } catch (const viaduct::NeedsCopyError &error) {
        std::puts(error.what());
    }
}
"""


REFUSED = "strided_elements: stride of axis 0 is -4 bytes; expected a positive number of elements\n"


def test_an_mdspan_has_the_arrays_strides(tmp_path: Path) -> None:
    """In whichever standard library of this machine has one: libstdc++ as of GCC 15, libc++ as of 18."""
    has = "#include <mdspan>\n#ifndef __cpp_lib_mdspan\n#error none\n#endif\n"
    for compiler in cxx_compilers():
        for standard_library in ([], ["-stdlib=libc++"] if "clang" in compiler else []):
            options = ["-std=c++2b", *standard_library]
            try:
                run(compiler, "-x", "c++", *options, "-fsyntax-only", "-", stdin=has)
            except AssertionError:
                continue
            (tmp_path / "mdspan.cpp").write_text(MDSPAN)
            where = library().parent
            link = [
                tmp_path / "mdspan.cpp",
                "-o",
                tmp_path / "mdspan",
                f"-L{where}",
                "-lviaduct",
                f"-Wl,-rpath,{where}",
            ]
            run(compiler, *options, *STRICT, *INCLUDES, *link)
            assert run(tmp_path / "mdspan") == "5 1\n" + REFUSED
            return
    pytest.skip("no standard library of this machine has std::mdspan")
