"""The type stubs, checked against the built package and by the code that uses them."""

import os
import sys
from pathlib import Path

from package_tools import ROOT, Shell

PACKAGE = os.environ.get("PYTHONPATH", "").split(os.pathsep)[0]


def test_the_stubs_say_what_the_package_has(shell: Shell, tmp_path: Path) -> None:
    """The modules of the conformance kit have no stubs to be wrong: their types are in line, and checked below."""
    env = {"PYTHONPATH": PACKAGE, "MYPYPATH": PACKAGE}
    (tmp_path / "in-line").write_text(r"viaduct\.conformance\._.*" + "\n")
    shell(sys.executable, "-m", "mypy.stubtest", "viaduct", "--allowlist", tmp_path / "in-line", cwd=ROOT, env=env)


def test_the_package_and_its_examples_pass_mypy_strict(shell: Shell) -> None:
    sources = [ROOT / "bindings" / each for each in ("python/viaduct", "python/examples", "fortran/examples")]
    shell(sys.executable, "-m", "mypy", *filter(Path.exists, sources), cwd=ROOT, env={"MYPYPATH": "bindings/python"})
