"""The nupkg, unpacked where nothing else is and used from there."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
from package_tools import ROOT, Shell
from programs import shown

BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
PRINTED = "7 0 7 0 7 0\nthe image is freed\n"


@pytest.fixture(scope="module")
def nupkg(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of what was built."""
    if not any((BUILD / "csharp").glob("**/Viaduct.dll")):
        pytest.skip("this build left C# out")
    home = tmp_path_factory.mktemp("nupkg")
    shell("cmake", "--install", BUILD, "--component", "csharp", "--prefix", home / "stage", "--strip")
    told = shell(sys.executable, ROOT / "bindings/csharp/pack.py", home / "stage", home / "made")
    return Path(told.strip())


@pytest.fixture(scope="module")
def unpacked(nupkg: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user") / "packages" / nupkg.stem
    with zipfile.ZipFile(nupkg) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def program(shell: Shell, unpacked: Path, tmp_path: Path) -> Path:
    """The first C# program, built against the package alone."""
    if shutil.which("mcs") is None:
        pytest.skip("Mono's compiler is not in PATH")
    (tmp_path / "First.cs").write_text(shown("docs/start/csharp.md", "csharp"))
    assembly = unpacked / "lib/net472/Viaduct.dll"
    shell("mcs", "-langversion:7", "-warnaserror", f"-reference:{assembly}", "-out:First.exe", "First.cs", cwd=tmp_path)
    return tmp_path / "First.exe"


def test_the_package_says_what_it_is(nupkg: Path, version: str) -> None:
    assert nupkg.name == f"Viaduct.{version}.nupkg"
    with zipfile.ZipFile(nupkg) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        nuspec = ET.fromstring(archive.read("Viaduct.nuspec"))
        types = ET.fromstring(archive.read("[Content_Types].xml"))
        relations = ET.fromstring(archive.read("_rels/.rels"))
    found = {node.tag.rpartition("}")[2]: node.text for node in nuspec.iter()}
    assert (found["id"], found["version"]) == ("Viaduct", version)
    assert [node.get("Target") for node in relations] == ["/Viaduct.nuspec"]
    assert {Path(name).suffix.removeprefix(".") for name in names if name[0] not in "[_"} <= {
        node.get("Extension") for node in types
    }
    assert len(names) == len(set(names))


def test_the_native_layer_lies_where_nuget_looks_for_it_and_is_stripped(shell: Shell, unpacked: Path) -> None:
    (native,) = unpacked.glob("runtimes/linux-*/native")
    assert {file.name for file in native.iterdir()} == {"libviaduct_csharp.so", "libviaduct.so.1"}
    assert f"libviaduct.so.1 => {native}/libviaduct.so.1" in shell("ldd", native / "libviaduct_csharp.so")
    assert ".symtab" not in shell("readelf", "-S", native / "libviaduct_csharp.so")


def test_an_assembly_lies_beside_its_documentation(unpacked: Path) -> None:
    assemblies = list(unpacked.glob("lib/*/Viaduct.dll"))
    assert assemblies
    for assembly in assemblies:
        documented = ET.parse(assembly.with_suffix(".xml"))
        assert any(node.get("name") == "T:Viaduct.ViaArray" for node in documented.iter("member"))


def test_the_readmes_program_runs_with_the_files_beside_it(shell: Shell, unpacked: Path, program: Path) -> None:
    for file in [*unpacked.glob("lib/net472/*.dll"), *unpacked.glob("runtimes/*/native/*")]:
        shutil.copy(file, program.parent)
    assert shell("mono", program) == PRINTED


def test_the_readmes_program_runs_from_the_package_as_it_was_unpacked(
    shell: Shell, unpacked: Path, program: Path
) -> None:
    assert shell("mono", program, env={"MONO_PATH": str(unpacked / "lib/net472")}) == PRINTED


def test_the_same_files_make_the_same_package(nupkg: Path, unpacked: Path, tmp_path: Path) -> None:
    for made_by_packing in ("[Content_Types].xml", "_rels/.rels"):
        assert (unpacked / made_by_packing).exists()
    stage = nupkg.parents[1] / "stage"
    again = subprocess.run(
        [sys.executable, ROOT / "bindings/csharp/pack.py", stage, tmp_path],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
    assert Path(again).read_bytes() == nupkg.read_bytes()
