"""The rules of the contract that a parser can check."""

import keyword
import re
from collections import Counter

import pytest
from abi_tools import (
    HEADER,
    ROOT,
    callbacks,
    enumerators,
    functions,
    handles,
    macros,
    parameters,
    public,
    spelled,
    structs,
)
from pycparser import c_ast

JAVA = [
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "try",
    "void",
    "volatile",
    "while",
    "true",
    "false",
    "null",
    "_",
]

CSHARP = [
    "abstract",
    "as",
    "base",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "checked",
    "class",
    "const",
    "continue",
    "decimal",
    "default",
    "delegate",
    "do",
    "double",
    "else",
    "enum",
    "event",
    "explicit",
    "extern",
    "false",
    "finally",
    "fixed",
    "float",
    "for",
    "foreach",
    "goto",
    "if",
    "implicit",
    "in",
    "int",
    "interface",
    "internal",
    "is",
    "lock",
    "long",
    "namespace",
    "new",
    "null",
    "object",
    "operator",
    "out",
    "override",
    "params",
    "private",
    "protected",
    "public",
    "readonly",
    "ref",
    "return",
    "sbyte",
    "sealed",
    "short",
    "sizeof",
    "stackalloc",
    "static",
    "string",
    "struct",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "uint",
    "ulong",
    "unchecked",
    "unsafe",
    "ushort",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
]

# Statements and attributes of Fortran 2023.
FORTRAN = [
    "abstract",
    "allocatable",
    "allocate",
    "assign",
    "associate",
    "asynchronous",
    "backspace",
    "bind",
    "block",
    "call",
    "case",
    "change",
    "character",
    "class",
    "close",
    "codimension",
    "common",
    "complex",
    "concurrent",
    "contains",
    "contiguous",
    "continue",
    "critical",
    "cycle",
    "data",
    "deallocate",
    "default",
    "deferred",
    "dimension",
    "do",
    "double",
    "elemental",
    "else",
    "elseif",
    "elsewhere",
    "end",
    "enddo",
    "endfile",
    "endif",
    "entry",
    "enum",
    "enumeration",
    "enumerator",
    "equivalence",
    "error",
    "exit",
    "extends",
    "external",
    "fail",
    "final",
    "flush",
    "forall",
    "form",
    "format",
    "function",
    "generic",
    "go",
    "goto",
    "if",
    "implicit",
    "import",
    "impure",
    "in",
    "include",
    "inquire",
    "integer",
    "intent",
    "interface",
    "intrinsic",
    "lock",
    "logical",
    "module",
    "namelist",
    "non_intrinsic",
    "non_overridable",
    "none",
    "nopass",
    "notify",
    "nullify",
    "only",
    "open",
    "operator",
    "optional",
    "out",
    "parameter",
    "pass",
    "pause",
    "pointer",
    "precision",
    "print",
    "private",
    "procedure",
    "program",
    "protected",
    "public",
    "pure",
    "rank",
    "read",
    "real",
    "recursive",
    "result",
    "return",
    "rewind",
    "save",
    "select",
    "sequence",
    "stop",
    "submodule",
    "subroutine",
    "sync",
    "target",
    "team",
    "then",
    "to",
    "type",
    "unlock",
    "use",
    "value",
    "volatile",
    "wait",
    "where",
    "while",
    "write",
]

KEYWORDS = {word: "Java" for word in JAVA} | {word: "C#" for word in CSHARP}
KEYWORDS |= {word: "Fortran" for word in FORTRAN} | {word.lower(): "Python" for word in keyword.kwlist}

NUMBERS = ("int32_t", "int64_t", "double")
FOREIGN = ("DLManagedTensorVersioned", "DLManagedTensor", "ArrowSchema", "ArrowDeviceArray")
FUNCTIONS = sorted(functions())
CALLBACKS = sorted(callbacks())


def all_parameters() -> list[tuple[str, c_ast.Decl]]:
    declared = functions() | callbacks()
    return [(name, each) for name in declared for each in parameters(declared[name])]


def test_there_is_something_to_check() -> None:
    assert len(FUNCTIONS) > 100
    assert len(CALLBACKS) == 4
    assert len(structs()) == 8
    assert handles() == {
        f"via_{noun}" for noun in ("array", "memory", "stream", "event", "task", "batch", "file", "archive")
    }


def test_every_public_name_has_the_prefix() -> None:
    names = [*functions(), *callbacks(), *structs(), *handles(), *enumerators(), *macros()]
    assert [name for name in names if not public(name) and name != "VIADUCT_VIADUCT_H"] == []


