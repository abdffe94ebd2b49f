"""The public header as data: what each function, callback, struct and constant is."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/viaduct/viaduct.h"


@dataclass(frozen=True)
class Value:
    """A parameter or a field: its C type without the name, and how many there are of a field."""

    name: str
    kind: str
    count: int = 1


@dataclass(frozen=True)
class Function:
    name: str
    returns: str
    parameters: tuple[Value, ...]


@dataclass(frozen=True)
class Contract:
    constants: dict[str, int]
    handles: tuple[str, ...]
    foreign: tuple[str, ...]
    structs: dict[str, tuple[Value, ...]]
    callbacks: tuple[Function, ...]
    functions: tuple[Function, ...]


def spelled(kind: c_ast.Node) -> str:
    """A type as C spells it without a name: "const int64_t *"."""
    text = c_generator.CGenerator().visit(c_ast.Typename(None, [], None, kind))
    return " ".join(text.replace("*", " * ").split()).replace("* *", "**")


def nameless(kind: c_ast.Node) -> c_ast.Node:
    at = kind
    while not isinstance(at, c_ast.TypeDecl):
        at = at.type
    at.declname = None
    return kind


def read_value(declared: c_ast.Decl) -> Value:
    count = 1
    kind = declared.type
    if isinstance(kind, c_ast.ArrayDecl):
        count, kind = int(kind.dim.value), kind.type
    return Value(declared.name, spelled(nameless(kind)), count)


def read_function(name: str, declared: c_ast.FuncDecl) -> Function:
    listed = declared.args.params if declared.args else []
    named = tuple(read_value(each) for each in listed if isinstance(each, c_ast.Decl))
    return Function(name, spelled(nameless(declared.type)), named)


def read_constants(node: c_ast.Enum) -> dict[str, int]:
    return {each.name: int(each.value.value, 0) for each in node.values.enumerators}


def enums_in(nodes: list[c_ast.Node]) -> dict[str, int]:
    """Every enumerator, in the order of the header."""
    found: dict[str, int] = {}
    for node in nodes:
        kind = node.type.type if isinstance(node, c_ast.Typedef) else node.type
        if isinstance(kind, c_ast.Enum):
            found |= read_constants(kind)
    return found


def parsed_header() -> list[c_ast.Node]:
    """The header's declarations; attributes, which C does not have, are left out, as is what the C library brings."""
    command = ["cc", "-E", "-D__attribute__(x)=", "-D__extension__=", str(HEADER)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    nodes = c_parser.CParser().parse(text, str(HEADER)).ext
    return [node for node in nodes if node.coord.file == str(HEADER)]


def read() -> Contract:
    nodes = parsed_header()
    typedefs = {node.name: node.type for node in nodes if isinstance(node, c_ast.Typedef)}
    plain = {name: kind.type for name, kind in typedefs.items() if isinstance(kind, c_ast.TypeDecl)}
    records = {name: kind.decls for name, kind in plain.items() if isinstance(kind, c_ast.Struct)}
    pointers = {name: kind.type for name, kind in typedefs.items() if isinstance(kind, c_ast.PtrDecl)}
    declared = [node for node in nodes if isinstance(node, c_ast.Decl)]
    return Contract(
        constants=enums_in(nodes),
        handles=tuple(name for name, fields in records.items() if not fields),
        foreign=tuple(node.type.name for node in declared if isinstance(node.type, c_ast.Struct)),
        structs={name: tuple(map(read_value, fields)) for name, fields in records.items() if fields},
        callbacks=tuple(read_function(name, kind) for name, kind in pointers.items()),
        functions=tuple(read_function(n.name, n.type) for n in declared if isinstance(n.type, c_ast.FuncDecl)),
    )


def pointed_to(kind: str) -> str:
    """What a pointer type points to, without const and struct: "via_array" for "via_array *"."""
    return re.sub(r"\b(const|struct) |\W+$", "", kind)


def size_of(fields: tuple[Value, ...]) -> int:
    """A struct's size; the fields leave no holes, which the tests of the header see to."""
    return sum({"int32_t": 4, "char": 1}.get(field.kind, 8) * field.count for field in fields)
