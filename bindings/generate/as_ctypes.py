"""The header as a Python module of ctypes."""

from __future__ import annotations

from contract import Contract, Function, Value, pointed_to

TOP = '''\
"""The C API by ctypes: every function with its argument types, every struct, callback and constant of viaduct.h.

The library is the one that the package itself uses. Structs are made with their size, so that `via_stats_info()` is
ready to be handed over. Nothing is translated: a status other than VIA_OK is an int, and its text via_last_error().
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
'''

PLAIN = {
    "void": "None",
    "int32_t": "ctypes.c_int32",
    "int64_t": "ctypes.c_int64",
    "double": "ctypes.c_double",
    "char": "ctypes.c_char",
    "via_status": "ctypes.c_int",
    "const char *": "ctypes.c_char_p",
    "char *": "ctypes.c_char_p",
}


def spelled(kind: str, contract: Contract) -> str:
    """A C type as ctypes has it. Handles, tensors and raw memory are void pointers."""
    if kind in PLAIN:
        return PLAIN[kind]
    if kind in {each.name for each in contract.callbacks}:
        return kind
    if kind == "via_array * const *" or kind.endswith("**"):
        return "ctypes.POINTER(ctypes.c_void_p)"
    pointee = pointed_to(kind)
    if pointee in contract.structs:
        return f"ctypes.POINTER({pointee})"
    if pointee in ("int32_t", "int64_t"):
        return f"ctypes.POINTER({PLAIN[pointee]})"
    return "ctypes.c_void_p"


def field(value: Value, contract: Contract) -> str:
    kind = spelled(value.kind, contract)
    return f'        ("{value.name}", {kind}{f" * {value.count}" if value.count > 1 else ""}),'


def struct(name: str, fields: tuple[Value, ...], contract: Contract) -> str:
    rows = [field(each, contract) for each in fields]
    return "\n".join([f"class {name}(_Sized):", "    _fields_ = [", *rows, "    ]"])


def callback(each: Function, contract: Contract) -> str:
    kinds = [spelled(each.returns, contract), *(spelled(value.kind, contract) for value in each.parameters)]
    return f"{each.name} = ctypes.CFUNCTYPE({', '.join(kinds)})"


def function(each: Function, contract: Contract) -> str:
    kinds = ", ".join(spelled(value.kind, contract) for value in each.parameters)
    names = ", ".join(value.name for value in each.parameters)
    lines = [f"# {each.name}({names})", f"{each.name} = library.{each.name}"]
    lines += [f"{each.name}.argtypes = [{kinds}]", f"{each.name}.restype = {spelled(each.returns, contract)}"]
    return "\n".join(lines)


def module(contract: Contract) -> str:
    constants = "\n".join(f"{name} = {value}" for name, value in contract.constants.items())
    structs = "\n\n\n".join(struct(name, fields, contract) for name, fields in contract.structs.items())
    callbacks = "\n".join(callback(each, contract) for each in contract.callbacks)
    functions = "\n\n".join(function(each, contract) for each in contract.functions)
    return f"{TOP}\n\n{constants}\n\n\n{structs}\n\n\n{callbacks}\n\n{functions}\n"