def test_no_two_public_names_are_equal_when_case_is_ignored() -> None:
    """Fortran does not distinguish case."""
    names = [*functions(), *callbacks(), *structs(), *handles(), *enumerators(), *macros(), "via_status"]
    counted = Counter(name.lower() for name in names)
    assert [name for name, count in counted.items() if count > 1] == []


def test_no_two_fields_or_parameters_next_to_one_another_are_equal_when_case_is_ignored() -> None:
    lists = [parameters(each) for each in (functions() | callbacks()).values()] + list(structs().values())
    for listed in lists:
        assert len({each.name.lower() for each in listed}) == len(listed)


def test_no_parameter_is_a_keyword_of_any_language() -> None:
    named = {f"{name}({each.name})": KEYWORDS.get(each.name.lower()) for name, each in all_parameters()}
    assert {name: language for name, language in named.items() if language} == {}


def test_no_field_is_a_keyword_of_any_language() -> None:
    named = {
        f"{name}.{field.name}": KEYWORDS.get(field.name.lower()) for name in structs() for field in structs()[name]
    }
    assert {name: language for name, language in named.items() if language} == {}


def allowed_return_types() -> set[str]:
    borrowed = {"const char *", "void *", "const int64_t *", "via_stream *"}
    return {"void", "int32_t", "int64_t", "via_status"} | borrowed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_return_types_are_those_of_the_contract(name: str) -> None:
    assert spelled(functions()[name].type) in allowed_return_types()


def allowed_input_types() -> set[str]:
    """A status is only ever returned; handles are never const; structs go by pointer."""
    plain = {*NUMBERS, "const char *", "void *", "const void *", "const int64_t *", "const int32_t *"}
    handed = {f"{handle} *" for handle in handles()} | {"via_array * const *", "const char * const *"}
    flat = {f"const {name} *" for name in structs()} | {f"struct {name} *" for name in FOREIGN}
    return plain | handed | flat | set(callbacks())


def allowed_output_types() -> set[str]:
    numbers = {"int32_t *", "int64_t *", "char *", "void *", "void **"}
    handed = {f"{handle} **" for handle in handles()}
    flat = {f"{name} *" for name in structs()} | {"struct ArrowSchema *", "struct ArrowDeviceArray *"}
    return numbers | handed | flat | {"struct DLManagedTensorVersioned **", "struct DLManagedTensor **"}


@pytest.mark.parametrize(("name", "parameter"), all_parameters(), ids=lambda each: getattr(each, "name", each))
def test_a_parameter_is_an_output_if_and_only_if_it_is_named_so(name: str, parameter: c_ast.Decl) -> None:
    """And its type is one that crosses to every language."""
    kind = spelled(parameter.type)
    if parameter.name.startswith("out_"):
        assert kind in allowed_output_types(), f"{name}: {kind} {parameter.name}"
    else:
        assert kind in allowed_input_types(), f"{name}: {kind} {parameter.name}"


