"""How Sphinx makes the pages: `./dev docs` calls Doxygen for the header first, then this."""

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

extensions = ["myst_parser", "breathe", "autoapi.extension", "sphinx.ext.graphviz", "sphinx_copybutton", "examples"]
exclude_patterns = ["tools"]
suppress_warnings = ["autoapi.python_import_resolution"]
nitpicky = True

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

breathe_projects = {"viaduct": str(ROOT / "build/docs/header")}
breathe_default_project = "viaduct"
breathe_domain_by_extension = {"h": "c"}
breathe_show_define_initializer = False
breathe_show_enumvalue_initializer = True
# The types of stdint.h and those of other libraries are documented elsewhere.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|DLManagedTensor(Versioned)?|Arrow(Schema|DeviceArray)|size_t"),
    ("py:.*", r"_.*|viaduct\._.*|T|(collections|os|types|typing|typing_extensions)\..*"),
    ("py:.*", r"Any|Buffer|Callable|CapsuleType|EllipsisType|Iterator|PathLike|Sequence|SupportsIndex"),
]

# The stubs say what a call takes and hold the docstrings: the package need not be built.
autoapi_dirs = [str(ROOT / "bindings/python/viaduct")]
autoapi_file_patterns = ["__init__.pyi"]
autoapi_generate_api_docs = False
autoapi_add_toctree_entry = False

graphviz_output_format = "svg"
html_theme = "furo"
html_title = f"Viaduct {release}"
html_static_path = ["pictures/viaduct.css"]
html_css_files = ["viaduct.css"]
html_copy_source = False
