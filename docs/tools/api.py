"""What each language offers, read from its sources: declarations and the comments above them.

Every reader returns groups: a title, what is said of the whole, and its members. The pages of docs/reference are made of
these; a declaration without a comment is listed too.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/viaduct/viaduct.h"
PYTHON = ROOT / "bindings/python/viaduct/__init__.pyi"
FORTRAN = ROOT / "bindings/fortran/viaduct.f90"
JAVA = ROOT / "bindings/java/src/org/viaduct"
CSHARP = ROOT / "bindings/csharp/src"
CPP = ROOT / "bindings/cpp/viaduct"


@dataclass
class Member:
    """One declaration. `rows` are the values of an enum or the fields of a struct: name, type or value, meaning."""

    declared: str
    said: str = ""
    name: str = ""
    rows: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass
class Group:
    title: str
    said: str = ""
    members: list[Member] = field(default_factory=list)
    declared: str = ""


def joined(lines: str) -> str:
    return " ".join(lines.split())


def without_stars(comment: str) -> str:
    """The text of a /* comment */, its paragraphs and lists kept."""
    inner = re.sub(r"^/\*+|\*+/$", "", comment.strip())
    return textwrap.dedent("\n".join(re.sub(r"^ *\* ?", "", line) for line in inner.splitlines())).strip()


# ------------------------------------------------------------------------------------------------------------------- C

SECTION = re.compile(r"^/\* -+ ([a-z ]+) \*/$", re.MULTILINE)
VALUE = re.compile(r"^ *(VIA_\w+) = ([^,/]+?),? */\*\*< (.*?) ?\*/", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"(?:/\*\* (.*?)\*/\s*)?^ +([\w ]+?[ *])(\w+(?:\[\d+\])?);(?: */\*\*< (.*?) ?\*/)?", re.MULTILINE | re.DOTALL
)


def c_sections() -> list[tuple[str, str]]:
    """The parts of the header between the lines that name them."""
    text = HEADER.read_text().rpartition("\n#ifdef __cplusplus\n}")[0]
    _, *rest = SECTION.split(text)
    return list(zip(rest[::2], rest[1::2], strict=True))


def c_introduction() -> str:
    return without_stars(re.search(r"/\*\*.*?\*/", HEADER.read_text(), re.DOTALL)[0])


def c_group(title: str, text: str) -> Group:
    group = Group(title.capitalize())
    said: list[str] = []
    pending, at = "", 0
    while found := re.compile(r"\s*(/\*.*?\*/|[^\s/][^\n]*)", re.DOTALL).match(text, at):
        part, at = found[1], found.end()
        if part.startswith("/**"):
            pending = without_stars(part)
        elif part.startswith("/*"):
            said.append(without_stars(part))
        else:
            at = declaration_end(text, found.start(1))
            group.members.append(c_member(text[found.start(1) : at], pending))
            pending = ""
    group.said = "\n\n".join(said)
    group.members = [member for member in group.members if member.name]
    return group


def declaration_end(text: str, start: int) -> int:
    """After the semicolon outside braces, or after the line of a #define."""
    if text[start] == "#":
        return text.index("\n", start)
    depth, at = 0, start
    while depth or text[at] != ";":
        if text.startswith("/*", at):
            at = text.index("*/", at) + 1
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    line = re.compile(r"; */\*\*<.*?\*/", re.DOTALL).match(text, at)
    return line.end() if line else at + 1


def meaning(text: str) -> str:
    return joined(re.sub(r"^ *\* ?", "", text, flags=re.MULTILINE))


def c_member(code: str, said: str) -> Member:
    trailing = re.search(r"; */\*\*< (.*?) ?\*/$", code, re.DOTALL)
    if values := VALUE.findall(code):
        name = re.match(r"typedef enum (\w+)", code)
        rows = [(key, number.strip(), meaning(reported)) for key, number, reported in values]
        return Member("", said, name[1] if name else common_prefix([row[0] for row in rows]), rows)
    if struct := re.match(r"typedef struct (\w+) \{(.*)\} \1;", code, re.DOTALL):
        fields = FIELD.findall(struct[2])
        rows = [(name, kind.strip(), meaning(before or after)) for before, kind, name, after in fields]
        return Member("", said, struct[1], rows)
    if macro := re.match(r"#define (\w+)", code):
        return Member("", said, macro[1])
    if handle := re.match(r"typedef struct (\w+) \1;", code):
        return Member(handle[0], meaning(trailing[1]) if trailing else said, handle[1])
    if callback := re.match(r"typedef .*?\(\*(\w+)\)", code, re.DOTALL):
        return Member(code, said, callback[1])
    if function := re.match(r"VIA_(?:API|CHECKED) (.*?(\w+)\(.*\));", code, re.DOTALL):
        declared = re.sub(r"\n +", "\n" + " " * (function[1].index("(") + 1), function[1])
        return Member(declared + ";", said, function[2])
    return Member("")


