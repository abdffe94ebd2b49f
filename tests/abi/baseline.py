"""What a released header promised: its functions and types as libabigail sees them, and the numbers of its layouts.

The header only ever declares, so a library of empty functions made of it has the ABI of the real one, whose own symbols
test_symbols.py compares. Run as a program when a version is released, this writes the baseline of that version:

    python tests/abi/baseline.py
"""

import shutil
import sys
from pathlib import Path

from abi_tools import HEADER, ROOT, enumerators, parsed, run, spelled, structs
from pycparser import c_ast, c_generator

FOLDER = Path(__file__).parent
TYPES = FOLDER / "baseline.abi"
LAYOUT = FOLDER / "baseline.c"
INCLUDE = HEADER.parents[1]
MAP = ROOT / "src/api/viaduct.map"


def is_there() -> bool:
    """Whether libabigail is, which Debian has as abigail-tools."""
    return shutil.which("abidw") is not None and shutil.which("abidiff") is not None


def empty_functions() -> str:
    """A definition of every declared function."""
    lines = ['#include "viaduct/viaduct.h"']
    for node in parsed.__wrapped__().ext:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            result = node.type.type
            is_void = isinstance(result, c_ast.TypeDecl) and result.type.names == ["void"]
            lines.append(f"{c_generator.CGenerator().visit(node)} {{ {'' if is_void else 'return 0;'} }}")
    return "\n".join(lines) + "\n"


def build_empty(folder: Path, text: str, include: Path = INCLUDE, versions: Path = MAP) -> Path:
    """The library of these functions, with debug information for their types."""
    built = folder / "libviaduct.so.1"
    options = ["-g", "-shared", "-fPIC", f"-I{include}", "-Wl,-soname,libviaduct.so.1"]
    run("gcc", "-x", "c", *options, f"-Wl,--version-script={versions}", "-", "-o", built, stdin=text)
    return built


def write_types(folder: Path, to: Path) -> None:
    """Without what may differ: paths, lines, the names of parameters, and the processor."""
    options = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", "--no-architecture"]
    run("abidw", *options, "--out-file", to, build_empty(folder, empty_functions()))


MACROS = """/* Made by baseline.py: what programs built with the released header take for granted of constants and structs. */
#include <stddef.h>

#include "viaduct/viaduct.h"

#define VALUE(name, number) _Static_assert((name) == (number), #name)
#define FIELD(type, field, at, pointer)                                                                    \\
    _Static_assert(offsetof(type, field) == (at) && _Generic(&((type *)0)->field, pointer: 1, default: 0), \\
                   #type "." #field)
#define SIZE(type, least) _Static_assert(sizeof(type) >= (least), #type)

"""


def pointer_to(field: c_ast.Decl) -> str:
    """The type of the field's address."""
    kind, _, count = spelled(field.type).partition("[")
    return f"{kind.strip()} (*)[{count}" if count else f"{kind} *".replace("* *", "**")


def write_layout(folder: Path, to: Path) -> None:
    """Every constant's value, every field's place and type, every struct's size, as the compiler has them."""
    constants = [name for name in enumerators() if not name.startswith("VIA_VERSION_")]
    lines = [f'P("VALUE({name}, %lld);\\n", (long long){name});' for name in constants]
    for name, fields in structs().items():
        for field in fields:
            shown = f"{name}, {field.name}, %zu, {pointer_to(field)}"
            lines.append(f'P("FIELD({shown});\\n", offsetof({name}, {field.name}));' if field.name != "pad" else "")
        lines.append(f'P("SIZE({name}, %zu);\\n", sizeof({name}));')
    heading = '#include <stddef.h>\n#include <stdio.h>\n#include "viaduct/viaduct.h"\n#define P printf\n'
    text = heading + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    run("gcc", "-x", "c", f"-I{INCLUDE}", "-", "-o", folder / "layout", stdin=text)
    to.write_text(MACROS + run(folder / "layout"))


if __name__ == "__main__":
    import tempfile

    if not is_there():
        sys.exit("abidw is not there: install abigail-tools")
    with tempfile.TemporaryDirectory() as scratch:
        write_types(Path(scratch), TYPES)
        write_layout(Path(scratch), LAYOUT)