@pytest.mark.parametrize("name", FUNCTIONS + CALLBACKS)
def test_outputs_come_last(name: str) -> None:
    declared = (functions() | callbacks())[name]
    outputs = [each.name.startswith("out_") for each in parameters(declared)]
    assert outputs == sorted(outputs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_callback_is_followed_by_its_context(name: str) -> None:
    listed = parameters(functions()[name])
    for at, each in enumerate(listed):
        if spelled(each.type) in callbacks() and name != "via_array_context":  # which compares it, and calls nobody
            following = listed[at + 1]
            assert spelled(following.type) == "void *"
            assert following.name.endswith("context")


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_takes_its_context(name: str) -> None:
    contexts = [each for each in parameters(callbacks()[name]) if each.name == "context"]
    assert [spelled(each.type) for each in contexts] == ["void *"]


def test_every_enumerator_has_an_explicit_value() -> None:
    assert len(enumerators()) > 80
    assert [name for name, each in enumerators().items() if each.value is None] == []


def test_every_constant_is_an_enumerator_and_no_macro() -> None:
    helpers = {"VIADUCT_VIADUCT_H", "VIA_API", "VIA_CHECKED"}
    assert {name for name in macros() if not name.endswith("_INIT")} == helpers


@pytest.mark.parametrize("name", sorted(structs()))
def test_a_struct_begins_with_its_size_and_has_an_init_macro(name: str) -> None:
    first = structs()[name][0]
    assert (first.name, spelled(first.type)) == ("struct_size", "int32_t")
    assert macros()[f"{name.upper()}_INIT"].startswith(f"{{sizeof({name}), 0")


@pytest.mark.parametrize("name", sorted(structs()))
def test_a_struct_holds_numbers_addresses_and_text_and_no_handles(name: str) -> None:
    for field in structs()[name]:
        kind = re.sub(r" ?\[\d+\]$", "", spelled(field.type))
        assert kind in {"int32_t", "int64_t", "double", "void *", "char"}, f"{field.name}: {kind}"


@pytest.mark.parametrize("name", sorted(structs()))
def test_the_fields_of_a_struct_leave_no_holes(name: str) -> None:
    """So that every language lays it out alike: 8-byte fields start at multiples of 8."""
    at = 0
    for field in structs()[name]:
        kind, _, count = spelled(field.type).partition("[")
        size = {"int32_t": 4, "char": 1}.get(kind.strip(), 8)
        assert at % size == 0, f"{field.name} at {at}"
        at += size * int(count.rstrip("]") or 1)
    assert at % 8 == 0


@pytest.mark.parametrize("name", FUNCTIONS + CALLBACKS)
def test_every_function_and_callback_is_documented(name: str) -> None:
    text = HEADER.read_text()
    declaration = re.search(rf"^(?:VIA_API|VIA_CHECKED|typedef) [^;]*?\b{name}\)?\(", text, re.MULTILINE)
    assert declaration, f"{name} is not declared at the start of a line"
    before = text[: declaration.start()].rstrip()
    comment = before[before.rfind("/**") :]
    assert before.endswith("*/") and comment.count("*/") == 1, f"{name} has no comment"
    assert len(comment) > len("/** */") + 8


def is_described(text: str, at: int, end: int) -> bool:
    """Whether a comment of Doxygen's follows what stands from `at` to `end` on its line, or ends just before it."""
    before = text[:at].rstrip()
    above = before[before.rfind("/*") :] if before.endswith("*/") else ""
    after = text[end : text.index("\n", end)].lstrip(" ,;")
    return after.startswith("/**< ") or (above.startswith("/**") and not above.startswith("/**<"))


@pytest.mark.parametrize("name", sorted(enumerators()))
def test_every_constant_is_documented(name: str) -> None:
    text = HEADER.read_text()
    found = re.search(rf"^ +{name} = \w+", text, re.MULTILINE)
    assert found, f"{name} has no line of its own"
    assert is_described(text, *found.span()), f"{name} has no comment"


@pytest.mark.parametrize("name", sorted(structs()))
def test_every_field_is_documented(name: str) -> None:
    text = HEADER.read_text()
    begin = text.index(f"typedef struct {name} {{")
    body = text[begin : text.index(f"}} {name};", begin)]
    found = {field: re.search(rf"^ +\w+ \*?{field}(\[\d+\])?;", body, re.MULTILINE) for field in names_of(name)}
    assert [field for field, line in found.items() if not (line and is_described(body, *line.span()))] == []


def names_of(struct: str) -> list[str]:
    return [field.name for field in structs()[struct]]


@pytest.mark.parametrize("name", sorted([*structs(), *handles(), *(each for each in macros() if "_INIT" in each)]))
def test_every_struct_handle_and_initialiser_is_documented(name: str) -> None:
    text = HEADER.read_text()
    found = re.search(rf"^(?:typedef struct {name} (?:{name};|{{)|#define {name} .*)", text, re.MULTILINE)
    assert found, f"{name} does not begin a line"
    assert is_described(text, *found.span()), f"{name} has no comment"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_can_fail_warns_if_its_status_is_not_looked_at(name: str) -> None:
    fallible = spelled(functions()[name].type) == "via_status"
    marked = re.search(rf"^VIA_CHECKED [^;]*?\b{name}\(", HEADER.read_text(), re.MULTILINE)
    assert bool(marked) == fallible


def test_handles_are_retained_and_released() -> None:
    for handle in handles():
        for verb in ("retain", "release"):
            declared = functions()[f"{handle}_{verb}"]
            assert spelled(declared.type) == "void"
            assert [spelled(each.type) for each in parameters(declared)] == [f"{handle} *"]


def watched() -> list[tuple[str, list[str]]]:
    """The functions that the library defines for all to call, each with the arguments of its first line."""
    sources = "".join(path.read_text() for path in sorted((ROOT / "src/api").glob("*.cpp")))
    lines = re.findall(
        r"^[^\n ].*?\b(via_\w+)\([^;{}]*\) \{\n *VIA_TRACE_API\((.*?)\);$", sources, re.MULTILINE | re.DOTALL
    )
    return [(name, words.replace("\n", " ").split(",")) for name, words in lines]


def test_every_function_begins_by_letting_itself_be_watched() -> None:
    """A check of its handles, and a line for its call, need its name and all of its arguments."""
    expected = {name: [name, *(each.name for each in parameters(functions()[name]))] for name in functions()}
    assert {name: [word.strip() for word in words] for name, words in watched()} == expected