def common_prefix(names: list[str]) -> str:
    """VIA_DEVICE_... of VIA_DEVICE_CPU and VIA_DEVICE_CUDA; types of elements have none of their own."""
    if len(names) == 1:
        return names[0]
    shared = next((at for at, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    prefix = names[0][:shared].rpartition("_")[0]
    return f"{prefix}_..." if prefix != "VIA" else "The dtypes"


def c_groups() -> list[Group]:
    return [c_group(title, text) for title, text in c_sections()]


# -------------------------------------------------------------------------------------------------------------- Python


def python_groups() -> list[Group]:
    """The functions, then a group for each class; exceptions are the last."""
    body = ast.parse(PYTHON.read_text()).body
    functions, errors, classes = Group("Functions"), Group("Exceptions"), []
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            add_python(functions, node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            if bases.startswith("Error") or node.name == "Error":
                errors.members.append(Member(f"{node.name}({bases})", python_said(node), node.name))
            else:
                classes.append(python_class(node))
    return [functions, *classes, errors]


def python_said(node: ast.FunctionDef | ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""


def python_class(node: ast.ClassDef) -> Group:
    group = Group(node.name, python_said(node))
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
            group.members.append(Member(ast.unparse(part), name=ast.unparse(part.target)))
        elif isinstance(part, ast.FunctionDef) and is_shown(part):
            add_python(group, part)
    return group


CONSTRUCTORS = ("__init__", "__new__")


def is_shown(node: ast.FunctionDef) -> bool:
    """Public ones, protocols such as __dlpack__ that say what they are for, and constructors that users can call."""
    if node.name in CONSTRUCTORS:
        return all(ast.unparse(each.annotation) != "Any" for each in node.args.args[1:] if each.annotation)
    return not node.name.startswith("_") or (node.name.startswith("__") and python_said(node) != "")


def add_python(group: Group, node: ast.FunctionDef) -> None:
    """Overloads are one member, which says what the last of them says. A constructor has the name of its class."""
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    arguments = node.args
    arguments.args = [each for each in arguments.args if each.arg not in ("self", "cls")]
    arguments.posonlyargs = [each for each in arguments.posonlyargs if each.arg != "self"]
    makes = node.name in CONSTRUCTORS
    said = "Creates one." if makes else python_said(node)
    name = group.title if makes else node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not makes else ""
    declared = f"{name}: {ast.unparse(node.returns)}" if "property" in marks and node.returns else ""
    declared = declared or f"{name}({ast.unparse(arguments)}){returns}"
    last = group.members[-1] if group.members else None
    if last and last.name == name:
        last.declared, last.said = f"{last.declared}\n{declared}", said
    else:
        group.members.append(Member(declared, said, name))


# ---------------------------------------------------------------------------------------------- languages with braces

TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass
class Declared:
    """A declaration: the comment above it, what stands before its body, and the body."""

    said: str
    head: str
    body: str


def scan(text: str) -> Iterator[Declared]:
    """The declarations of the outermost level."""
    said, at = "", 0
    while at < len(text):
        if text[at].isspace() or text[at] in "};":
            at += 1
        elif comment := re.compile(r"(?: *///[^\n]*\n)+|/\*\*<.*?\*/|/\*.*?\*/|//[^\n]*|#[^\n]*", re.DOTALL).match(
            text, at
        ):
            at = comment.end()
            if comment[0].lstrip().startswith("///"):
                said = re.sub(r"^ *///", "", comment[0], flags=re.MULTILINE)
            elif comment[0].startswith("/**") and not comment[0].startswith("/**<"):
                said = without_stars(comment[0])
        else:
            head, body, at = declaration(text, at)
            yield Declared(said, joined(head), body)
            said = ""


def declaration(text: str, start: int) -> tuple[str, str, int]:
    """What begins there: its head, its body, and where it ends."""
    depth, at = 0, start
    while at < len(text) and not (depth == 0 and text[at] in "{;"):
        if found := TEXT.match(text, at):
            at = found.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    if text[at : at + 1] != "{":
        return text[start:at], "", at + 1
    end = end_of_block(text, at)
    return text[start:at], text[at + 1 : end - 1], end


def end_of_block(text: str, start: int) -> int:
    depth, at = 0, start
    while True:
        if found := TEXT.match(text, at):
            at = found.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return at


def signature(head: str) -> str:
    """A head without its initial value, its initialisers and its annotations; a constraint of C# is kept."""
    head = re.sub(r"^(?:@\w+(?:\([^)]*\))? |\[(?!\[)\w+(?:\(.*?\))?\] )+", "", head)
    depth = 0
    for at, letter in enumerate(head):
        depth += {"(": 1, ")": -1, "<": 1, ">": -1 if head[at - 1] != "=" else 0}.get(letter, 0)
        ends = (" = ",) if " where " in head[:at] else (" = ", " : ")
        if depth == 0 and (head[at : at + 3] in ends or head[at:] == " =" or head[at : at + 2] == "=>"):
            return head[:at].strip()
    return head.strip()


def by_kind(groups: list[Group]) -> list[Group]:
    """Exceptions become one group, at the end; each but the base has little to say."""
    errors = [group for group in groups if group.title.endswith("Exception") and not group.members]
    last = Group("Exceptions", members=[Member(group.title, group.said, group.title) for group in errors])
    return [*(group for group in groups if group not in errors), last]


def constants(body: str) -> list[Member]:
    """The values of an enum, each with its comment."""
    values = re.findall(
        r"((?: *///[^\n]*\n)+|/\*\*.*?\*/)?\s*\b(\w+)(?:\([^)]*\)| = [\w.]+)?\s*[,;}\n]", body + "}", re.DOTALL
    )
    said = [
        (re.sub(r"^ *///", "", reported, flags=re.MULTILINE) if "///" in reported else without_stars(reported), name)
        for reported, name in values
    ]
    return [Member(name, reported, name) for reported, name in said]


# ---------------------------------------------------------------------------------------------------------------- Java

JAVA_TYPE = re.compile(r"public (?:final |abstract |sealed |non-sealed )*(class|interface|enum|record) (\w+)")


def java_said(comment: str) -> str:
    text = re.sub(r"\{@(?:link|code) ([^}]*)\}", lambda found: f"`{found[1].lstrip('#').replace('#', '.')}`", comment)
    text = re.sub(r"^@param (\w+)", r"- `\1`:", text, flags=re.MULTILINE)
    text = re.sub(r"^@throws (\w+)", r"- throws `\1`", text, flags=re.MULTILINE)
    text = re.sub(r"^@return ", "\nReturns ", text, flags=re.MULTILINE)
    return re.sub(r"\s*<p>\s*", "\n\n", text).strip()


def java_groups() -> list[Group]:
    files = [path.read_text() for path in sorted(JAVA.glob("*.java")) if path.stem != "package-info"]
    types = [(found, kind) for text in files for found in scan(text) if (kind := JAVA_TYPE.match(found.head))]
    return by_kind([java_group(found, kind[1], kind[2]) for found, kind in types])


def java_group(found: Declared, kind: str, name: str) -> Group:
    group = Group(name, java_said(found.said), declared=found.head.removeprefix("public "))
    body = found.body
    if kind == "enum":
        values, _, end = declaration(body, 0)
        group.members = [Member(each.name, java_said(each.said), each.name) for each in constants(values)]
        body = body[end:]
    for part in scan(body):
        public = part.head.startswith("public ") or (kind == "interface" and not part.head.startswith("private"))
        if public and "@Override" not in part.head:
            declared = signature(part.head).removeprefix("public ")
            group.members.append(Member(declared, java_said(part.said), declared))
    return group


# ------------------------------------------------------------------------------------------------------------------ C#

CSHARP_TYPE = re.compile(
    r"(?:\[\w+\] )?public (?:static |sealed |abstract |readonly |partial )*(class|interface|enum|struct) (\w+)"
)


def csharp_said(comment: str) -> str:
    text = re.sub(
        r'<(?:see|paramref|typeparamref) (?:cref|name|langword)="([^"]*)" */>',
        lambda found: f"`{found[1].replace('{', '<').replace('}', '>')}`",
        comment.replace("<inheritdoc/>", ""),
    )
    text = re.sub(r"<c>(.*?)</c>", r"`\1`", text, flags=re.DOTALL)
    text = re.sub(r'<(?:type)?param name="(\w+)">', r"\n\n- `\1`: ", text)
    text = re.sub(r'<exception cref="(\w+)">', r"\n\n- throws `\1`: ", re.sub("<returns>", "\n\nReturns ", text))
    text = re.sub(r"</?(?:summary|remarks|para|param|returns|exception|typeparam)>", "\n\n", text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return "\n\n".join(joined(part) for part in re.split(r"\n\s*\n", text) if part.strip())


def csharp_groups() -> list[Group]:
    """Parts of a class are one group."""
    found: dict[str, Group] = {}
    for path in sorted(CSHARP.glob("*.cs")):
        for space in scan(path.read_text()):
            for part in scan(space.body):
                if kind := CSHARP_TYPE.match(part.head):
                    group = found.setdefault(kind[2], Group(kind[2], declared=part.head.removeprefix("public ")))
                    group.said = group.said or csharp_said(part.said)
                    group.members += csharp_members(kind[1], part.body)
    return by_kind(list(found.values()))


def csharp_members(kind: str, body: str) -> list[Member]:
    if kind == "enum":
        return [
            Member(each.name, csharp_said(each.said), each.name) for each in constants(re.sub(r"(?m)^ *#.*", "", body))
        ]
    members = []
    for part in scan(body):
        public = part.head.startswith("public ") or kind == "interface" or re.match(r"\[\w+\] public ", part.head)
        if public and " override " not in part.head:
            declared = signature(part.head).removeprefix("public ")
            members.append(Member(declared, csharp_said(part.said), declared))
    return members


# ----------------------------------------------------------------------------------------------------------------- C++

CPP_TYPE = re.compile(r"(?:template <.*?> )?(?:class|struct) (?:VIA_API )?(\w+)(?: final)?(?: :|$)")
CPP_NOISE = re.compile(r"\[\[.*?\]\] ?|VIADUCT_CHECKED |\binline |\bexplicit |\bconstexpr ")
CPP_SPACE = re.compile(r"(?:inline )?namespace (\w+)$")


def cpp_parts(text: str) -> Iterator[Declared]:
    """What is declared for users: not what is in namespace detail."""
    for part in scan(text):
        space = CPP_SPACE.match(part.head)
        if not space:
            yield part
        elif space[1] != "detail":
            yield from cpp_parts(part.body)


def cpp_groups() -> list[Group]:
    """A group for each class, and one for the functions of each header."""
    groups = []
    for path in sorted((CPP / "cpp").glob("*.hpp")):
        free = Group(f"Functions of {path.name}")
        for part in cpp_parts(path.read_text()):
            kind = CPP_TYPE.match(part.head)
            if kind and part.body:
                groups.append(cpp_class(kind[1], part))
            elif re.match(r"[^(]*\w::\w+\(", part.head):
                pass  # a member, which its class lists
            elif (said := part.said or called_by(part.body)) and not re.match("(?:template <.*> )?class ", part.head):
                free.members.append(Member(cpp_signature(part.head), said, part.head))
        groups += [free] if free.members else []
    classes = [group for group in groups if group.said]
    return [*classes, *(group for group in groups if group.title.startswith("Functions of ") and group.members)]


def without_template(head: str) -> str:
    """A head without the `template <...>` in front, whose brackets nest."""
    if not head.startswith("template <"):
        return head
    depth, at = 1, len("template <")
    while depth:
        depth += {"<": 1, ">": -1}.get(head[at], 0)
        at += 1
    return head[at:].strip()


def cpp_signature(head: str) -> str:
    head = without_template(CPP_NOISE.sub("", head))
    return head if head.startswith(("using ", "template")) else signature(head)


def called_by(body: str) -> str:
    """What a declaration without a comment is for: the function of the C API that it calls."""
    called = re.search(r"\b(via_\w+)[(,)]", body)  # called, or given to what calls it
    return f"Calls {called[1]}." if called else ""


def cpp_class(name: str, found: Declared) -> Group:
    """Its public part: what stands before private, and in a class behind public."""
    group = Group(name, found.said)
    public = re.split(r"^(?:private|protected):$", found.body, flags=re.MULTILINE)[0]
    if " class " in f" {found.head}":
        public = public.partition("public:\n")[2]
    for part in scan(public):
        after = re.search(re.escape(part.head) + r"; /\*\*< (.*?) \*/", joined(public))
        declared = cpp_signature(part.head)
        plain = not declared.startswith(("friend", "using", "static_assert", "~", "template"))
        if plain and "operator=" not in declared and (part.said or not declared.startswith(f"{name}(")):
            said = part.said or (after[1] if after else called_by(part.body))
            group.members.append(Member(declared, said, declared))
    return group


# ------------------------------------------------------------------------------------------------------------- Fortran


def fortran_said(lines: list[str]) -> str:
    return "\n".join(line.strip().removeprefix("!").strip() for line in lines)


def fortran_introduction() -> str:
    first = FORTRAN.read_text().split("\nmodule ")[0]
    return "\n".join(line.removeprefix("!").strip() for line in first.splitlines())


def fortran_bindings(kind: str) -> dict[str, str]:
    """How the procedures of a type are called, by their own names. What takes default integers is called as the rest."""
    inside = re.search(rf"type :: {kind}\n(.*?)end type", FORTRAN.read_text(), re.DOTALL)[1]
    bound, hidden, calls = dict[str, str](), set[str](), dict[str, str]()
    for private, names in re.findall(r"procedure(, private)? :: (.*)", inside):
        pairs = [[part.strip() for part in each.split("=>")] for each in names.split(",")]
        bound |= {pair[0]: pair[-1] for pair in pairs}
        hidden |= {pair[0] for pair in pairs if private}
    for name, procedures in re.findall(r"generic :: (\w+) => (.*)", inside.replace("&\n", " ")):
        calls |= dict.fromkeys(re.findall(r"\w+", procedures), name)
    named = {own: calls[name] if name in hidden else name for name, own in bound.items()}
    return {own: name for own, name in named.items() if not own.endswith("_default")}


def fortran_groups() -> list[Group]:
    text = FORTRAN.read_text().partition("\ncontains\n")[2]
    pattern = re.compile(
        r"((?:^  !(?! -).*\n)*)^  (subroutine|function) (\w+)\((.*?)\)(.*)\n((?:    .*\n)*)", re.MULTILINE
    )
    procedures = pattern.findall(text)
    arrays = Group("type(viaduct_array)", members=list(fortran_methods("viaduct_array", "a", procedures)))
    files = Group("type(viaduct_file)", fortran_comment_of("viaduct_file"))
    files.members = list(fortran_methods("viaduct_file", "file", procedures))
    free = Group("Procedures of the module")
    for comment, kind, name, arguments, result, _ in procedures:
        if name.startswith("viaduct_"):
            said = fortran_said(comment.splitlines())
            free.members.append(Member(f"{kind} {name}({arguments}){result}", said, name))
    pointers = [member for member in arrays.members if re.match(r"call a%get_", member.declared)]
    arrays.members = [member for member in arrays.members if member not in pointers]
    types = sorted({re.search(r"\n(\S+), pointer", member.declared)[1] for member in pointers})
    above = re.search(r"! -+ back to Fortran\n((?:  !.*\n)+)", text)[1]
    reported = fortran_said(above.splitlines())
    arrays.members.append(
        Member("call a%get(pointer, ierr)", f"{reported}\n\nOf the types `{'`, `'.join(types)}`.", "get")
    )
    return [arrays, files, free]


def fortran_comment_of(kind: str) -> str:
    above = re.search(rf"((?:^  !.*\n)+)  type :: {kind}\n", FORTRAN.read_text(), re.MULTILINE)[1]
    return fortran_said(above.splitlines())


def fortran_methods(kind: str, variable: str, procedures: list[tuple[str, ...]]) -> Iterator[Member]:
    bound = fortran_bindings(kind)
    for comment, how, own, arguments, _, body in procedures:
        if own in bound:
            listed = [each.strip() for each in arguments.split(",")][1:]
            reported = [line.strip() for line in body.splitlines() if re.match(r"    \S.*intent.*::", line)]
            types = [line for line in reported if set(re.findall(r"\w+", line.split("::")[1])) & set(listed)]
            call = f"{variable}%{bound[own]}({', '.join(listed)})"
            declared = "\n".join([f"call {call}" if how == "subroutine" else call, *types])
            yield Member(declared, fortran_said(comment.splitlines()), bound[own])
