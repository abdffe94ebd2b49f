"""The nupkg that `dotnet pack` made, where there is a .NET SDK; and the assembly where its native part is missing."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
from package_tools import BUILD, ROOT, Shell
from programs import shown

PRINTED = "7 0 7 0 7 0\nthe image is freed\n"


@pytest.fixture(scope="module")
def nupkg(packages: Path) -> Path:
    made = list(packages.glob("*.nupkg"))
    if not made:
        pytest.skip("there is no .NET SDK on this machine; what Mono compiles is not for .NET")
    return made[0]


@pytest.fixture(scope="module")
def unpacked(nupkg: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user") / "packages" / nupkg.stem
    with zipfile.ZipFile(nupkg) as archive:
        archive.extractall(folder)
    return folder


def test_the_package_says_what_it_is(nupkg: Path, unpacked: Path, version: str) -> None:
    assert nupkg.name == f"Viaduct.{version}.nupkg"
    nuspec = ET.parse(unpacked / "Viaduct.nuspec")
    found = {node.tag.rpartition("}")[2]: node.text for node in nuspec.iter()}
    assert (found["id"], found["version"], found["readme"]) == ("Viaduct", version, "README.md")
    assert found["description"] and found["tags"]
    groups = {node.get("targetFramework") for node in nuspec.iter() if node.tag.endswith("}group")}
    assert groups == {".NETStandard2.0", "net8.0"}
    assert (unpacked / "README.md").read_text() == (ROOT / "docs/package.md").read_text()
    assert nupkg.with_suffix(".snupkg").exists()


def test_the_native_layer_lies_where_nuget_looks_for_it_and_is_stripped(shell: Shell, unpacked: Path) -> None:
    folders = list(unpacked.glob("runtimes/linux-*/native"))
    assert folders
    for native in folders:
        assert {file.name for file in native.iterdir()} == {"libviaduct_csharp.so", "libviaduct.so.1"}
        assert "[$ORIGIN]" in shell("readelf", "-d", native / "libviaduct_csharp.so")
        assert ".symtab" not in shell("readelf", "-S", native / "libviaduct_csharp.so")


def test_an_assembly_for_each_framework_lies_next_to_its_documentation(unpacked: Path) -> None:
    for framework in ("netstandard2.0", "net8.0"):
        assert (unpacked / f"lib/{framework}/Viaduct.dll").exists()
        documented = ET.parse(unpacked / f"lib/{framework}/Viaduct.xml")
        assert any(node.get("name") == "T:Viaduct.ViaArray" for node in documented.iter("member"))


def test_without_an_sdk_no_package_is_made_and_one_line_says_so(packages: Path, shell: Shell, tmp_path: Path) -> None:
    if list(packages.glob("*.nupkg")):
        pytest.skip("there is a .NET SDK on this machine")
    reported = shell("python3", ROOT / "pkgconfig/packages.py", tmp_path / "build", tmp_path, "nupkg")
    assert reported.splitlines()[0] == "no nupkg: there was no .NET SDK; what Mono compiles is not for .NET"


@pytest.fixture
def program(shell: Shell, tmp_path: Path) -> Path:
    """The first C# program next to the assembly that Mono's compiler made."""
    if shutil.which("mcs") is None or not (BUILD / "csharp/Viaduct.dll").exists():
        pytest.skip("this build has no assembly for Mono")
    (tmp_path / "First.cs").write_text(shown("docs/start/csharp.md", "csharp"))
    shutil.copy(BUILD / "csharp/Viaduct.dll", tmp_path)
    shell("mcs", "-langversion:7", "-warnaserror", "-r:Viaduct.dll", "-out:First.exe", "First.cs", cwd=tmp_path)
    return tmp_path / "First.exe"


def test_the_first_program_runs_with_the_native_part_next_to_it(shell: Shell, program: Path) -> None:
    shell("cmake", "--install", BUILD, "--component", "csharp", "--prefix", program.parent / "runtimes", "--strip")
    assert shell("mono", program) == PRINTED
    (native,) = program.parent.glob("runtimes/*/native")
    for file in native.iterdir():
        file.rename(program.parent / file.name)
    assert shell("mono", program) == PRINTED


def test_the_native_part_of_a_build_looks_for_the_library_next_to_itself(shell: Shell) -> None:
    """Who has no .NET SDK copies both out of the tree, as docs/start/csharp.md says."""
    native = BUILD / "csharp/libviaduct_csharp.so"
    if not native.exists():
        pytest.skip("this build has no native part of C#")
    assert "[$ORIGIN:" in shell("readelf", "-d", native)


def test_a_missing_native_library_is_reported_with_the_places_that_were_searched(program: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "VIADUCT_CSHARP_LIBRARY")}
    done = subprocess.run(["mono", program], capture_output=True, text=True, check=False, env=clean)
    assert done.returncode != 0
    said = re.search(r"libviaduct_csharp.so was not found: neither (.*), nor where the runtime looks", done.stderr)
    assert said and str(program.parent / "libviaduct_csharp.so") in said[1].split(", ")
    assert "VIADUCT_CSHARP_LIBRARY names it; it needs Linux with glibc" in done.stderr
