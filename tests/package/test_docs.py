"""The pages: that nothing is missing there, that nothing they name is elsewhere, that what is made is not old.

They are plain Markdown, to be read as they are; `./dev docs` makes a site of them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import built
import pages
import programs
import pytest
from abi_tools import enumerators, functions, library, run
from package_tools import ROOT

import api

DOCS = ROOT / "docs"
PAGES = pages.pages()
FAILURES = sorted(name for name in enumerators() if name.startswith("VIA_ERROR_"))
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose_of(page: Path) -> str:
    """A page without its programs."""
    return FENCED.sub("", page.read_text())


def test_what_pages_take_from_elsewhere_is_what_is_there() -> None:
    old = [name_of(page) for page in pages.old_pages()]
    assert old == [], "run ./dev pages"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_plain_markdown(page: Path) -> None:
    """Roles and directives would be shown as they are written where nobody builds the pages."""
    assert re.findall(r"\{[\w:-]+\}`|^```\{.*", page.read_text(), re.MULTILINE) == []
    assert page.read_text().startswith("# ")


def section_of_error(status: str) -> str:
    found = re.search(
        rf"^## {status}$(.*?)(?=^## |\Z)", (DOCS / "guide/errors.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/guide/errors.md has no section {status}"
    return found[1]


# Where each language's class for a status is named, and how the page calls that language.
CLASSES = {
    "C++ `": ("cpp/viaduct/cpp/error.hpp", r"using (\w+) = ErrorOf<{status}>;"),
    "Python `viaduct.": ("python/src/support/errors.cpp", r'{{{status}, "viaduct\.(\w+)"'),
    "Java `": ("java/src/org/viaduct/ViaductException.java", r"\.{status} -> new (\w+)\("),
    "C# `": ("csharp/src/Failure.cs", r"(?i)ViaStatus\.{word}: return new (\w+)\("),
}


@pytest.mark.parametrize("status", FAILURES)
def test_every_error_has_its_fix_and_is_named_as_each_language_names_it(status: str) -> None:
    section = section_of_error(status)
    assert re.search(r"^- \S", section, re.MULTILINE), "no fix"
    word = status.removeprefix("VIA_ERROR_").replace("_", "")
    for written, (source, pattern) in CLASSES.items():
        named = re.search(pattern.format(status=status, word=word), (ROOT / "bindings" / source).read_text())
        assert named, f"bindings/{source} has no {status}"
        assert f"{written}{named[1]}`" in section


TEXTS = re.compile(r"fail(?:_with_code)?\(\s*(VIA_ERROR_\w+),\s*(?:\w+,\s*)?((?:\"(?:[^\"\\]|\\.)*\"\s*)+)")
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


def test_every_group_of_the_header_has_its_page() -> None:
    groups = sorted(title.replace(" ", "_") for title, _ in api.c_sections())
    assert sorted(page.stem for page in (DOCS / "reference/c").glob("*.md") if page.stem != "index") == groups


def headings_of(page: Path) -> list[str]:
    return re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)


def test_every_function_of_the_header_has_its_place_and_its_comment() -> None:
    members = [member for group in api.c_groups() for member in group.members]
    headings = {heading for page in (DOCS / "reference/c").glob("*.md") for heading in headings_of(page)}
    assert set(functions()) <= headings
    assert [member.name for member in members if not (member.said or member.rows)] == []
    constants = {row[0] for member in members for row in member.rows}
    assert set(enumerators()) <= constants


def public_names(path: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, kinds) and node.name[0] != "_"}


def test_every_public_name_of_the_python_package_is_on_its_page() -> None:
    page = DOCS / "reference/python.md"
    reported = set(headings_of(page)) | set(re.findall(r"^- `(\w+)\(", page.read_text(), re.MULTILINE))
    assert public_names(api.PYTHON) - reported == set()


def test_the_page_of_python_shows_constructors_and_explains_the_types_of_its_signatures() -> None:
    page = (DOCS / "reference/python.md").read_text()
    made_by_users = ["Archive(path: ", "Batch()", "Event(device: ", "Stream(device: "]
    assert [made for made in made_by_users if f"\n- `{made}" not in page] == []
    explained = " ".join(re.findall(r"^- (`_[A-Z].*?):", page, re.MULTILINE))
    assert [name for name in set(re.findall(r"\b_[A-Z]\w+", page)) if f"`{name}`" not in explained] == []


@pytest.mark.parametrize(
    ("page", "sources", "pattern"),
    [
        ("java", "bindings/java/src/org/viaduct/*.java", r"^public .*?(?:class|interface|enum|record) (\w+)"),
        ("csharp", "bindings/csharp/src/*.cs", r"^    public .*?(?:class|interface|enum|struct) (\w+)"),
        (
            "cpp",
            "bindings/cpp/viaduct/cpp/*.hpp",
            r"^(?:\S+ )?inline Result<.*?> (\w+)\(|^class (\w+) : public detail::",
        ),
        ("fortran", "bindings/fortran/viaduct.f90", r"^    procedure :: (?!get_)(\w+)$|procedure :: (\w+) =>"),
    ],
)
def test_every_public_name_of_a_language_is_on_its_page(page: str, sources: str, pattern: str) -> None:
    text = (DOCS / f"reference/{page}.md").read_text()
    found = [name for path in ROOT.glob(sources) for name in re.findall(pattern, path.read_text(), re.MULTILINE)]
    names = {name if isinstance(name, str) else "".join(name) for name in found}
    assert len(names) >= 10
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_the_pages_of_java_and_csharp_have_a_heading_for_each_type_and_the_members_of_the_base_of_errors() -> None:
    flags = ("ArrayFlags", "WrapFlags")
    assert {*flags, "DType", "ViaArray", "ViaException"} <= set(headings_of(DOCS / "reference/csharp.md"))
    assert {"DType", "ViaArray", "ViaductException"} <= set(headings_of(DOCS / "reference/java.md"))
    assert "- `int Code`: " in (DOCS / "reference/csharp.md").read_text()
    assert "- `int code()`: " in (DOCS / "reference/java.md").read_text()


@pytest.mark.parametrize("page", ["cpp", "java", "csharp"])
def test_a_page_that_is_made_of_comments_shows_whole_declarations_and_no_tags_of_comments(page: str) -> None:
    text = (DOCS / f"reference/{page}.md").read_text()
    assert (
        re.findall(r"^.*(?:@(?:return|throws|param)\b|inheritdoc|\w\{T\}|as in C and C$).*$", text, re.MULTILINE) == []
    )
    declared = re.findall(r"^- `(.*?)`", text, re.MULTILINE)
    assert [each for each in declared if each.startswith("&") or each.endswith(" where T") or " : data_" in each] == []


def test_the_page_of_fortran_shows_how_each_generic_is_called_and_the_types_that_get_takes() -> None:
    page = (DOCS / "reference/fortran.md").read_text()
    generics = re.findall(r"^    generic :: (\w+) =>", api.FORTRAN.read_text(), re.MULTILINE)
    assert {"empty", "section", "read"} <= set(generics)
    assert [name for name in generics if f"%{name}(" not in page] == []
    assert "integer(c_int8_t)" in re.findall(r"Of the types (.*)", page)[0]


def annotations_of(node: ast.AST) -> list[ast.expr]:
    """Of the calls in it that have a page."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    arguments = [part.annotation for call in calls for part in ast.walk(call.args) if isinstance(part, ast.arg)]
    return [found for found in arguments + [call.returns for call in calls] if found is not None]


