"""The C# build with a .NET SDK, reported from what CMake would call and what the projects say: no SDK is needed."""

from __future__ import annotations

import os
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from package_tools import ROOT, Shell

PROJECTS = {
    "Viaduct": ROOT / "bindings/csharp/Viaduct.csproj",
    "Examples": ROOT / "bindings/csharp/examples/Examples.csproj",
    "Programs": ROOT / "tests/csharp/Programs.csproj",
    "Viaduct.Tests": ROOT / "tests/csharp/Viaduct.Tests.csproj",
}
SDK = "#!/bin/sh\n[ \"$1\" = --list-sdks ] && echo '10.0.100 [/usr/share/dotnet/sdk]'\nexit 0\n"


def evaluated(text: str, properties: dict[str, str]) -> str:
    """MSBuild's $(Name) and $(Name.ToLowerInvariant()) replaced by what they are."""
    text = re.sub(r"\$\((\w+)\.ToLowerInvariant\(\)\)", lambda found: properties.get(found[1], "").lower(), text)
    return re.sub(r"\$\((\w+)\)", lambda found: properties.get(found[1], ""), text)


def read(name: str, properties: dict[str, str]) -> tuple[dict[str, str], list[ET.Element]]:
    """What a project sets, unless a condition or the command line says otherwise, and its items."""
    known = dict(properties)
    root = ET.parse(PROJECTS[name]).getroot()
    for group in root.findall("PropertyGroup"):
        for node in group:
            holds = evaluated(node.get("Condition", "'' == ''"), known)
            left, relation, right = re.fullmatch(r"'(.*)' ([!=]=) '(.*)'", holds).groups()  # type: ignore[union-attr]
            if (left == right) == (relation == "==") and node.tag not in properties:
                known[node.tag] = evaluated(node.text or "", known)
    return known, [item for group in root.findall("ItemGroup") for item in group]


