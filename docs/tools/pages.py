"""Makes what the pages take from elsewhere: `python docs/tools/pages.py`, or with --check only says what is old.

A page names a part that is made between two lines, which no reader sees:

    <!-- code: bindings/c/examples/gpu_to_host.c from "static void one_field" to "int main" -->
    <!-- end -->

| line | what is put there |
| --- | --- |
| `code: FILE [from "TEXT"] [to "TEXT"] [object NAME]` | lines of a program |
| `table: FILE... ; PATTERN` | rows of the benchmarks' files, each further file a column of its own |
| `layouts: FILE...` | what is said and wanted of a population of random layouts, each file a seed |
| `plain: FILE...` | plain bytes between two devices, from the files of that population |
| `kernels: FILE` | what each kernel is worth |
| `machine: FILE` | where a file's rows were measured, and by which versions |
| `where: FILE... ; TEXT` | the text, if one of these files is there |
| `numbers:` | the two numbers of the README |
| `versions:` | the libraries that tests and benchmarks ran with |
| `places:` | what `./dev test places` has run where |
| `sizes:` | the packages that `./dev package` has made |
| `api: LANGUAGE [GROUP]` | declarations with their comments |
| `examples: FOLDER` | the programs of a folder, each with what it says of itself |

Such a file may be a pattern, as `layouts/host-16-*.json`. A part whose pattern fits no file is empty: its section appears
once the files are there.

docs/package.md, the page that PyPI and NuGet show, is the README without links that lead to files.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import programs

import api

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PACKAGE = DOCS / "package.md"
RESULTS = ROOT / "tests/bench/results"
PART = re.compile(r"^<!-- (\w+):(.*?) -->\n(?:.*?\n)??<!-- end -->$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page of Markdown that people read, the made one not counted."""
    root = sorted(ROOT.glob("*.md"))
    return [*root, *sorted(path for path in DOCS.rglob("*.md") if path != PACKAGE)]


# ---------------------------------------------------------------------------------------------------------------- code


def code_of(arguments: str) -> str:
    file, rest = re.match(r"(\S+) ?(.*)", arguments.strip()).groups()
    words = dict(re.findall(r'(from|to) "([^"]*)"', rest)) | dict(re.findall(r"(object) (\w+)", rest))
    path = ROOT / file
    text = path.read_text()
    if "object" in words:
        text = python_object(text, words["object"])
    if "from" in words:
        text = text[line_start(text, words["from"]) :]
    if "to" in words:
        text = text[: line_start(text, words["to"])]
    return fenced(programs.LANGUAGES[path.suffix], dedented(text))


def line_start(text: str, words: str) -> int:
    return text.rfind("\n", 0, text.index(words)) + 1


def python_object(text: str, name: str) -> str:
    node = next(node for node in ast.parse(text).body if getattr(node, "name", "") == name)
    return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


def dedented(text: str) -> str:
    lines = text.strip("\n").rstrip().splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


# -------------------------------------------------------------------------------------------------------------- tables