# Types of other packages, and those that the page explains before its first signature.
KNOWN = {
    "Any",
    "Buffer",
    "Callable",
    "CapsuleType",
    "EllipsisType",
    "Iterator",
    "Literal",
    "PathLike",
    "Mapping",
    "Sequence",
}
KNOWN |= {"SupportsIndex"}


def test_every_type_that_a_public_call_names_is_documented_or_known_to_be_elsewhere() -> None:
    stub = ast.parse(api.PYTHON.read_text())
    public = [node for node in stub.body if not getattr(node, "name", "_").startswith("_")]
    parts = [part for node in public for found in annotations_of(node) for part in ast.walk(found)]
    named = {part.id for part in parts if isinstance(part, ast.Name)}
    here = {getattr(node, "name", "") for node in stub.body} | set(dir(builtins)) | KNOWN
    assert [name for name in named if name not in here and not name.startswith("_")] == []


def anchors_of(page: Path) -> set[str]:
    """As forges make them of headings."""
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings_of(page)]
    return set(plain)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "tests/conformance/README.md"], ids=name_of)
def test_every_relative_link_of_a_page_resolves(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() and target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:src|include|bindings|tests|docs|pkgconfig)/[\w./-]+)`", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def written(page: Path) -> str:
    """A page without what is made of sources."""
    return pages.PART.sub("", page.read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_every_name_of_the_python_package_that_a_page_uses_is_there(page: Path) -> None:
    used = set(re.findall(r"\bvia\.([A-Za-z]\w*)", written(page)))
    assert used - public_names(api.PYTHON) - {"raw"} == set()


@functools.cache
def words_of_the_code() -> set[str]:
    kinds = {".c", ".cmake", ".cpp", ".cu", ".cuh", ".def", ".h", ".hpp", ".py", ".txt"}
    rooms = ("src", "include", "tests", "pkgconfig")
    sources = [path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in kinds]
    sources += [ROOT / "CMakeLists.txt", ROOT / "dev"]
    return {word for path in sources for word in re.findall(r"\w+", path.read_text())}


@pytest.mark.parametrize("page", sorted((DOCS / "inside").glob("*.md")), ids=name_of)
def test_what_a_page_about_the_code_names_is_in_the_code(page: Path) -> None:
    named = set(re.findall(r"`([A-Za-z_]\w{3,})(?:\(\))?`", page.read_text()))
    assert named - words_of_the_code() == set()


def test_every_page_is_in_the_contents() -> None:
    """An index page lists those of its folder, the first also those of folders without one."""
    listed = set()
    for index in DOCS.rglob("index.md"):
        entries = re.findall(r"toctree\}\n.*?\n\n(.*?)\n```", built.contents_of(index.read_text()), re.DOTALL)
        listed |= {(index.parent / f"{entry}.md").resolve() for block in entries for entry in block.split()}
    wanted = {page for page in PAGES if page.is_relative_to(DOCS)} - {DOCS / "index.md"}
    assert listed == wanted


