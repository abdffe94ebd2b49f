"""The recipes for Spack, conda and vcpkg ask for what the project's own files ask for.

The linters of Spack and conda-forge are in no package registry that the tests use, nor is vcpkg.
"""

import ast
import json
import re
from pathlib import Path

import pytest
from package_tools import ROOT

PACKAGING = ROOT / "packaging"
CMAKE = re.findall(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[0]
DLPACK = re.findall(r"VIADUCT_DLPACK_MINIMUM ([\d.]+)", (ROOT / "pkgconfig/dlpack.cmake").read_text())[0]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
DESCRIPTION = re.findall(r'^description = "(.*)"$', PYPROJECT, re.MULTILINE)[0]
OPTIONS = set(
    re.findall(
        r"^ *(?:option|set)\((VIADUCT_\w+)",
        "\n".join(
            path.read_text()
            for path in (ROOT / "CMakeLists.txt", *ROOT.glob("pkgconfig/*.cmake"), ROOT / "src/cuda/CMakeLists.txt")
        ),
        re.MULTILINE,
    )
)


def project_version() -> str:
    header = (ROOT / "include/viaduct/viaduct.h").read_text()
    return ".".join(re.findall(rf"VIA_VERSION_{part} *= *(\d+)", header)[0] for part in ("MAJOR", "MINOR", "PATCH"))


def conda_list(section: str) -> set[str]:
    """The entries of one list of the recipe, wherever it stands."""
    text = (PACKAGING / "conda/meta.yaml").read_text()
    return set(re.findall(r"- (.+)", re.findall(rf"^  {section}:\n((?:    - .+\n)+)", text, re.MULTILINE)[0]))


def test_conda_asks_for_what_the_build_asks_for() -> None:
    text = (PACKAGING / "conda/meta.yaml").read_text()
    assert f'{{% set version = "{project_version()}" %}}' in text and f"summary: {DESCRIPTION}\n" in text
    wanted = dict(re.findall(r'"([\w-]+)(>=[^"]*)"', PYPROJECT))
    assert {f"swig {wanted['swig']}", f"cmake >={CMAKE}"} <= conda_list("build")
    assert {f"scikit-build-core {wanted['scikit-build-core']}", f"dlpack >={DLPACK}"} <= conda_list("host")


def test_conda_s_sections_stand_in_the_order_that_its_linter_wants() -> None:
    order = ["package", "source", "build", "requirements", "test", "about", "extra"]
    assert re.findall(r"^(\w+):", (PACKAGING / "conda/meta.yaml").read_text(), re.MULTILINE) == order


def spack() -> tuple[ast.ClassDef, dict[str, list[str]]]:
    """The class, and the first arguments of its directives."""
    (file,) = PACKAGING.glob("spack/spack_repo/*/packages/viaduct/package.py")
    (found,) = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef))
    said: dict[str, list[str]] = {}
    for node in found.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            said.setdefault(node.value.func.id, []).append(ast.literal_eval(node.value.args[0]))
    return found, said


def test_spack_asks_for_what_the_build_asks_for() -> None:
    package, said = spack()
    assert package.name == "Viaduct" and (ast.get_docstring(package) or "").startswith(DESCRIPTION)
    assert said["version"] == [project_version()]
    assert {f"cmake@{CMAKE}:", f"dlpack@{DLPACK}:", "c", "cxx"} <= set(said["depends_on"])


def test_vcpkg_asks_for_what_the_build_asks_for() -> None:
    port = json.loads((PACKAGING / "vcpkg/viaduct/vcpkg.json").read_text())
    assert (port["name"], port["version-semver"], port["description"]) == ("viaduct", project_version(), DESCRIPTION)
    assert {"name": "dlpack", "version>=": DLPACK} in port["dependencies"]


@pytest.mark.parametrize("file", sorted(PACKAGING.rglob("p*.*")), ids=lambda path: path.name)
def test_options_that_are_set_are_there(file: Path) -> None:
    named = set(re.findall(r"VIADUCT_\w+", file.read_text()))
    assert named and named <= OPTIONS