@functools.cache
def bench(name: str = "bench") -> ModuleType:
    sys.path.insert(0, str(ROOT / "tests/bench"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@functools.cache
def report(file: str) -> dict[str, Any]:
    return json.loads((RESULTS / file).read_text())


def files_of(arguments: str) -> list[str]:
    """The names of files of results, those of a pattern in the order of their names."""
    found = []
    for name in arguments.split():
        fitting = sorted(str(path.relative_to(RESULTS)) for path in RESULTS.glob(name))
        found += fitting if "*" in name else [name]
    return found


def where_of(arguments: str) -> str:
    files, _, text = arguments.partition(";")
    return text.strip() if files_of(files) else ""


def table_of(arguments: str) -> str:
    files, _, pattern = arguments.partition(";")
    names = files_of(files)
    if not names:
        return ""
    first, *others = names
    rows = [row for row in report(first)["rows"] if re.search(pattern.strip(), row["case"])]
    assert rows, f"no row of {first} has {pattern.strip()}"
    heads = ["what", "Viaduct", "compared with", "target", "result", *map(hardware, others)]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row in rows:
        lines.append(bench().table_line(row) + "".join(f" {elsewhere(row, other)} |" for other in others))
    return "\n".join(lines)


def elsewhere(row: dict[str, Any], file: str) -> str:
    """The same row of another machine: the value, and what is made of it there.

    Where its target is another one, since it was set later or depends on the machine: if both compare with one peer, the
    target is that of this row, and else its own, which is named.
    """
    named = [other for other in report(file)["rows"] if other["case"] == row["case"]]
    same = [other for other in named if other["target"] == row["target"]] or named
    if not same:
        return "not measured"
    found, said = same[0], ""
    if found["target"] != row["target"]:
        assert len(named) == 1, f"{file} has several rows {row['case']}"
        if peer_of(row) is not None and (not found["target"] or peer_of(found) == peer_of(row)):
            found = {**found, "target": row["target"]}
        else:
            said = bench().judge(found)[0].replace("<=", "at most").replace(">=", "at least")
    verdict = bench().judge(found)[1]
    cell = ", ".join(filter(None, [f"{found['viaduct']:.4g} {found['unit']}", verdict]))
    return f"{cell} ({said})" if said else cell


def peer_of(row: dict[str, Any]) -> str | None:
    """With which peer its target compares."""
    return (row["target"] or {}).get("peer")


def hardware(file: str) -> str:
    machine = report(file)["machine"]
    gpus = machine.get("gpus") or []
    simd = "" if "avx512f" in machine["simd"] else ", without AVX-512"
    return f"{len(gpus)} x {gpus[0]}, {machine['cores']} cores" if gpus else f"{machine['cores']} cores{simd}"


def layouts_of(arguments: str) -> str:
    """A pattern does not say which files there are: they are named with their seeds."""
    names = files_of(arguments)
    if not names:
        return ""
    reports = [report(name) for name in names]
    seeds = [str(found["settings"]["seed"]) for found in reports if "seed" in found["settings"]]
    files = f": {', '.join(f'`{name}`' for name in names)}" if "*" in arguments else ""
    busy = bench("populations").next_to(reports[0]["settings"].get("busy", 0))
    head = [f"Seeds {', '.join(seeds)}{busy}{files}.", ""] if seeds else []
    return "\n".join([*head, *bench("populations").table(reports)])


def kernels_of(arguments: str) -> str:
    return "\n".join(bench("kernel_worth").table(report(arguments.strip())))


def plain_of(arguments: str) -> str:
    return "\n".join(bench("populations").plain_table([report(file) for file in arguments.split()]))


def machine_of(arguments: str) -> str:
    names = files_of(arguments)
    if not names:
        return ""
    file = names[0]
    found = report(file)
    machine = found["machine"]
    gpus = (
        [f"{len(machine['gpus'])} x {machine['gpus'][0]}, driver {machine['driver'][0]}"] if machine.get("gpus") else []
    )
    simd = {"avx512f": "AVX-512", "avx2": "AVX2"}
    best = next((name for flag, name in simd.items() if flag in machine["simd"]), "no AVX2")
    peers = ", ".join(f"{name} {version}" for name, version in machine["peers"].items())
    parts = [
        *gpus,
        f"{machine['cpu']}, {machine['cores']} cores, {best}",
        machine["system"],
        f"Python {machine['python']}",
        peers,
    ]
    return f"`tests/bench/results/{file}`: {'; '.join(parts)}; commit {found['commit']}."


def numbers(_: str) -> str:
    """Two rows that say what the library is for."""
    measured = {row["case"]: row for row in report("gpu-two.json")["rows"]}
    copy = measured["NumPy array to device, 1024 MiB; torch"]
    pointer = measured["raw pointer to torch: via.wrap, to=torch.Tensor"]
    peer = "as_tensor of an interface"
    tensor = f"`torch.as_tensor` of a fake interface, {pointer['peers'][peer] / 1000:.2f} us"
    rows = [
        ("", "Viaduct", "compared with"),
        ("---", "---", "---"),
        (
            "NumPy array of 1 GiB to the GPU",
            f"{copy['viaduct']:.1f} GB/s",
            f"PyTorch {copy['peers']['torch']:.1f} GB/s, CuPy {copy['peers']['CuPy']:.1f} GB/s",
        ),
        ("CUDA pointer to a `torch.Tensor`", f"{pointer['viaduct'] / 1000:.2f} us", tensor),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows).replace("|  |", "| |")


# Packages that run tests, build or check: what they are of says nothing to a user.
TOOLS = {"cmake", "ninja", "build", "swig", "pytest", "pytest-timeout", "mypy", "hypothesis", "abi3audit", "pycparser"}
TOOLS |= {"scikit-build-core", "nvidia-cuda-runtime"}


def versions(_: str) -> str:
    """The peers that tests and benchmarks ran with: on the host, as they are pinned, and on an H200."""
    pins: dict[str, str] = {}
    for name in ("build", "numpy", "demo", "test", "peers", "engines"):
        pins |= dict(
            re.findall(r"^([\w-]+)==(\S+)", (ROOT / f"tests/requirements/{name}.txt").read_text(), re.MULTILINE)
        )
    on_gpu = {
        name.removesuffix("-cuda13x").removesuffix("-cu13"): version
        for file in ("gpu-files.json", "gpu-two.json")
        for name, version in report(file)["machine"]["peers"].items()
    }
    lines = ["| library | on the host | on an H200 |", "| --- | --- | --- |"]
    for name in sorted({*pins, *on_gpu} - TOOLS, key=str.lower):
        lines.append(f"| {name} | {pins.get(name, '')} | {on_gpu.get(name, '')} |")
    return "\n".join(lines)


def places(_: str) -> str:
    """What each package did on other systems."""
    rows = json.loads((ROOT / "tests/places/results.json").read_text())
    lines = ["| package | place | tried | result | with | commit |", "| --- " * 6 + "|"]
    for row in rows:
        counts = ", ".join(f"{row[key]} {key}" for key in ("passed", "failed", "skipped") if row.get(key))
        cells = (row["package"], row["place"], row["what"], counts or "done", row["with"], row["commit"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def sizes(_: str) -> str:
    """How large the packages are, and what is said of wheels."""
    made = json.loads((ROOT / "tests/package/packages.json").read_text())
    lines = ["| package | size in kB | checked |", "| --- | --- | --- |"]
    for row in made["packages"]:
        said = "; ".join(f"{name}: {row[name]}" for name in ("auditwheel", "twine", "lintian") if name in row)
        said += f"for {' and '.join(row['natives'])}" if row.get("natives") else ""
        lines.append(f"| `{row['file']}` | {row['bytes'] / 1e3:.0f} | {said} |".replace("|  |", "| |"))
    for row in made["packages"]:
        if "libviaduct.so.1" in row:
            machine = "aarch64" if row["file"].endswith("aarch64.whl") else "x86_64"
            lines.append(f"| `libviaduct.so.1` for {machine} | {row['libviaduct.so.1'] / 1e3:.0f} | |")
    return "\n".join(lines)


# ----------------------------------------------------------------------------------------------------------------- API

# Names that Markdown would take for emphasis, an element of HTML or a list.
NAME = re.compile(r"(?<![`\w/*.])(\w+_\.\.\.|\*?\w*_[\w.]*\w(?:\(\))?(?:=\w+)?)(?![`\w])|(?<![`\w])(\*\w+)(?![`\w*])")


def prose(text: str) -> str:
    """A comment as Markdown."""
    parts = re.split(r"(`+[^`]+`+)", text)
    for at in range(0, len(parts), 2):
        parts[at] = (
            NAME.sub(lambda found: f"`{found[1] or found[2]}`", parts[at]).replace("<", "\\<").replace("{", "\\{")
        )
    return "".join(parts)


def in_cell(text: str) -> str:
    return " ".join(prose(text).replace("|", "\\|").split())


def c_prose(text: str) -> str:
    """With the parameters as a list, and the errors as a paragraph of their own."""
    text = re.sub(r"^@param (\w+) +", r"- \1: ", text, flags=re.MULTILINE)
    text = re.sub(r"(?:^|(?<=[.:;] )|\n)Errors: ", "\n\nErrors: ", text)
    lines = [re.sub(r"^- (\w+): ", r"- `\1`: ", line) for line in text.splitlines()]
    text = re.sub("^Errors: ", "**Errors:** ", prose("\n".join(lines)).strip(), flags=re.MULTILINE)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def c_page(title: str) -> Iterator[str]:
    (group,) = [group for group in api.c_groups() if group.title.lower().replace(" ", "_") == title]
    if group.said:
        yield from c_prose(group.said).split("\n\n")
    for member in group.members:
        yield f"## {member.name}"
        if member.declared:
            yield fenced("c", member.declared)
        if member.said:
            yield c_prose(member.said)
        if member.rows:
            yield rows_of(member.rows)


def rows_of(rows: list[tuple[str, str, str]]) -> str:
    head = "value" if rows[0][0].startswith("VIA_") else "type"
    lines = [f"| name | {head} | meaning |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | `{kind}` | {in_cell(said)} |" for name, kind, said in rows)])


def members_of(language: str, title: str) -> Iterator[str]:
    groups = {"python": api.python_groups, "java": api.java_groups, "csharp": api.csharp_groups, "cpp": api.cpp_groups}
    for group in (groups | {"fortran": api.fortran_groups})[language]():
        yield f"## {group.title}"
        if group.declared and group.declared.split()[-1] != group.title:
            yield f"`{group.declared}`"
        if group.said:
            yield prose(group.said)
        for silent, members in itertools.groupby(group.members, key=lambda member: not member.said):
            if silent:
                yield "- " + ", ".join(f"`{member.declared}`" for member in members)
            else:
                yield from (part for member in members for part in one_member(language, member, group.title))


def one_member(language: str, member: api.Member, title: str) -> Iterator[str]:
    if language == "fortran" and "\n" in member.declared:
        call, types = member.declared.split("\n", 1)
        yield f"### {call}"
        yield fenced("fortran", types)
    elif language == "python" and title == "Functions":
        yield f"### {member.name}"
        yield fenced("python", "\n".join(map(folded, member.declared.splitlines())))
    else:
        listed = ", ".join(f"`{line}`" for line in member.declared.splitlines())
        yield f"- {listed}: " + prose(member.said).replace("\n", "\n  ")
        return
    yield prose(member.said)


def folded(call: str) -> str:
    """A long call with a line for each parameter."""
    if len(call) <= 100:
        return call
    node = ast.parse(f"def {call}: ...").body[0].args
    first = [ast.unparse(each) for each in (*node.posonlyargs, *node.args)]
    defaults = [None] * (len(first) - len(node.defaults)) + node.defaults
    listed = [with_default(*each) for each in zip(first, defaults, strict=True)]
    if node.posonlyargs:
        listed.insert(len(node.posonlyargs), "/")
    keywords = [
        with_default(ast.unparse(each), value) for each, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)
    ]
    listed += ["*", *keywords] if keywords else []
    return f"{call.partition('(')[0]}(\n" + "".join(f"    {each},\n" for each in listed) + call[call.rindex(") -> ") :]


def with_default(parameter: str, value: ast.expr | None) -> str:
    return f"{parameter} = {ast.unparse(value)}" if value else parameter


def api_of(arguments: str) -> str:
    language, _, title = arguments.strip().partition(" ")
    parts = c_page(title) if language == "c" and title else members_of(language, title)
    if arguments.strip() == "c":
        parts = iter([c_prose(api.c_introduction().partition("\n\n")[2].partition("\n\n")[2])])
    return re.sub(r" +$", "", "\n\n".join(parts), flags=re.MULTILINE)


def examples_of(arguments: str) -> str:
    parts = []
    for path in programs.in_folder(arguments.strip()):
        said = re.sub(r"``+([^`]+)``+", r"`\1`", programs.comment_of(path))
        link = "../" * 2 + str(path.relative_to(ROOT))
        parts += [f"## {path.name}", prose(said), f"[The program]({link})"]
    return "\n\n".join(parts)


# ------------------------------------------------------------------------------------------------------------ the page

MAKERS: dict[str, Callable[[str], str]] = {
    "code": code_of,
    "table": table_of,
    "layouts": layouts_of,
    "kernels": kernels_of,
    "plain": plain_of,
    "machine": machine_of,
    "where": where_of,
    "numbers": numbers,
    "versions": versions,
    "places": places,
    "sizes": sizes,
    "api": api_of,
    "examples": examples_of,
}


def made(text: str) -> str:
    """A page with its parts as they are now."""

    def part(found: re.Match[str]) -> str:
        text = MAKERS[found[1]](found[2])
        return "\n".join(filter(None, [f"<!-- {found[1]}:{found[2]} -->", text, "<!-- end -->"]))

    return PART.sub(part, text)


def package_page(readme: str) -> str:
    """The README where its files are not: without links to them, and without what no reader sees."""
    text = re.sub(r"^<!-- .*? -->\n", "", readme, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]+)\]\(\1\)", r"`\1`", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)", r"\1 (`\2`)", text)


def old_pages() -> dict[Path, str]:
    """The pages that are not what they would be made now, and what that is."""
    wanted = {page: made(page.read_text()) for page in pages()}
    wanted[PACKAGE] = package_page(wanted[README])
    return {page: text for page, text in wanted.items() if not page.exists() or page.read_text() != text}


def main() -> int:
    old = old_pages()
    for page, text in old.items():
        print(page.relative_to(ROOT))
        if "--check" not in sys.argv:
            page.write_text(text)
    return 1 if old and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