def test_names_become_links_where_the_pages_are_built() -> None:
    known = built.places()
    assert set(functions()) <= set(known) and known["VIA_ERROR_SHAPE"] == "reference/c/constants.md#via_status"
    text = "# `via_copy`\n\nCall `via_copy()` and `via_none`.\n\n```c\nx(`via_copy`);\n```\n"
    made = built.with_links(text, DOCS / "guide", known)
    assert made == text.replace("`via_copy()`", "[`via_copy()`](../reference/c/copy.md#via_copy)")


def test_every_example_says_what_it_is_and_is_shown() -> None:
    for folder in ROOT.glob("bindings/*/examples"):
        page = (DOCS / f"examples/{folder.parent.name}.md").read_text()
        assert f"<!-- examples: bindings/{folder.parent.name}/examples -->" in page
        shown = programs.in_folder(str(folder))
        assert shown
        assert [path.name for path in shown if not programs.comment_of(path)] == []
        assert [path.name for path in shown if f"\n## {path.name}\n" not in page] == []


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
    assert f"[`{example.with_suffix('.c' if example.suffix == '.h' else example.suffix).name}`]" in page.read_text()
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


# ------------------------------------------------------------------------------------------------------------ reference


def test_every_environment_variable_that_is_read_is_on_its_page() -> None:
    sources = [path for room in ("src", "bindings") for path in (ROOT / room).rglob("*")]
    kinds = {".cpp", ".hpp", ".py", ".cs", ".java", ".c"}
    texts = [path.read_text() for path in sources if path.suffix in kinds and "examples" not in path.parts]
    reads = r"(?:getenv|setting|environ(?:\.get)?|GetEnvironmentVariable)[(\[]\"(VIADUCT_\w+)"
    read = {name for text in texts for name in re.findall(reads, text)}
    reported = set(re.findall(r"^\| `(VIADUCT_\w+)`", (DOCS / "reference/environment.md").read_text(), re.MULTILINE))
    assert len(read) >= 4 and read <= reported
    everywhere = "".join(texts)
    assert [name for name in reported if f'"{name}"' not in everywhere] == []


def test_every_option_of_the_build_is_on_its_page() -> None:
    files = [ROOT / "CMakeLists.txt", *(ROOT / "src").rglob("CMakeLists.txt"), *(ROOT / "pkgconfig").rglob("*.cmake")]
    options = {name for path in files for name in re.findall(r"^ *option\((\w+)", path.read_text(), re.MULTILINE)}
    reported = set(re.findall(r"^\| `(VIADUCT_\w+)`", (DOCS / "inside/build.md").read_text(), re.MULTILINE))
    assert reported == options


