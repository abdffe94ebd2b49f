"""The public header, read by a C parser, and the built library, read by nm."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/viaduct/viaduct.h"


def run(*command: object, stdin: str = "") -> str:
    """What a command prints; the test fails with all of its output if it does."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\nexited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def compilers() -> list[str]:
    """The C compilers of this machine, of those that are tested."""
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def library() -> Path:
    """The built shared library."""
    build = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
    return build / "src/libviaduct.so"


@cache
def parsed() -> c_ast.FileAST:
    """The header's syntax tree; attributes, which C does not have, are left out."""
    text = run("gcc", "-E", "-P", "-D__attribute__(x)=", "-D__extension__=", HEADER)
    return c_parser.CParser().parse(text, str(HEADER))


def public(name: str | None) -> bool:
    return bool(name) and name.lower().startswith("via_")


@cache
def functions() -> dict[str, c_ast.FuncDecl]:
    """The declared functions."""
    return {
        node.name: node.type
        for node in parsed().ext
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
    }


@cache
def callbacks() -> dict[str, c_ast.FuncDecl]:
    """The types of callbacks."""
    return {
        node.name: node.type.type
        for node in parsed().ext
        if isinstance(node, c_ast.Typedef)
        and public(node.name)
        and isinstance(node.type, c_ast.PtrDecl)
        and isinstance(node.type.type, c_ast.FuncDecl)
    }


@cache
def structs() -> dict[str, list[c_ast.Decl]]:
    """The structs whose fields are reported, and the fields."""
    found = {}
    for node in parsed().ext:
        inner = node.type.type if isinstance(node, c_ast.Typedef) and isinstance(node.type, c_ast.TypeDecl) else None
        if public(getattr(node, "name", None)) and isinstance(inner, c_ast.Struct) and inner.decls:
            found[node.name] = inner.decls
    return found


@cache
def handles() -> set[str]:
    """The structs whose fields are not reported."""
    declared = (node for node in parsed().ext if isinstance(node, c_ast.Typedef) and public(node.name))
    inner = {node.name: node.type.type for node in declared if isinstance(node.type, c_ast.TypeDecl)}
    return {name for name, kind in inner.items() if isinstance(kind, c_ast.Struct) and not kind.decls}


@cache
def enumerators() -> dict[str, c_ast.Enumerator]:
    found = {}

    class Visitor(c_ast.NodeVisitor):
        def visit_Enumerator(self, node: c_ast.Enumerator) -> None:
            found[node.name] = node

    Visitor().visit(parsed())
    return found


@cache
def macros() -> dict[str, str]:
    """The macros that the header defines, and what they stand for."""
    names = re.findall(r"^#define (\w+)", HEADER.read_text(), re.MULTILINE)
    lines = run("gcc", "-E", "-dM", HEADER).splitlines()
    defined = dict(line.removeprefix("#define ").partition(" ")[::2] for line in lines)
    return {name: defined[name] for name in names if name in defined}


def parameters(declared: c_ast.FuncDecl) -> list[c_ast.Decl]:
    """The parameters, none for (void)."""
    listed = declared.args.params if declared.args else []
    return [each for each in listed if not isinstance(each, c_ast.Typename)]


def spelled(kind: c_ast.Node) -> str:
    """A type as C spells it without a name: 'const int64_t *'."""
    nameless = c_ast.Typename(None, [], None, kind)
    text = c_generator.CGenerator().visit(_without_name(nameless))
    return " ".join(text.replace("*", " * ").split()).replace("* *", "**")


def _without_name(node: c_ast.Typename) -> c_ast.Typename:
    at = node.type
    while not isinstance(at, c_ast.TypeDecl):
        at = at.type
    at.declname = None
    return node
