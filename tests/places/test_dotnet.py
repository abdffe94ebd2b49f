"""The C# package with real .NET SDKs, which Ubuntu has: packed, used, its tests run on .NET, and compiled ahead of time.

NuGet's packages are not there. The sources of the assembly for netstandard2.0 are compiled for netstandard2.1 instead, whose
references Ubuntu has; the analysers of native AOT are those of SDK 10.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, copy_tree, enter
from outcomes import Outcome
from package_tools import BUILD, ROOT, Shell
from programs import shown

OFFLINE = "-p:RestoreSources=/dotnet/none -p:TreatWarningsAsErrors=true"
PROJECT = (
    "bindings/csharp/Viaduct.csproj --configuration Release -p:Version=1.0.0 -p:Description=Arrays "
    "-p:GeneratedDirectory=/dotnet/generated/ -p:NativeDirectory=/dotnet/stage/"
)
QUIET = "DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_HOME=/dotnet/home HOME=/dotnet/home"
# Where ./dev package or ./dev test aarch64 has built for the other processor.
FOR_AARCH64 = ROOT / "build/aarch64"
TESTS, EXAMPLES = "tests/csharp/Programs.csproj", "bindings/csharp/examples/Examples.csproj"
FOUND = "-p:AssemblyDirectory=/dotnet/out/"
USER = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net{net}</TargetFramework>
    <RestoreSources>/dotnet/dist</RestoreSources>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
  </PropertyGroup>
  <ItemGroup><PackageReference Include="Viaduct" Version="{version}" /></ItemGroup>
</Project>
"""

pytestmark = [
    pytest.mark.parametrize("place", ["noble"], indirect=True, scope="session"),
    pytest.mark.parametrize("sdk", ["8.0", "10.0"], indirect=True, scope="session"),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="session")
def sdk(place: Place, request: pytest.FixtureRequest) -> str:
    """One of those there, which every command in the place then takes, and its runtime."""
    wanted = {"version": f"{request.param}.100", "rollForward": "latestFeature"}
    (place.folder / "global.json").write_text(json.dumps({"sdk": wanted}))
    return str(request.param)


def version_of_sdk(place: Place) -> str:
    return enter(place, f"cd / && {QUIET} dotnet --version").split()[-1]


@pytest.fixture(scope="session")
def home(place: Place, sdk: str, shell: Shell) -> Path:
    """A folder of the place with what was built here; this tree is next to it."""
    generated, frameworks = BUILD / "bindings/csharp/generated", list(Path("/usr/lib/cli").glob("nunit.framework-2.6*"))
    if not generated.exists() or not frameworks:
        pytest.skip("this build has no C#, or Debian's libnunit-cil-dev is not installed")
    home = place.folder / "dotnet"
    shutil.rmtree(home, ignore_errors=True)
    (home / "none").mkdir(parents=True)
    (home / "out").mkdir()
    copy_tree(place.folder / HOME / "tree")
    shutil.copytree(generated, home / "generated", ignore=lambda _, names: [n for n in names if not n.endswith(".cs")])
    shutil.copytree(frameworks[0], home / "nunit")
    for tree in filter(Path.exists, (BUILD, FOR_AARCH64)):
        shell("cmake", "--install", tree, "--component", "csharp", "--prefix", home / "stage", "--strip")
    for file in (*(home / "stage/linux-x64").rglob("*.so*"), BUILD / "csharp/libviaduct_csharp_probe.so"):
        shutil.copy(file, home / "out")
    # For the tests' own library; the layer is found without.
    (home / "lib").mkdir()
    shutil.copy(home / "out/libviaduct.so.1", home / "lib")
    driver = BUILD / "fakecuda/libcuda.so.1"
    if driver.exists():
        shutil.copy(driver, home)
    return home


@pytest.fixture(scope="session")
def packed(place: Place, home: Path) -> Path:
    """The same with the package that the SDK makes."""
    enter(
        place,
        f"""cd /{HOME}/tree && export {QUIET}
        dotnet pack {PROJECT} {OFFLINE} {FOUND} -p:TargetFrameworks=net8.0 -p:IsAotCompatible=false \\
            --output /dotnet/dist -p:BaseIntermediateOutputPath=/dotnet/obj/""",
    )
    return home


def test_the_package_holds_the_libraries_of_each_processor(
    place: Place, packed: Path, sdk: str, record: Callable[..., None]
) -> None:
    assert {path.name for path in (packed / "dist").iterdir()} == {"Viaduct.1.0.0.nupkg", "Viaduct.1.0.0.snupkg"}
    package = packed / "dist/Viaduct.1.0.0.nupkg"
    with zipfile.ZipFile(package) as archive:
        natives = [name.split("/")[1:] for name in archive.namelist() if name.startswith("runtimes/")]
    built = {path.name for path in (packed / "stage").iterdir()}
    libraries = ("libviaduct.so.1", "libviaduct_csharp.so")
    assert sorted(natives) == [[rid, "native", name] for rid in sorted(built) for name in libraries]
    using = f".NET SDK {version_of_sdk(place)}; {package.stat().st_size / 1e3:.0f} kB"
    record("nupkg for net8.0", f"packed for {' and '.join(sorted(built))}", using)