@pytest.fixture(scope="module")
def commands(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What a build calls `dotnet` with, where there is one in PATH."""
    home = tmp_path_factory.mktemp("dotnet")
    (home / "bin").mkdir()
    (home / "bin/dotnet").write_text(SDK)
    (home / "bin/dotnet").chmod(0o755)
    where = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    shell("cmake", "--preset", "test", "-B", home / "build", cwd=ROOT, env=where)
    lines = (home / "build/build.ninja").read_text().replace("$\n", "").splitlines()
    calls = [call for line in lines if "bin/dotnet" in line for call in line.split(" && ") if "bin/dotnet" in call]
    found = [shlex.split(call.replace("$ ", " ").replace("$:", ":")) for call in calls]
    if not found:
        pytest.skip("this machine has no SWIG or no NUnit")
    return [call[next(i for i, word in enumerate(call) if word.endswith("bin/dotnet")) + 1 :] for call in found]


def projects_called(commands: list[list[str]]) -> dict[str, dict[str, str]]:
    """The properties that each project, and each program of one, is called with."""
    found = {}
    for call in commands:
        given = dict(word.removeprefix("-p:").split("=", 1) for word in call if word.startswith("-p:"))
        name = Path(call[1]).stem
        found[f"{name} {given['Program']}" if "Program" in given else name] = given
    return found


def test_every_project_and_program_is_built(commands: list[list[str]]) -> None:
    wanted = {"Viaduct", "Viaduct.Tests", "Programs Ending", "Programs Sharing"}
    wanted |= {f"Examples {path.stem}" for path in (ROOT / "bindings/csharp/examples").glob("*.cs")}
    assert set(projects_called(commands)) == wanted


def test_no_folder_is_named_on_the_command_line(commands: list[list[str]]) -> None:
    """One that is would be the same for every framework."""
    assert [call for call in commands if any(word.startswith("-p:OutputPath") for word in call)] == []
    folders = [given["BaseIntermediateOutputPath"] for given in projects_called(commands).values()]
    assert len(set(folders)) == len(folders)


def test_each_framework_has_a_folder_that_the_others_refer_to(commands: list[list[str]]) -> None:
    called = projects_called(commands)
    given = called["Viaduct"]
    frameworks = read("Viaduct", given | {"TargetFramework": ""})[0]["TargetFrameworks"].split(";")
    folders = [read("Viaduct", given | {"TargetFramework": each})[0]["OutputPath"] for each in frameworks]
    assert len(set(folders)) == len(frameworks) == 2
    for name, its in called.items():
        known, items = read(name.split()[0], its)
        referred = [evaluated(item.get("Include", ""), known) for item in items if item.tag == "Reference"]
        assert referred == ([f"{folders[1]}Viaduct.dll"] if name != "Viaduct" else []), name
        assert known["AppendTargetFrameworkToOutputPath"] == "false", name


def test_what_is_run_may_roll_forward_to_a_newer_runtime(commands: list[list[str]]) -> None:
    for name, given in projects_called(commands).items():
        if name != "Viaduct":
            assert read(name.split()[0], given)[0]["RollForward"] == "Major", name


def test_native_libraries_lie_next_to_what_loads_them(commands: list[list[str]]) -> None:
    called = projects_called(commands)
    tests = read("Viaduct.Tests", called["Viaduct.Tests"])[0]["OutputPath"]
    assert {read("Programs", given)[0]["OutputPath"] for name, given in called.items() if name.startswith("Pro")} == {
        tests
    }
    for name, given in called.items():
        if name.startswith(("Examples", "Programs")):
            known, items = read(name.split()[0], given)
            copied = [evaluated(item.get("Include", ""), known) for item in items if item.get("CopyToOutputDirectory")]
            assert copied == [f"{known['AssemblyDirectory']}libviaduct_csharp.so"], name
            assert Path(known["AssemblyDirectory"]) != Path(known["OutputPath"])
    listed = (ROOT / "tests/csharp/CMakeLists.txt").read_text()
    assert 'set(tests_dir "${assembly_dir}/tests")' in listed
    assert 'LIBRARY_OUTPUT_DIRECTORY "${tests_dir}"' in listed
    assert Path(tests) == Path(called["Viaduct.Tests"]["AssemblyDirectory"]) / "tests"


def test_sources_that_are_named_are_there(commands: list[list[str]]) -> None:
    for name, given in projects_called(commands).items():
        project = name.split()[0]
        known, items = read(project, given | {"TargetFramework": "net8.0"})
        for item in items:
            if item.tag == "Compile" and "GeneratedDirectory" not in item.get("Include", ""):
                assert list(PROJECTS[project].parent.glob(evaluated(item.get("Include", ""), known))), name


def test_the_assembly_is_for_programs_compiled_ahead_of_time() -> None:
    for framework, wanted in (("net8.0", "true"), ("netstandard2.0", None)):
        given = {"AssemblyDirectory": "/there/", "GeneratedDirectory": "/made/", "TargetFramework": framework}
        assert read("Viaduct", given)[0].get("IsAotCompatible") == wanted


def net8(text: str) -> str:
    """A source as the compiler for .NET 8 sees it."""
    kept, taken = [], [True]
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["#if"]:
            assert words[1].lstrip("!") == "NET5_0_OR_GREATER", line
            taken.append(not words[1].startswith("!"))
        elif words[:1] == ["#else"]:
            taken[-1] = not taken[-1]
        elif words[:1] == ["#endif"]:
            taken.pop()
        elif all(taken):
            kept.append(line)
    assert taken == [True]
    return "\n".join(kept)


@pytest.mark.parametrize("source", sorted((ROOT / "bindings/csharp/src").glob("*.cs")), ids=lambda path: path.stem)
def test_nothing_of_dotnet_8_needs_reflection(source: Path) -> None:
    """IL2070 and IL3050: a program compiled ahead of time has no code for types that it learns of as it runs."""
    text = net8(source.read_text())
    used = re.findall(
        r"System\.Reflection|\bMakeGeneric\w+|\bGetMethods?\b|\bGetFields?\b|\bActivator\b|\bEmit\b", text
    )
    assert used == []
    for found in re.finditer(r"\.Assembly\.Location\b", text):  # IL3000: empty where the program is one file
        before = text[: found.start()].rpartition("private static")[0]
        assert re.search(r'UnconditionalSuppressMessage\(\s*"SingleFile", "IL3000"[^\]]*\]\s*$', before)
        assert "IsNullOrEmpty(location) ? AppContext.BaseDirectory" in text[found.end() :][:200]
