"""The header as Doxygen is to read it: `header_for_doxygen.py viaduct.h` prints it.

Doxygen runs this as its input filter, so that the header itself stays plain: a line `/* ---- views */` begins a group,
the comment that follows it introduces the group, "Errors:" begins a paragraph, and every name of the API in a comment
is a link, a warning if it leads nowhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SECTION = re.compile(r"^/\* -+ ([a-z ]+) \*/$", re.MULTILINE)
INTRODUCTION = re.compile(r"(/\*\* @addtogroup [^\n]*)\n\s*\*/\n\s*/\*\n(.*?)\*/", re.DOTALL)
COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
NAME = re.compile(r'(?<![\w#"])(via_[a-z0-9_]*[a-z0-9]|VIA_[A-Z0-9_]*[A-Z0-9])\b(?!_?\.\.\.)(?:\(\))?')
TAG = re.compile(r"^typedef ((?:struct|enum) (via_\w+) {.*?^}) \2;", re.DOTALL | re.MULTILINE)
ERRORS = re.compile(r"(?:\n \*)? Errors: ")
END = "\n#ifdef __cplusplus\n}\n#endif\n"


def group_of(title: str) -> str:
    return title.replace(" ", "_")


def with_groups(text: str) -> str:
    """Sections as groups, each from its line to the next."""
    first, *rest = SECTION.split(text)
    parts = [first]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"/** @addtogroup {group_of(title)} {title.capitalize()}\n */\n{body.lstrip(chr(10))}")
    grouped = "/** @} */\n\n".join(part if at == 0 else opened(part) for at, part in enumerate(parts))
    head, tail = grouped.replace("/** @} */\n\n", "", 1).rsplit(END, 1)
    return f"{head}\n/** @}} */\n{END}{tail}"


def opened(part: str) -> str:
    """The group's comment takes in the introduction, and its brace comes last."""
    part = INTRODUCTION.sub(lambda found: f"{found[1]}\n *\n{found[2]}* @{{\n */", part, count=1)
    return part if "* @{" in part else part.replace("\n */", "\n * @{\n */", 1)


def with_links(text: str) -> str:
    return COMMENT.sub(lambda comment: ERRORS.sub("\n * @par Errors\n * ", NAME.sub(r"#\1", comment[0])), text)


def without_typedefs(text: str) -> str:
    """A struct whose typedef has its own name would be there twice."""
    return TAG.sub(r"\1;", text)


def prepared(text: str) -> str:
    return with_links(with_groups(without_typedefs(text)))


def main() -> None:
    sys.stdout.write(prepared(Path(sys.argv[1]).read_text()))


if __name__ == "__main__":
    main()
