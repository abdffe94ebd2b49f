"""What `./dev docs` adds to the pages, which are plain Markdown: links of names, programs, and a table of contents.

- `via_copy` between backquotes becomes a link to its place in the reference.
- Where a page names a program, the built page shows it.
- Links to pages outside of docs/, which are not built, become their names.
- The links of an index page are its contents.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import api

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`\[])`((?:via|VIA)_\w+)(?:\(\))?`(?!`|\])")
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[\w./-]+\.md)\)")
PROGRAM = re.compile(r"^\[The program\]\((\S+)\)$", re.MULTILINE)
LANGUAGES = {".f90": "fortran", ".py": "python", ".java": "java", ".cs": "csharp", ".cpp": "cpp"}


def places() -> dict[str, str]:
    """The page and the heading of each name of the C API."""
    found = {}
    for group in api.c_groups():
        page = f"reference/c/{group.title.lower().replace(' ', '_')}.md"
        for member in group.members:
            heading = re.sub(r"[^\w-]", "", member.name.lower().replace(" ", "-"))
            found |= {name: f"{page}#{heading}" for name in [member.name, *(row[0] for row in member.rows)]}
    return {name: place for name, place in found.items() if name.lower().startswith("via_")}


def with_links(text: str, folder: Path, known: dict[str, str]) -> str:
    """Not in programs, and not in headings, whose anchors would change."""

    def link(found: re.Match[str]) -> str:
        place = known.get(found[1])
        return f"[{found[0]}]({os.path.relpath(DOCS / place, folder)})" if place else found[0]

    def linked(prose: str) -> str:
        return "\n".join(line if line.startswith("#") else CODE.sub(link, line) for line in prose.split("\n"))

    return "".join(part if part.startswith("```") else linked(part) for part in FENCED.split(text))


def with_programs(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        language = LANGUAGES.get(Path(found[1]).suffix, "c")
        return f"```{{literalinclude}} {found[1]}\n:language: {language}\n```"

    return PROGRAM.sub(shown, text)


def without_outside(text: str, folder: Path) -> str:
    def named(found: re.Match[str]) -> str:
        target = (folder / found[2]).resolve()
        return found[0] if target.is_relative_to(DOCS) else f"{found[1]} (`{target.relative_to(DOCS.parent)}`)"

    return LINK.sub(named, text)


def contents_of(text: str) -> str:
    """A hidden table of contents for each heading of an index page, of the links in its lists."""
    made = ""
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        links = re.findall(r"^- \[[^\]]*\]\(([\w./-]+)\.md\)", part, re.MULTILINE)
        caption = part.splitlines()[0].removeprefix("# ") if part.strip() else ""
        if links:
            made += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(links) + "\n```\n"
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    known = places()

    def read(app: Sphinx, name: str, source: list[str]) -> None:
        folder = (DOCS / name).parent
        text = without_outside(with_programs(source[0]), folder)
        if name.rpartition("/")[2] == "index":
            text += contents_of(source[0])
        source[0] = with_links(text, folder, known)

    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
