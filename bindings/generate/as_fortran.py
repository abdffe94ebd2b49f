"""The header as a module of Fortran 2018."""

from __future__ import annotations

from contract import Contract, Function, Value, pointed_to, size_of

WIDTH = 120
TOP = """\
! The C API in Fortran, one interface a function: viaduct.h says what each means. Made from that header by
! bindings/generate; do not edit.
!
! Handles, tensors and addresses are type(c_ptr); callbacks are type(c_funptr), of the abstract interfaces below. Lists
! and options that may be NULL are optional. Texts going in end with c_null_char. Structs have their size and every
! default from the start.
module viaduct_c
  use, intrinsic :: iso_c_binding
  implicit none
  public
"""

KINDS = {"int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "double": "real(c_double)"}
FIELDS = KINDS | {"void *": "type(c_ptr)", "char": "character(kind=c_char)"}
INITIAL = {"void *": "c_null_ptr", "char": "c_null_char"}
RETURNS = KINDS | {"via_status": "integer(c_int)"}


def folded(line: str) -> str:
    """A line cut where it is too long, after a comma."""
    lines = []
    while len(line) > WIDTH:
        cut = line.rindex(", ", 0, WIDTH - 2) + 1
        lines.append(line[:cut] + " &")
        line = "        " + line[cut + 1 :]
    return "\n".join([*lines, line])


def declared(value: Value, contract: Contract) -> tuple[str, str]:
    """How a parameter is declared, and how its name is written there."""
    kind, name = value.kind, value.name
    names = {each.name for each in contract.callbacks}
    if kind in KINDS:
        return f"{KINDS[kind]}, value", name
    if kind in names:
        return "type(c_funptr), value", name
    if kind in ("const char *", "char *"):
        return f"character(kind=c_char), intent({'out' if name.startswith('out_') else 'in'})", f"{name}(*)"
    if kind in ("via_array * const *", "const char * const *"):
        return "type(c_ptr), intent(in)", f"{name}(*)"
    if kind.endswith("**"):
        return "type(c_ptr), intent(out)", name
    pointee = pointed_to(kind)
    if pointee in contract.structs:
        return f"type({pointee}), {'intent(inout)' if name.startswith('out_') else 'intent(in), optional'}", name
    if pointee in KINDS:
        return (f"{KINDS[pointee]}, intent(out)", name) if name.startswith("out_") else optional_list(pointee, name)
    return "type(c_ptr), value", name


def optional_list(pointee: str, name: str) -> tuple[str, str]:
    return f"{KINDS[pointee]}, intent(in), optional", f"{name}(*)"


def interface(function: Function, contract: Contract, bind: str) -> str:
    """The interface of one function; parameters of one kind share a line."""
    groups: dict[str, list[str]] = {}
    for value in function.parameters:
        how, written = declared(value, contract)
        groups.setdefault(how, []).append(written)
    unit = "subroutine" if function.returns == "void" else "function"
    answer = "" if unit == "subroutine" else " result(answer)"
    names = ", ".join(value.name for value in function.parameters)
    lines = [f"    {unit} {function.name}({names}){answer} bind({bind})", "      import"]
    lines += [f"      {how} :: {', '.join(written)}" for how, written in groups.items()]
    if answer:
        lines.append(f"      {RETURNS.get(function.returns, 'type(c_ptr)')} :: answer")
    return "\n".join(map(folded, [*lines, f"    end {unit}"]))


def field(value: Value, size: int) -> str:
    initial = str(size) if value.name == "struct_size" else INITIAL.get(value.kind, "0")
    kind = "_c_int64_t" if value.kind == "int64_t" else "_c_int32_t" if value.kind == "int32_t" else ""
    extent = f"({value.count})" if value.count > 1 else ""
    return f"    {FIELDS[value.kind]} :: {value.name}{extent} = {initial}{kind}"


def struct(name: str, fields: tuple[Value, ...]) -> str:
    size = size_of(fields)
    return "\n".join([f"  type, bind(C) :: {name}", *(field(each, size) for each in fields), "  end type"])


def module(contract: Contract) -> str:
    constants = [f"  integer(c_int32_t), parameter :: {name} = {value}" for name, value in contract.constants.items()]
    structs = [struct(name, fields) for name, fields in contract.structs.items()]
    callbacks = [interface(each, contract, "C") for each in contract.callbacks]
    functions = [interface(each, contract, f'C, name="{each.name}"') for each in contract.functions]
    parts = [TOP, "\n".join(constants), "\n\n".join(structs)]
    parts += ["  abstract interface\n" + "\n\n".join(callbacks) + "\n  end interface"]
    parts += ["  interface\n" + "\n\n".join(functions) + "\n  end interface"]
    return "\n\n".join(parts).replace("\n\n\n", "\n\n") + "\n\nend module viaduct_c\n"
