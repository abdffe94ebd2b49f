"""The directive `examples`: every program of a folder, under what its first comment says of it.

    ```{examples} bindings/python/examples
    ```

A program that comes to the folder comes to the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import programs
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class Examples(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [self.shown(path) for path in programs.in_folder(self.arguments[0])]

    def shown(self, path: Path) -> nodes.Node:
        environment = self.state.document.settings.env
        environment.note_dependency(str(path))
        section = nodes.section(ids=[nodes.make_id(path.stem)])
        section += nodes.title("", path.name)
        section += [
            nodes.paragraph("", "", *self.texts(each)) for each in programs.comment_of(path).split("\n\n") if each
        ]
        code = nodes.literal_block(path.read_text(), path.read_text(), language=programs.LANGUAGES[path.suffix])
        section += code
        return section

    def texts(self, paragraph: str) -> list[nodes.Node]:
        """Prose with names between backquotes."""
        parts = re.split(r"`+([^`]+)`+", paragraph)
        return [nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("examples", Examples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
