"""The header as declarations for cffi."""

from __future__ import annotations

from contract import Contract, Function, Value

TOP = '''\
"""The C API by cffi: `ffi` and `lib`, and DECLARATIONS, the header as cffi reads it.

The library is the one that the package itself uses. `lib.via_stats(stats)` takes what C takes: begin a struct with
`ffi.new("via_stats_info *", {"struct_size": ffi.sizeof("via_stats_info")})`. For a module compiled ahead of time, give
DECLARATIONS to a builder of your own. Made from the header by bindings/generate; do not edit.
"""

from __future__ import annotations

from typing import Any

import cffi  # type: ignore[import-untyped, unused-ignore]

from . import _viaduct

DECLARATIONS = """
'''

BOTTOM = '''\
"""

ffi: Any = cffi.FFI()
ffi.cdef(DECLARATIONS)

# The extension module is linked to the library: its symbols are found by way of it, wherever the library lies.
lib: Any = ffi.dlopen(_viaduct.__file__)
'''


def value(each: Value) -> str:
    space = "" if each.kind.endswith("*") else " "
    return f"{each.kind}{space}{each.name}{f'[{each.count}]' if each.count > 1 else ''}"


def parameters(function: Function) -> str:
    return ", ".join(map(value, function.parameters)) or "void"


def struct(name: str, fields: tuple[Value, ...]) -> str:
    rows = "\n".join(f"    {value(each)};" for each in fields)
    return f"typedef struct {name} {{\n{rows}\n}} {name};"


def callback(function: Function) -> str:
    return f"typedef {function.returns} (*{function.name})({parameters(function)});"


def function(each: Function) -> str:
    space = "" if each.returns.endswith("*") else " "
    return f"{each.returns}{space}{each.name}({parameters(each)});"


def module(contract: Contract) -> str:
    constants = ",\n".join(f"    {name} = {number}" for name, number in contract.constants.items())
    lines = [f"enum {{\n{constants}\n}};", "typedef int32_t via_status;"]
    lines += [f"typedef struct {name} {name};" for name in contract.handles]
    lines += [f"struct {name};" for name in contract.foreign]
    lines += [struct(name, fields) for name, fields in contract.structs.items()]
    lines += [callback(each) for each in contract.callbacks]
    lines += [function(each) for each in contract.functions]
    return TOP + "\n".join(lines) + "\n" + BOTTOM
