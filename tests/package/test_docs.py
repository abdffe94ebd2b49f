"""The pages of docs/: that nothing is missing there, and nothing they name elsewhere. `./dev docs` makes them."""

from __future__ import annotations

import ast
import builtins
import functools
import re
import runpy
from pathlib import Path

import header_for_doxygen
import programs
import pytest
from abi_tools import enumerators, functions
from package_tools import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")])
FAILURES = sorted(name for name in enumerators() if name.startswith("VIA_ERROR_"))


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


def section_of_error(status: str) -> str:
    found = re.search(
        rf"^## {status}$(.*?)(?=^## |\Z)", (DOCS / "guide/errors.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/guide/errors.md has no section {status}"
    return found[1]


# Where each language's class for a status is named, and how the page calls that language.
CLASSES = {
    "C++ `": ("cpp/viaduct/cpp/error.hpp", r"using (\w+) = ErrorOf<{status}>;"),
    "Python {py:exc}`~viaduct.": ("python/src/errors.cpp", r'{{{status}, "viaduct\.(\w+)"'),
    "Java `": ("java/src/org/viaduct/ViaductException.java", r"\.{status} -> new (\w+)\("),
    "C# `": ("csharp/src/Failure.cs", r"(?i)ViaStatus\.{word}: return new (\w+)\("),
}


@pytest.mark.parametrize("status", FAILURES)
def test_every_error_has_its_cure_and_is_named_as_each_language_names_it(status: str) -> None:
    section = section_of_error(status)
    assert re.search(r"^- \S", section, re.MULTILINE), "no cure"
    word = status.removeprefix("VIA_ERROR_").replace("_", "")
    for written, (source, pattern) in CLASSES.items():
        named = re.search(pattern.format(status=status, word=word), (ROOT / "bindings" / source).read_text())
        assert named, f"bindings/{source} has no {status}"
        assert f"{written}{named[1]}`" in section


TEXTS = re.compile(r"fail(?:_with_code)?\(\s*(VIA_ERROR_\w+),\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)")
PLACES = re.compile(r"%[-+ #0-9.*]*(?:ll|z|h)?[dusxpf]")


def texts_of_the_library() -> dict[str, list[re.Pattern[str]]]:
    """What it says in failing, by status: its formats, with anything in their places."""
    found: dict[str, list[re.Pattern[str]]] = {}
    for source in (ROOT / "src").rglob("*.[ch]pp"):
        for status, literals in TEXTS.findall(source.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')
            parts = map(re.escape, PLACES.split(text))
            found.setdefault(status, []).append(re.compile(".+".join(parts)))
    return found


@pytest.mark.parametrize("status", FAILURES)
def test_the_texts_shown_for_an_error_are_what_the_library_says(status: str) -> None:
    (line,) = re.findall(r"^For example: (.*)$", section_of_error(status), re.MULTILINE)
    shown = re.findall(r"`([^`]+)`", line)
    said = texts_of_the_library()[status]
    assert shown and [text for text in shown if not any(pattern.fullmatch(text) for pattern in said)] == []


def test_no_error_that_there_is_not_is_explained() -> None:
    assert sorted(re.findall(r"^## (\w+)$", (DOCS / "guide/errors.md").read_text(), re.MULTILINE)) == FAILURES


def entries_of(page: Path) -> list[str]:
    """What a page has among its contents."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [entry for block in blocks for entry in re.findall(r"^(?!:)(\S+)$", block, re.MULTILINE)]


def test_every_group_of_the_header_has_its_page() -> None:
    titles = header_for_doxygen.SECTION.findall((ROOT / "include/viaduct/viaduct.h").read_text())
    groups = sorted(map(header_for_doxygen.group_of, titles))
    assert sorted(page.stem for page in (DOCS / "reference/c").glob("*.md") if page.stem != "index") == groups
    assert sorted(entries_of(DOCS / "reference/c/index.md")) == groups


def test_every_function_of_the_header_is_in_a_group() -> None:
    text = header_for_doxygen.prepared((ROOT / "include/viaduct/viaduct.h").read_text())
    inside = "".join(re.findall(r" \* @\{\n \*/\n(.*?)/\*\* @\} \*/", text, re.DOTALL))
    assert [name for name in functions() if not re.search(rf"\b{name}\(", inside)] == []


def test_every_public_name_of_the_python_package_is_on_its_page() -> None:
    stub = ast.parse((ROOT / "bindings/python/viaduct/__init__.pyi").read_text())
    page = (DOCS / "reference/python.rst").read_text()
    told = set(re.findall(r"^\.\. autoapi\w+:: viaduct\.(\w+)$", page, re.MULTILINE))
    kinds = (ast.FunctionDef, ast.ClassDef)
    assert told == {node.name for node in stub.body if isinstance(node, kinds) and not node.name.startswith("_")}


def annotations_of(node: ast.AST) -> list[ast.expr]:
    """Of the calls in it that have a page."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    arguments = [part.annotation for call in calls for part in ast.walk(call.args) if isinstance(part, ast.arg)]
    return [found for found in arguments + [call.returns for call in calls] if found is not None]


def test_every_type_that_a_public_call_names_is_documented_or_known_to_be_elsewhere() -> None:
    """Else Sphinx, which few run, would find no page for it."""
    stub = ast.parse((ROOT / "bindings/python/viaduct/__init__.pyi").read_text())
    public = [node for node in stub.body if not getattr(node, "name", "_").startswith("_")]
    parts = [part for node in public for found in annotations_of(node) for part in ast.walk(found)]
    here = {getattr(node, "name", "") for node in stub.body} | set(dir(builtins)) | {"Literal"}
    settings = runpy.run_path(str(DOCS / "conf.py"))
    elsewhere = [pattern for kind, pattern in settings["nitpick_ignore_regex"] if kind.startswith("py")]
    named = {part.id for part in parts if isinstance(part, ast.Name)} - here
    assert [name for name in named if not any(re.fullmatch(pattern, name) for pattern in elsewhere)] == []


def included(page: Path) -> list[tuple[Path, str]]:
    """The files that a page takes text from, each with the directive's options."""
    found = re.findall(
        r"^```\{(?:literalinclude|include|image)\} (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL
    )
    return [((page.parent / path).resolve(), options) for path, options in found]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_includes_is_there(page: Path) -> None:
    for path, options in included(page):
        assert path.exists(), path
        text = path.read_text()
        for mark in re.findall(r"^:(?:start-after|start-at|end-before): (.*)$", options, re.MULTILINE):
            assert mark.strip('"') in text, f"{path.name}: {mark}"
        for name in re.findall(r"^:pyobject: (\w+)$", options, re.MULTILINE):
            assert re.search(rf"^(?:def|class) {name}\b", text, re.MULTILINE), f"{path.name}: {name}"


def text_taken(path: Path, options: str) -> str:
    text = path.read_text()
    after = re.search(r'^:start-after: "(.*)"$', options, re.MULTILINE)
    before = re.search(r'^:end-before: "(.*)"$', options, re.MULTILINE)
    text = text.partition(after[1])[2] if after else text
    return text.partition(before[1])[0] if before else text


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_that_a_page_includes_has_no_link_that_leads_elsewhere_from_there(page: Path) -> None:
    for path, options in included(page):
        if path.suffix == ".md" and ":language:" not in options:
            links = re.findall(r"\]\(([^)\s]+)\)", text_taken(path, options))
            assert [link for link in links if not link.startswith("http")] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_link_of_a_page_is_dead(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if not link.startswith("http")]
    links += [f"{entry}.*" for entry in entries_of(page)]
    assert [link for link in links if not list(page.parent.glob(link))] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:src|include|bindings|tests|docs|pkgconfig)/[\w./-]+)`", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


@functools.cache
def words_of_the_code() -> set[str]:
    kinds = {".c", ".cpp", ".cu", ".cuh", ".def", ".h", ".hpp", ".py"}
    sources = [
        path for room in ("src", "include", "tests") for path in (ROOT / room).rglob("*") if path.suffix in kinds
    ]
    return {word for path in sources for word in re.findall(r"\w+", path.read_text())}


@pytest.mark.parametrize("page", sorted((DOCS / "inside").glob("*.md")), ids=name_of)
def test_what_a_page_about_the_code_names_is_in_the_code(page: Path) -> None:
    named = set(re.findall(r"`([A-Za-z_]\w{3,})(?:\(\))?`", page.read_text()))
    assert named and named - words_of_the_code() == set()


def test_every_page_is_in_the_contents() -> None:
    listed = {(page.parent / entry).resolve() for page in PAGES for entry in entries_of(page)}
    assert {page.with_suffix("") for page in PAGES} - listed == {DOCS / "index"}


def test_every_example_says_what_it_is_and_is_shown() -> None:
    for folder in ROOT.glob("bindings/*/examples"):
        assert (
            f"{{examples}} bindings/{folder.parent.name}/examples"
            in (DOCS / f"examples/{folder.parent.name}.md").read_text()
        )
        shown = programs.in_folder(str(folder))
        assert shown
        assert [path.name for path in shown if not programs.comment_of(path)] == []


def rows_of(table: str) -> list[list[str]]:
    """The cells below a table's head."""
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def tables_of(page: Path) -> list[list[list[str]]]:
    return [rows_of(table) for table in re.findall(r"(?:^\|.*\|\n)+", page.read_text(), re.MULTILINE)]


def words_of(name: str) -> str:
    """The name of an example as C writes it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


EXAMPLES = sorted(path for folder in ROOT.glob("bindings/*/examples") for path in programs.in_folder(str(folder)))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_answers_a_question_of_the_list_and_is_run_by_the_tests_named(example: Path) -> None:
    page = DOCS / "examples/index.md"
    assert (
        f"{{ref}}`{example.with_suffix('.c' if example.suffix == '.h' else example.suffix).name}`" in page.read_text()
    )
    if example.stem == "pointer_source":
        return
    tests = [
        (ROOT / test).read_text()
        for stems, _, run_by in tables_of(page)[1]
        if f"`{words_of(example.stem)}`" in stems
        for test in re.findall(r"`(.*?)`", run_by)
    ]
    assert any(example.stem in text or words_of(example.stem) in text for text in tests), (
        "no test that is named runs it"
    )


@pytest.mark.parametrize("language", ["Python", "C", "C++", "Fortran", "Java", "C#"])
def test_the_questions_about_pointers_and_files_have_an_answer_in_each_language(language: str) -> None:
    questions = tables_of(DOCS / "examples/index.md")[0][:5]
    named = re.compile(rf"(?<!\w){re.escape(language)}(?=[:,]| and)")
    assert [question for question, programs in questions if not named.search(programs)] == []
