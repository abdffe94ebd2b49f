"""The header as a Python module of ctypes."""

from __future__ import annotations

from contract import Contract, Function, Value, pointed_to

WIDTH = 120

TOP = '''\
"""The C API by ctypes: every function with its argument types, every struct, callback and constant of viaduct.h.

The library is the one that the package itself uses. Each kind of handle is a pointer type of its own: make one by
`via_array()` and hand it over by `ctypes.byref`; a handle of another kind is a ctypes.ArgumentError. Its `value` is the
address, which is taken in its place. Structs are made with their size, so that `via_stats_info()` is
ready to be handed over; `via_release_fn()` is NULL. Nothing is translated: a status is an int, and its text
via_last_error(). Callbacks must be kept alive by their owner until they can no longer be called.
Made from the header by bindings/generate; do not edit.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _viaduct

# The extension module is linked to the library: its symbols are found by way of it, wherever the library lies.
library = ctypes.CDLL(_viaduct.__file__)


class _Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        if not arguments and "struct_size" not in fields:
            self.struct_size = ctypes.sizeof(self)


def _declare(name: str, returns: Any, /, **parameters: Any) -> Any:
    function = getattr(library, name)
    function.argtypes = list(parameters.values())
    function.restype = returns
    return function
'''

PLAIN = {
    "void": "None",
    "int32_t": "ctypes.c_int32",
    "int64_t": "ctypes.c_int64",
    "double": "ctypes.c_double",
    "char": "ctypes.c_char",
    "via_status": "ctypes.c_int",
    "const char *": "ctypes.c_char_p",
    "char *": "ctypes.POINTER(ctypes.c_char)",
}


def spelled(kind: str, contract: Contract) -> str:
    """A C type as ctypes has it. Tensors and raw memory are void pointers."""
    if kind in PLAIN:
        return PLAIN[kind]
    if kind in {each.name for each in contract.callbacks}:
        return kind
    pointee = pointed_to(kind)
    handle = pointee.partition(" ")[0]
    if handle not in contract.handles:
        handle = "ctypes.c_void_p"
    if kind == "const char * const *":
        return "ctypes.POINTER(ctypes.c_char_p)"
    if kind == "via_array * const *" or kind.endswith("**"):
        return f"ctypes.POINTER({handle})"
    if pointee in contract.structs:
        return f"ctypes.POINTER({pointee})"
    if pointee in ("int32_t", "int64_t"):
        return f"ctypes.POINTER({PLAIN[pointee]})"
    return handle


def handle(name: str) -> str:
    return f'class {name}(ctypes.c_void_p):\n    """A {name} *: a handle."""'


def field(value: Value, contract: Contract) -> str:
    kind = spelled(value.kind, contract)
    return f'        ("{value.name}", {kind}{f" * {value.count}" if value.count > 1 else ""}),'


def attribute(value: Value) -> str:
    """What reading a field gives."""
    if value.kind == "char":
        return f"    {value.name}: bytes"
    alone = "int | None" if value.kind.endswith("*") else "int"
    return f"    {value.name}: {alone if value.count == 1 else f'ctypes.Array[{PLAIN[value.kind]}]'}"


def struct(name: str, fields: tuple[Value, ...], contract: Contract) -> str:
    rows = [field(each, contract) for each in fields]
    read = [attribute(each) for each in fields]
    return "\n".join([f"class {name}(_Sized):", *read, "    _fields_ = [", *rows, "    ]"])


def call(assigned: str, name: str, arguments: list[str]) -> str:
    """An assignment of a call, folded as the formatter of this tree folds it."""
    line = f"{assigned} = {name}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    inner = f"    {', '.join(arguments)}"
    if len(inner) > WIDTH:
        inner = "\n".join(f"    {each}," for each in arguments)
    return f"{assigned} = {name}(\n{inner}\n)"


def callback(each: Function, contract: Contract) -> str:
    kinds = [spelled(each.returns, contract), *(spelled(value.kind, contract) for value in each.parameters)]
    return call(each.name, "ctypes.CFUNCTYPE", kinds)


def function(each: Function, contract: Contract) -> str:
    named = [f"{value.name}={spelled(value.kind, contract)}" for value in each.parameters]
    return call(each.name, "_declare", [f'"{each.name}"', spelled(each.returns, contract), *named])


def module(contract: Contract) -> str:
    constants = "\n".join(f"{name} = {value}" for name, value in contract.constants.items())
    handles = "\n\n\n".join(map(handle, contract.handles))
    structs = "\n\n\n".join(struct(name, fields, contract) for name, fields in contract.structs.items())
    callbacks = "\n".join(callback(each, contract) for each in contract.callbacks)
    functions = "\n".join(function(each, contract) for each in contract.functions)
    return f"{TOP}\n\n{constants}\n\n\n{handles}\n\n\n{structs}\n\n\n{callbacks}\n\n{functions}\n"
