"""The Fortran module: an interface for every exported symbol, of the kinds of the header, in every compiler there is."""

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from abi_tools import ROOT, callbacks, enumerators, functions, library, parameters, run, spelled, structs
from pycparser import c_ast

FOLDER = ROOT / "bindings/fortran"
INTERFACES = (FOLDER / "viaduct_c.f90").read_text()
TESTS = ["wrap", "get", "views", "errors", "exchange", "files", "api"]

# What a parameter of C is in Fortran, name by name: attributes that pass it as C does.
POINTER = "type(c_ptr), value"
PASSED = {
    "int32_t": {"integer(c_int32_t), value"},
    "int64_t": {"integer(c_int64_t), value"},
    "double": {"real(c_double), value"},
    "const char *": {"character(kind=c_char), intent(in)"},
    "char *": {"character(kind=c_char), intent(out)"},
    "const int64_t *": {"integer(c_int64_t), intent(in), optional"},
    "const int32_t *": {"integer(c_int32_t), intent(in), optional"},
    "int64_t *": {"integer(c_int64_t), intent(out)"},
    "int32_t *": {"integer(c_int32_t), intent(out)"},
    "via_array * const *": {"type(c_ptr), intent(in)"},
    "const char * const *": {"type(c_ptr), intent(in)"},
}
LISTS = {"const char *", "char *", "const int64_t *", "const int32_t *", "via_array * const *", "const char * const *"}
RETURNED = {"int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "via_status": "integer(c_int)"}


def expected(kind: str) -> set[str]:
    """The declarations that pass this type as C does."""
    if kind in PASSED:
        return PASSED[kind]
    if kind in callbacks():
        return {"type(c_funptr), value"}
    if kind.endswith("**"):
        return {"type(c_ptr), intent(out)"}
    pointee = kind.removeprefix("const ").removesuffix(" *")
    if pointee in structs():
        return {f"type({pointee}), intent({'in), optional' if kind.startswith('const') else 'inout)'}"}
    return {POINTER}


@cache
def interface(name: str) -> tuple[list[str], dict[str, str], str]:
    """The parameters of an interface in order, how each is declared with (*) kept, and the type it returns."""
    text = INTERFACES.replace("&\n", " ")
    found = re.search(rf"(function|subroutine) {name}\((.*?)\).*?\n(.*?)end \1", text, re.DOTALL)
    assert found, f"{name} has no interface"
    declared = {}
    for line in re.findall(r"^ +([a-z].*?) :: (.*)$", found[3], re.MULTILINE):
        declared |= {each.strip(): line[0] for each in line[1].split(",")}
    result = declared.pop("answer", "")
    return [each.strip() for each in found[2].split(",") if each.strip()], declared, result


def fortran_compilers() -> list[str]:
    numbered = [name for name in (f"flang-{number}" for number in range(40, 16, -1)) if shutil.which(name)]
    return [name for name in ("gfortran", *numbered[:1]) if shutil.which(name)]


@pytest.mark.parametrize("name", sorted(functions() | callbacks()))
def test_an_interface_has_the_parameters_and_kinds_of_the_header(name: str) -> None:
    in_c = (functions() | callbacks())[name]
    order, declared, result = interface(name)
    assert order == [each.name for each in parameters(in_c)]
    for each in parameters(in_c):
        kind = spelled(each.type)
        written = f"{each.name}(*)" if kind in LISTS else each.name
        assert declared[written] in expected(kind), f"{kind} {each.name}"
    returned = spelled(in_c.type)
    assert result == ("" if returned == "void" else RETURNED.get(returned, "type(c_ptr)"))


def test_an_interface_is_bound_to_its_own_name() -> None:
    bound = dict(re.findall(r"(?:function|subroutine) (via_\w+)\([^)]*\)[^\n]*?bind\(C, name=\"(\w+)\"\)",
                            INTERFACES.replace(" &\n        ", " ")))  # fmt: skip
    assert bound == {name: name for name in functions()}


def test_constants_have_the_values_of_the_header() -> None:
    found = dict(re.findall(r"integer\(c_int32_t\), parameter :: (\w+) = (-?\d+)", INTERFACES))
    values = {name: each.value for name, each in enumerators().items()}
    assert all(isinstance(value, c_ast.Constant) for value in values.values())
    assert {name: int(number) for name, number in found.items()} == {
        name: int(value.value, 0) for name, value in values.items()
    }


@pytest.mark.parametrize("name", sorted(structs()))
def test_a_struct_has_the_fields_of_the_header(name: str) -> None:
    kinds = {"int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "void *": "type(c_ptr)"}
    body = re.search(rf"type, bind\(C\) :: {name}\n(.*?)  end type", INTERFACES, re.DOTALL)
    assert body
    found = re.findall(r"^ +(.*?) :: (\w+)(?:\((\d+)\))? = ", body[1], re.MULTILINE)
    wanted = []
    for field in structs()[name]:
        kind, _, count = spelled(field.type).partition("[")
        wanted.append((kinds.get(kind.strip(), "character(kind=c_char)"), field.name, count.rstrip("]")))
    assert found == wanted


@pytest.fixture(scope="module", params=fortran_compilers() or ["none"])
def compiler(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A compiler, and a folder with the module compiled by it."""
    if request.param == "none":
        pytest.skip("there is no Fortran compiler")
    folder = tmp_path_factory.mktemp(request.param)
    binding = []
    if request.param != "gfortran":
        exported = sorted(Path(shutil.which(request.param) or "").resolve().parents[1].glob("include/flang/ISO_*.h"))
        if not exported:
            pytest.skip(f"{request.param} has no ISO_Fortran_binding.h")
        binding = [f"-I{exported[0].parent}"]
    run("gcc", "-c", f"-I{ROOT / 'include'}", *binding, FOLDER / "viaduct_descriptor.c", "-o", folder / "d.o")
    for source in ("viaduct_c", "viaduct"):
        run(request.param, f"-J{folder}", "-c", FOLDER / f"{source}.f90", "-o", folder / f"{source}.o")
    return request.param, folder


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran")
@pytest.mark.parametrize("option", ["-std=f2018", "-fdefault-integer-8", "-fdefault-real-8", "-fno-automatic"])
def test_the_module_compiles_with_the_options_of_older_projects(option: str, tmp_path: Path) -> None:
    """CMake compiles the module with the options of the project that asks for it."""
    for source in ("viaduct_c", "viaduct"):
        run("gfortran", option, f"-J{tmp_path}", "-fsyntax-only", FOLDER / f"{source}.f90")


def link(compiler: tuple[str, Path], program: Path, *sources: object) -> None:
    name, folder = compiler
    where = library().parent
    objects = [folder / f"{each}.o" for each in ("viaduct", "viaduct_c", "d")]
    options = [f"-J{program.parent}", f"-I{folder}", f"-L{where}", "-lviaduct", f"-Wl,-rpath,{where}"]
    run(name, *sources, *objects, *options, "-o", program)


def test_every_interface_links_to_the_library(compiler: tuple[str, Path], tmp_path: Path) -> None:
    names = sorted(functions())
    lines = "\n".join(f"  at({i + 1}) = c_funloc({name})" for i, name in enumerate(names))
    (tmp_path / "all.f90").write_text(
        f"program all\n  use viaduct\n  implicit none\n  type(c_funptr) :: at({len(names)})\n  integer :: i, there\n"
        f"{lines}\n  there = 0\n  do i = 1, size(at)\n    if (c_associated(at(i))) there = there + 1\n  end do\n"
        '  print "(i0)", there\nend program\n'
    )
    link(compiler, tmp_path / "all", tmp_path / "all.f90")
    assert run(tmp_path / "all").split() == [str(len(names))]


def test_the_tests_pass_with_every_compiler(compiler: tuple[str, Path], tmp_path: Path) -> None:
    """By ctest they run with one compiler; here with the others as well."""
    if compiler[0] == "gfortran":
        pytest.skip("run by ctest")
    for name in TESTS:
        link(compiler, tmp_path / name, ROOT / "tests/fortran/support.f90", ROOT / f"tests/fortran/{name}.f90")
        assert ", 0 broken" in run(tmp_path / name, tmp_path)


WRAPPED = """
subroutine s(given)
  use viaduct
  implicit none
  real(c_double), intent(in), target :: given(:)
  real(c_double), parameter :: constant(3) = [1, 2, 3]
  real(c_double), target :: t(3)
  type(viaduct_array) :: a
  t = given
  call a%{call}
end subroutine
"""


@pytest.mark.parametrize("what", ["t + 1", "(t)", "t([1, 3])", "constant", "given", "[1d0, 2d0]", "sqrt(t)"])
def test_a_temporary_and_what_may_not_be_written_are_not_wrapped(
    compiler: tuple[str, Path], tmp_path: Path, what: str
) -> None:
    """Their memory is gone, or another's, as soon as wrap returns: the compiler says so."""
    (tmp_path / "s.f90").write_text(WRAPPED.format(call=f"wrap({what})"))
    with pytest.raises(AssertionError, match="INTENT|intent|definable|vector subscript|variable"):
        run(compiler[0], f"-J{tmp_path}", f"-I{compiler[1]}", "-fsyntax-only", tmp_path / "s.f90")


@pytest.mark.parametrize("call", ["wrap(t)", "wrap(t(1:3:2))", "wrap_read_only(given)"])
def test_a_variable_is_wrapped(compiler: tuple[str, Path], tmp_path: Path, call: str) -> None:
    (tmp_path / "s.f90").write_text(WRAPPED.format(call=call))
    run(compiler[0], f"-J{tmp_path}", f"-I{compiler[1]}", "-fsyntax-only", tmp_path / "s.f90")
