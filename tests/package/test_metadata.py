"""What packages say of themselves: one licence and one address, wherever a package names them."""

import re
import shutil
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from package_tools import ROOT, Shell

HOMEPAGE = "https://example.org/viaduct"
POM = """
include(pkgconfig/metadata.cmake)
set(PROJECT_VERSION 1.2.3)
set(PROJECT_DESCRIPTION "Some words")
viaduct_write_pom(${CMAKE_CURRENT_LIST_DIR}/made.pom)
"""
METADATA = "from scikit_build_core.build import *; print(prepare_metadata_for_build_wheel('made'))"


@pytest.fixture(params=["as it is", "with both"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The files that the metadata is made of, with a licence and an address or as they are."""
    for name in ("pyproject.toml", "pkgconfig/metadata.cmake", "bindings/java/pom.xml.in", "docs/package.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "include", tmp_path / "include")
    project = tmp_path / "pyproject.toml"
    if request.param == "with both":
        project.write_text(with_both(project.read_text()))
    return tmp_path


def with_both(text: str) -> str:
    text = re.sub(r"^license = .*\n|^\[project\.urls\]\n(.+\n)*", "", text, flags=re.MULTILINE)
    text = text.replace('name = "viaduct"\n', 'name = "viaduct"\nlicense = "MIT"\n', 1)
    return text.replace("[project.optional-", f'[project.urls]\nHomepage = "{HOMEPAGE}"\n\n[project.optional-', 1)


def chosen(tree: Path) -> tuple[str | None, str | None]:
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    return project.get("license"), project.get("urls", {}).get("Homepage")


def test_the_pom_has_what_a_registry_asks_for(shell: Shell, tree: Path) -> None:
    (tree / "make.cmake").write_text(POM)
    shell("cmake", "-P", "make.cmake", cwd=tree)
    pom = ElementTree.parse(tree / "made.pom").getroot()
    named = {name: pom.findtext(f"{{*}}{name}") for name in ("groupId", "artifactId", "version", "name", "description")}
    assert list(named.values()) == ["org.viaduct", "viaduct", "1.2.3", "Viaduct", "Some words"]
    assert pom.findtext("{*}developers/{*}developer/{*}name")
    licence, homepage = chosen(tree)
    assert pom.findtext("{*}licenses/{*}license/{*}name") == licence
    assert pom.findtext("{*}url") == pom.findtext("{*}scm/{*}url") == homepage
    connection = f"scm:git:{homepage}" if homepage else None
    assert pom.findtext("{*}scm/{*}connection") == pom.findtext("{*}scm/{*}developerConnection") == connection


def test_the_wheel_has_the_same(shell: Shell, tree: Path) -> None:
    made = shell(sys.executable, "-c", METADATA, cwd=tree).split()[-1]
    text = (tree / "made" / made / "METADATA").read_text()
    licence, homepage = chosen(tree)
    assert re.findall(r"^License-Expression: (.*)$", text, re.MULTILINE) == ([licence] if licence else [])
    assert re.findall(r"^Project-URL: (.*)$", text, re.MULTILINE) == ([f"Homepage, {homepage}"] if homepage else [])


def test_the_nupkg_takes_both_from_cmake() -> None:
    listed = (ROOT / "bindings/csharp/CMakeLists.txt").read_text()
    project = (ROOT / "bindings/csharp/Viaduct.csproj").read_text()
    for given, field in (("License", "PackageLicenseExpression"), ("Homepage", "RepositoryUrl")):
        assert f'"-p:{given}=${{VIADUCT_{given.upper()}}}"' in listed
        assert f"<{field} Condition=\"'$({given})' != ''\">$({given})</{field}>" in project


def test_a_licence_that_has_not_been_chosen_is_told_once(shell: Shell, tmp_path: Path) -> None:
    told = shell(sys.executable, ROOT / "pkgconfig/packages.py", tmp_path / "build", tmp_path, "nupkg")
    assert told.count("no licence is named") == (0 if chosen(ROOT)[0] else 1)