def test_the_library_needs_no_newer_glibc_than_the_page_says() -> None:
    if not library().exists():
        pytest.skip("there is no library")
    (glibc,) = re.findall(r"glibc (\d+\.\d+) or newer \|", (DOCS / "reference/compatibility.md").read_text())
    assert f"glibc {glibc} or newer" in (ROOT / "README.md").read_text()
    symbols = run("readelf", "-V", library())
    needed = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", symbols)}
    assert max(needed) <= tuple(map(int, glibc.split(".")))
    assert "GLIBCXX" not in symbols


# ---------------------------------------------------------------------------------------------------------- performance


# Times of plans, by populations: a part of its own makes a page's words of them.
OF_PLANS = "kernels.json"


def results() -> dict[str, list[dict[str, Any]]]:
    files = [path for path in sorted(pages.RESULTS.glob("*.json")) if path.name != OF_PLANS]
    return {path.name: json.loads(path.read_text())["rows"] for path in files}


def shown_tables() -> list[tuple[list[str], list[dict[str, Any]]]]:
    """The files and the rows of each table that the pages show."""
    found = []
    for page in (DOCS / "performance").glob("*.md"):
        for arguments in re.findall(r"^<!-- table: (.*) -->$", page.read_text(), re.MULTILINE):
            files, _, pattern = arguments.partition(";")
            names = pages.files_of(files)
            rows = results()[names[0]] if names else []
            found.append((names, [row for row in rows if re.search(pattern.strip(), row["case"])]))
    return found


def test_every_population_that_was_measured_is_on_a_page() -> None:
    shown = "".join(page.read_text() for page in (DOCS / "performance").glob("*.md"))
    measured = [f"layouts/{path.name}" for path in (pages.RESULTS / "layouts").glob("*.json")]
    assert measured
    assert [name for name in measured if name not in shown] == []


def parts_of_a_pattern() -> str:
    kinds = ("where: new-*.json ; ## New\n\nThey are here.", "machine: new-*.json", "table: new-*.json ; .")
    text = "".join(f"<!-- {kind} -->\n<!-- end -->\n\n" for kind in (*kinds, "layouts: layouts/new-*.json"))
    made = pages.made(text)
    assert pages.made(made) == made
    return re.sub(r"<!-- (?:\w+:.*?|end) -->\n", "", made, flags=re.DOTALL).strip()


def test_a_section_of_files_that_are_not_there_yet_is_empty_and_appears_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    monkeypatch.setattr(pages, "report", lambda name: json.loads((tmp_path / name).read_text()))
    assert parts_of_a_pattern() == ""
    copies = json.loads((ROOT / "tests/bench/results/cpu.json").read_text())
    (tmp_path / "new-1.json").write_text(json.dumps(copies))
    (tmp_path / "layouts").mkdir()
    for seed in (7, 5):
        rows = [{"case": f"of seed {seed}", "nbytes": 1 << 20, "seconds": {"viaduct": 1, "numpy": 2}, "bound": 1}]
        found = {"population": "host", "settings": {"seed": seed, "threads": 16}, "rows": rows}
        found["summary"] = [{"band": "1 MiB and more"}]
        (tmp_path / f"layouts/new-{seed}.json").write_text(json.dumps(found))
    found = parts_of_a_pattern()
    assert found.startswith("## New\n\nThey are here.\n\n`tests/bench/results/new-1.json`: ")
    assert all(row["case"].replace("__", r"\_\_") in found for row in copies["rows"])
    assert "\nSeeds 5, 7: `layouts/new-5.json`, `layouts/new-7.json`.\n" in found
    assert "| 1 MiB and more | 2 | 2.00 x, 2.00 x, 0 |" in found
    with pytest.raises(FileNotFoundError):
        pages.made("<!-- table: other.json ; . -->\n<!-- end -->\n")


def test_what_each_kernel_is_worth_is_on_a_page() -> None:
    page = (DOCS / "performance/gpu.md").read_text()
    assert f"<!-- kernels: {OF_PLANS} -->" in page
    rows = json.loads((pages.RESULTS / OF_PLANS).read_text())["rows"]
    assert rows
    assert [name for name, plans in rows.items() if f" of {len(plans)} |" not in page] == []