def test_the_package_made_by_the_sdk_serves_the_first_program(place: Place, packed: Path, sdk: str) -> None:
    told = enter(
        place,
        f"""cd {write_program(packed, "user", sdk)} && export {QUIET}
        dotnet build -v quiet && cd bin/Debug/net{sdk} && dotnet First.dll
        mv runtimes elsewhere && (dotnet First.dll 2>&1 || true)""",
    )
    assert "7 0 7 0 7 0\nthe image is freed\n" in told
    assert (
        "/runtimes/linux-x64/native/libviaduct_csharp.so, " in told and "on x64 or arm64; this is Ubuntu 24.04" in told
    )


def write_program(packed: Path, name: str, sdk: str) -> str:
    """The first program of the pages; returns its folder as the place knows it."""
    (packed / name).mkdir()
    (packed / name / "First.cs").write_text(shown("docs/start/csharp.md", "csharp"))
    (packed / name / "First.csproj").write_text(USER.format(net=sdk, version="1.0.0"))
    return f"/dotnet/{name}"


def test_the_first_program_runs_compiled_ahead_of_time(
    place: Place, packed: Path, sdk: str, record: Callable[..., None]
) -> None:
    """Without a warning of the package's. Its libraries lie next to the program."""
    if sdk == "8.0":
        pytest.skip("Ubuntu 24.04 has native AOT for SDK 10 alone")
    told = enter(
        place,
        f"""cd {write_program(packed, "aot", sdk)} && export {QUIET}
        rid=$(dotnet --info | sed -n 's/^ *RID: *//p')
        dotnet publish -v quiet -r $rid -p:PublishAot=true -p:CppCompilerAndLinker=gcc --output published
        rm -rf bin obj && ls published && cd published && ./First""",
    )
    assert {"First", "libviaduct_csharp.so", "libviaduct.so.1"} <= set(told.split()) and "Viaduct.dll" not in told
    assert "7 0 7 0 7 0\nthe image is freed\n" in told
    record("nupkg for net8.0", "native AOT, the first program", f".NET SDK {version_of_sdk(place)}")


def test_the_analysers_of_native_aot_have_nothing_to_say(place: Place, home: Path, sdk: str) -> None:
    if sdk == "8.0":
        pytest.skip("Ubuntu 24.04 has native AOT for SDK 10 alone")
    enter(
        place,
        f"""cd /{HOME}/tree && export {QUIET}
        dotnet build {PROJECT} {OFFLINE} -p:AssemblyDirectory=/dotnet/analysed/ -p:TargetFrameworks=net10.0 \\
            -p:IsAotCompatible=true -p:BaseIntermediateOutputPath=/dotnet/obj-analysed/""",
    )
    assert (home / "analysed/net10.0/Viaduct.dll").exists()


# What is made of the sources, and by what name it is recorded.
ASSEMBLIES = {"net8.0": "assembly for net8.0", "netstandard2.1": "assembly for netstandard2.1, of the sources for 2.0"}


@pytest.mark.parametrize("framework", ASSEMBLIES)
def test_the_tests_of_csharp_pass_on_dotnet(
    place: Place, home: Path, sdk: str, framework: str, record: Callable[..., None]
) -> None:
    projects = {"Ending": TESTS, "Sharing": TESTS, "GpuToHost": EXAMPLES, "MirrorFile": EXAMPLES, "NpyColumn": EXAMPLES}
    shutil.rmtree(home / "obj", ignore_errors=True)
    options = f"-v quiet -c Release {FOUND} -p:Framework={framework} -p:UseAppHost=false -p:RestoreSources=/dotnet/none"
    programs = " && ".join(
        f"dotnet build {project} {options} -p:Program={name} -p:BaseIntermediateOutputPath=/dotnet/obj-{name}/"
        for name, project in projects.items()
    )
    told = enter(
        place,
        f"""cd /{HOME}/tree && export {QUIET}
        dotnet build {PROJECT} {OFFLINE} {FOUND} -p:TargetFrameworks={framework} -p:IsAotCompatible=false \\
            -p:BaseIntermediateOutputPath=/dotnet/obj/
        {programs}
        dotnet build tests/places/dotnet/Viaduct.Tests.csproj {options} -p:NUnit=/dotnet/nunit \\
            -p:BaseIntermediateOutputPath=/dotnet/obj-tests/
        cp /dotnet/out/*.so* /dotnet/out/tests && cd /dotnet/out
        [ ! -e ../libcuda.so.1 ] || export VIADUCT_LIBCUDA=/dotnet/libcuda.so.1 VIADUCT_FAKECUDA_DEVICES=2
        export VIADUCT_SOURCE_DIR=/{HOME}/tree VIADUCT_CSHARP_DIR=/dotnet/out LD_LIBRARY_PATH=/dotnet/lib
        export VIADUCT_CSHARP_LIBRARY=/dotnet/out/libviaduct_csharp.so DOTNET_ROLL_FORWARD={ROLL_FORWARD[sdk]}
        dotnet tests/Viaduct.Tests.dll || true""",
    )
    ((passed, failed, skipped),) = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", told, re.MULTILINE)
    names = tuple(re.findall(r"^FAILED ([\w.]+)", told, re.MULTILINE))
    assert len(names) == int(failed), told[-3000:]
    using = f".NET SDK {version_of_sdk(place)}"
    record(ASSEMBLIES[framework], "C#", using, Outcome(int(passed), names, int(skipped)))


# To the newest runtime that is there, or to that of the programs.
ROLL_FORWARD = {"8.0": "Minor", "10.0": "LatestMajor"}
