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
        folder = self.arguments[0]
        self.state.document.settings.env.note_dependency(str(programs.ROOT / folder))
        return [self.shown(path) for path in programs.in_folder(folder)]

    def shown(self, path: Path) -> nodes.Node:
        environment = self.state.document.settings.env
        environment.note_dependency(str(path))
        section = nodes.section(ids=[nodes.make_id(path.name)])
        self.note_label(path.name, section["ids"][0])
        section += nodes.title("", path.name)
        section += [
            nodes.paragraph("", "", *self.texts(each)) for each in programs.comment_of(path).split("\n\n") if each
        ]
        code = nodes.literal_block(path.read_text(), path.read_text(), language=programs.LANGUAGES[path.suffix])
        section += code
        return section

    def note_label(self, name: str, anchor: str) -> None:
        """So that {ref}`demo.py` leads to it."""
        environment = self.state.document.settings.env
        domain = environment.get_domain("std")
        domain.labels[name.lower()] = (environment.docname, anchor, name)
        domain.anonlabels[name.lower()] = (environment.docname, anchor)

    def texts(self, paragraph: str) -> list[nodes.Node]:
        """Prose with names between backquotes."""
        parts = re.split(r"`+([^`]+)`+", paragraph)
        return [nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("examples", Examples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