def test_rows_with_access_off_and_on_are_of_the_same_layouts() -> None:
    """The target of the one is a part of the other's rates."""
    files = sorted((pages.RESULTS / "layouts").glob("peer-*-off.json"))
    assert files
    for path in files:
        off, on = (json.loads(path.with_stem(stem).read_text())["rows"] for stem in (path.stem, f"{path.stem[:-3]}on"))
        layouts = [[(row["case"].partition(" (route: ")[0], row["nbytes"]) for row in rows] for rows in (off, on)]
        assert layouts[0] == layouts[1]
        assert [row["seconds"]["access on"] for row in off] == [row["seconds"]["viaduct"] for row in on]


def test_every_row_that_was_measured_is_on_a_page_once() -> None:
    """None is left out for what it says. A file next to the first of a table gives its column."""
    tables = shown_tables()
    for file, rows in results().items():
        first = Counter(row["case"] for files, shown in tables if files[:1] == [file] for row in shown)
        other = Counter(row["case"] for files, shown in tables if file in files[1:] for row in shown)
        wanted = Counter(row["case"] for row in rows)
        assert [case for case in wanted if first[case] + (other[case] > 0) * wanted[case] != wanted[case]] == [], file


def test_a_row_of_another_machine_is_judged_by_the_target_next_to_it_or_by_its_own_which_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def row(case: str = "a copy", **target: Any) -> dict[str, Any]:
        values = {"viaduct": 5.0, "peers": {"driver": 1.0, "torch": 5.0}, "limit": None}
        return {"case": case, "unit": "us", **values, "target": target or None}

    def cell(here: dict[str, Any], *there: dict[str, Any]) -> str:
        monkeypatch.setattr(pages, "report", lambda _: {"rows": [row("other"), *there]})
        return pages.elsewhere(here, "")

    old, new = row(peer="driver", at_least=0.98), row(peer="driver", at_least=9)
    assert cell(old, old) == "5 us, 5.00 x, met"
    assert cell(new, old) == "5 us, 5.00 x, MISSED"
    assert cell(new, row()) == "5 us, 5.00 x, MISSED"
    assert cell(row(), new) == "5 us, 5.00 x, MISSED (at least 9 x driver)"
    assert cell(new, row(peer="torch", at_least=1)) == "5 us, 1.00 x, met (at least 1 x torch)"
    assert cell(row(value_at_most=4), row(value_at_most=6)) == "5 us, met (at most 6 us)"
    assert cell(new) == "not measured"
    assert cell(new, old, new) == "5 us, 5.00 x, MISSED"
    with pytest.raises(AssertionError, match="several rows a copy"):
        cell(row(), old, new)


def mean_of(rows: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> float:
    return math.exp(statistics.fmean(math.log(value(row)) for row in rows))


def with_parts(shown: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each mean of a table, and the rows since the means before it."""
    found: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    above: list[dict[str, Any]] = []
    for is_mean, rows in itertools.groupby(shown, lambda row: " mean " in row["case"]):
        if is_mean:
            found += [(row, above) for row in rows]
        else:
            above = list(rows)
    return found


def test_every_mean_is_of_the_rows_above_it() -> None:
    means = [found for _, shown in shown_tables() for found in with_parts(shown)]
    assert len(means) >= 9
    for row, above in means:
        for name in ["viaduct", *row["peers"]]:
            found = mean_of(above, functools.partial(value_of, name))
            assert found == pytest.approx(value_of(name, row), rel=1e-3), (row["case"], name)
        number = re.search(r"mean of (\d+)", row["case"])
        assert not number or len(above) == int(number[1])


def value_of(name: str, row: dict[str, Any]) -> float:
    return float(row["viaduct"] if name == "viaduct" else row["peers"][name])


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((DOCS / "guide").glob("from-*.md"))], ids=name_of)
def test_the_numbers_of_a_page_were_measured(page: Path) -> None:
    """ "47.8 instead of 10.1 GB/s": a row of the file has both."""
    claims = re.findall(r"([\d.]+) instead of ([\d.]+) (GB/s|us)", page.read_text())
    rows = results()["gpu-two.json"]
    for ours, theirs, unit in claims:
        digits, scale = len(ours.partition(".")[2]), 1000 if unit == "us" else 1
        pairs = [
            (f"{row['viaduct'] / scale:.{digits}f}", f"{value / scale:.{len(theirs.partition('.')[2])}f}")
            for row in rows
            for value in row["peers"].values()
        ]
        assert (ours, theirs) in pairs
