"""How Sphinx makes the pages, which are plain Markdown and can be read as they are: `./dev docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "tools"))

project = "Viaduct"
copyright = "the authors of Viaduct"
header = (ROOT / "include/viaduct/viaduct.h").read_text()
release = ".".join(re.findall(r"VIA_VERSION_(?:MAJOR|MINOR|PATCH) = (\d+)", header))

extensions = ["myst_parser", "sphinx_copybutton", "built"]
exclude_patterns = ["tools", "package.md"]
nitpicky = True
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Viaduct {release}"
html_static_path = ["pictures/viaduct.css"]
html_css_files = ["viaduct.css"]
html_copy_source = False
