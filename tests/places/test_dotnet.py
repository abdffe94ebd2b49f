"""The C# package with a real .NET SDK, which Ubuntu has: packed, used, and its tests run on .NET.

There is no network in it: the assembly for netstandard2.0 and the analysers of native AOT, which take packages of NuGet's, are
left out.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, copy_tree, enter
from package_tools import BUILD, Shell
from programs import shown

OFFLINE = (
    "-p:TargetFrameworks=net8.0 -p:IsAotCompatible=false -p:RestoreSources=/dotnet/none -p:TreatWarningsAsErrors=true"
)
QUIET = "DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_HOME=/dotnet/home HOME=/dotnet/home"
TESTS, EXAMPLES = "tests/csharp/Programs.csproj", "bindings/csharp/examples/Examples.csproj"
FOUND = "-p:AssemblyDirectory=/dotnet/out/"
USER = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net8.0</TargetFramework>
    <RestoreSources>/dotnet/dist</RestoreSources>
  </PropertyGroup>
  <ItemGroup><PackageReference Include="Viaduct" Version="{version}" /></ItemGroup>
</Project>
"""

pytestmark = [
    pytest.mark.parametrize("place", ["noble"], indirect=True, scope="session"),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="session")
def packed(place: Place, shell: Shell) -> Path:
    """The place's folder with this tree, what was built of it here, and the package that the SDK makes of both."""
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
    shell("cmake", "--install", BUILD, "--component", "csharp", "--prefix", home / "stage", "--strip")
    for file in (*(home / "stage").rglob("*.so*"), BUILD / "csharp/libviaduct_csharp_probe.so"):
        shutil.copy(file, home / "out")
    # For the tests' own library; the layer is found without.
    (home / "lib").mkdir()
    shutil.copy(home / "out/libviaduct.so.1", home / "lib")
    driver = BUILD / "fakecuda/libcuda.so.1"
    if driver.exists():
        shutil.copy(driver, home)
    enter(
        place,
        f"""cd /{HOME}/tree && export {QUIET}
        dotnet pack bindings/csharp/Viaduct.csproj --configuration Release {OFFLINE} {FOUND} --output /dotnet/dist \\
            -p:Version=1.0.0 -p:Description=Arrays -p:GeneratedDirectory=/dotnet/generated/ \\
            -p:BaseIntermediateOutputPath=/dotnet/obj/ -p:NativeDirectory=/dotnet/stage/""",
    )
    return home


def test_the_package_made_by_the_sdk_serves_the_first_program(place: Place, packed: Path) -> None:
    assert {path.name for path in (packed / "dist").iterdir()} == {"Viaduct.1.0.0.nupkg", "Viaduct.1.0.0.snupkg"}
    (packed / "user").mkdir()
    (packed / "user/First.cs").write_text(shown("docs/start/csharp.md", "csharp"))
    (packed / "user/First.csproj").write_text(USER.format(version="1.0.0"))
    told = enter(
        place,
        f"""cd /dotnet/user && export {QUIET} && dotnet build -v quiet && cd bin/Debug/net8.0 && dotnet First.dll
        mv runtimes elsewhere && (dotnet First.dll 2>&1 || true)""",
    )
    assert "7 0 7 0 7 0\nthe image is freed\n" in told
    assert (
        "/runtimes/linux-x64/native/libviaduct_csharp.so, " in told and "on x64 or arm64; this is Ubuntu 24.04" in told
    )


def test_the_tests_of_csharp_pass_on_dotnet(place: Place, packed: Path, record: Callable[[str, str], None]) -> None:
    projects = {"Ending": TESTS, "Sharing": TESTS, "GpuToHost": EXAMPLES, "MirrorFile": EXAMPLES, "NpyColumn": EXAMPLES}
    programs = " && ".join(
        f"dotnet build {project} -v quiet -c Release -p:Program={name} {FOUND} "
        f"-p:RestoreSources=/dotnet/none -p:BaseIntermediateOutputPath=/dotnet/obj-{name}/"
        for name, project in projects.items()
    )
    told = enter(
        place,
        f"""cd /{HOME}/tree && export {QUIET} && {programs}
        dotnet build tests/places/dotnet/Viaduct.Tests.csproj -v quiet -c Release {FOUND} -p:NUnit=/dotnet/nunit \\
            -p:RestoreSources=/dotnet/none -p:BaseIntermediateOutputPath=/dotnet/obj-tests/
        cp /dotnet/out/*.so* /dotnet/out/tests && cd /dotnet/out
        [ ! -e ../libcuda.so.1 ] || export VIADUCT_LIBCUDA=/dotnet/libcuda.so.1 VIADUCT_FAKECUDA_DEVICES=2
        export VIADUCT_SOURCE_DIR=/{HOME}/tree VIADUCT_CSHARP_DIR=/dotnet/out LD_LIBRARY_PATH=/dotnet/lib
        export VIADUCT_CSHARP_LIBRARY=/dotnet/out/libviaduct_csharp.so
        dotnet tests/Viaduct.Tests.dll && dotnet --version""",
    )
    (count,) = re.findall(r"^(\d+) passed, 0 failed, \d+ skipped$", told, re.MULTILINE)
    record("nupkg for net8.0", f"{count} tests in C#, .NET SDK {told.split()[-1]}")
