"""The example programs, and what each says of itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {
    ".c": "c",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".f90": "fortran",
    ".h": "c",
    ".java": "java",
    ".py": "python",
}


def comment_of(path: Path) -> str:
    """What a program says of itself: its docstring, or the first comment of more than one line, of its header's if it
    has one."""
    header = path.with_suffix(".h")
    text = (header if header.exists() else path).read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    found = re.search(r"/\*+\n(.*?)\*/|((?:^ *(?://+|!) .*\n){2,})", text, re.DOTALL | re.MULTILINE)
    said = (found[1] or found[2]) if found else ""
    return re.sub(r"</?summary>", "", re.sub(r"^ *(?:\*|//+|!) ?", "", said, flags=re.MULTILINE)).strip()


def in_folder(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).iterdir() if path.suffix in LANGUAGES)


def shown(page: str, language: str) -> str:
    """The one program that a page has in a language, by the words after its three backquotes."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return str(found)
