"""What a user reads where the native libraries do not load, in each language: one sentence with what is needed."""

import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from jar_tools import JDKS, install_jar, java
from package_tools import BUILD, ROOT, Shell
from programs import shown
from test_portable import FLOOR

FLOOR_TEXT = ".".join(map(str, FLOOR))
OTHER_MACHINE = 22  # s390x
CLASS = "import org.viaduct.Viaduct; public class Fail { public static void main(String[] a) { Viaduct.version(); } }"


def ask_for_a_newer_glibc(library: Path) -> None:
    """Raises the newest version that it needs to one that there is not."""
    content = library.read_bytes()
    newest = max(re.findall(rb"GLIBC_2\.(\d\d)\0", content))
    library.write_bytes(content.replace(b"GLIBC_2.%s\0" % newest, b"GLIBC_2.98\0"))


def be_of_another_machine(library: Path) -> None:
    content = bytearray(library.read_bytes())
    content[18:20] = OTHER_MACHINE.to_bytes(2, "little")
    library.write_bytes(content)


def be_gone(library: Path) -> None:
    library.unlink()


BROKEN = {
    "glibc": (ask_for_a_newer_glibc, r"GLIBC_2\.98' not found"),
    "machine": (be_of_another_machine, r"cannot open shared object file|wrong ELF|ELF file"),
    "missing": (be_gone, r"libviaduct\.so\.1: cannot open shared object file"),
}
each_way = pytest.mark.parametrize(("damage", "reason"), BROKEN.values(), ids=list(BROKEN))


def last_words(*command: object, cwd: Path) -> str:
    """What a program that cannot go on prints of why."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


@pytest.fixture
def package(wheel: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "viaduct"


def said_by_python(package: Path) -> str:
    printed = last_words(sys.executable, "-c", "import viaduct", cwd=package.parent)
    return printed.splitlines()[-1]


@each_way
def test_python_says_what_it_needs_and_what_it_found(
    package: Path, damage: Callable[[Path], None], reason: str
) -> None:
    damage(package / "libviaduct.so.1")
    said = said_by_python(package)
    assert said.startswith("ImportError: viaduct._viaduct was not imported: ") and re.search(reason, said)
    needed = (
        f"it needs CPython 3.11 or newer with the GIL, and Linux with glibc {FLOOR_TEXT} or newer on x86-64 or AArch64"
    )
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    found = f"this is CPython {version}, Linux with {' '.join(platform.libc_ver())} on {platform.machine()}"
    assert said.endswith(f"; {needed}; {found}")


def test_a_python_that_has_no_such_module_is_told_the_same(package: Path) -> None:
    """PyPy and free-threaded Pythons do not look for a file of that name."""
    (package / "_viaduct.abi3.so").unlink()
    said = said_by_python(package)
    assert "cannot import name '_viaduct'" in said and "it needs CPython 3.11 or newer with the GIL" in said


@pytest.mark.skipif(not JDKS, reason="there is no JDK")
@each_way
def test_java_says_what_it_needs_and_what_it_found(
    shell: Shell, tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    jar = install_jar(shell, tmp_path)
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if f"/linux-{platform.machine()}/lib" in name:
                (tmp_path / Path(name).name).write_bytes(archive.read(name))
    damage(tmp_path / "libviaduct.so.1")
    (tmp_path / "Fail.java").write_text(CLASS)
    said = last_words(*java(JDKS[0], f"-Dorg.viaduct.native={tmp_path}", "-cp", jar, "Fail.java"), cwd=tmp_path)
    assert re.search(rf"could not be loaded: [^\n]*({reason})", said)
    assert f"; it needs Linux with glibc {FLOOR_TEXT} or newer on x86-64 or AArch64; this is linux-" in said


@each_way
def test_csharp_says_what_it_needs_and_what_it_found(
    shell: Shell, tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    if shutil.which("mcs") is None or not (BUILD / "csharp/Viaduct.dll").exists():
        pytest.skip("this build has no assembly for Mono")
    shell("cmake", "--install", BUILD, "--component", "csharp", "--prefix", tmp_path / "runtimes", "--strip")
    (native,) = tmp_path.glob("runtimes/*/native")
    damage(native / "libviaduct.so.1")
    (tmp_path / "First.cs").write_text(shown("docs/start/csharp.md", "csharp"))
    shutil.copy(BUILD / "csharp/Viaduct.dll", tmp_path)
    shell("mcs", "-langversion:7", "-r:Viaduct.dll", "-out:First.exe", "First.cs", cwd=tmp_path)
    said = last_words("mono", tmp_path / "First.exe", cwd=tmp_path)
    assert re.search(rf"libviaduct_csharp\.so, found there, was not loaded: [^\n]*({reason})", said)
    needed = f"it needs Linux with glibc {FLOOR_TEXT} or newer on x64 or arm64"
    assert re.search(rf"; {needed}; this is \S.* with {' '.join(platform.libc_ver())} on (x64|arm64)", said)


@pytest.mark.parametrize(("system", "bits"), [("Darwin", "8"), ("Linux", "4")])
def test_the_build_refuses_other_systems(tmp_path: Path, system: str, bits: str) -> None:
    """Before it looks for anything; the compiler itself is not asked."""
    guard = re.search(
        r"^if\(NOT CMAKE_SYSTEM_NAME.*?^endif\(\)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE | re.DOTALL
    )
    assert guard
    facts = f'set(CMAKE_SYSTEM_NAME {system})\nset(CMAKE_SYSTEM_PROCESSOR "some")\nset(CMAKE_SIZEOF_VOID_P {bits})\n'
    (tmp_path / "guard.cmake").write_text(facts + guard[0])
    said = last_words("cmake", "-P", tmp_path / "guard.cmake", cwd=tmp_path)
    assert f"Viaduct needs 64-bit Linux; this is {system} on some" in " ".join(said.split())


CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES NONE)
find_package(viaduct 1.0 REQUIRED)
"""


@pytest.mark.parametrize(("system", "processor"), [("Linux", "s390x"), ("Darwin", platform.machine())])
def test_cmake_is_told_of_a_package_for_another_machine(
    shell: Shell, tmp_path: Path, system: str, processor: str
) -> None:
    prefix = tmp_path / "prefix"
    for component in ("runtime", "development"):
        shell("cmake", "--install", BUILD, "--component", component, "--prefix", prefix)
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER)
    of = (f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}", f"-DCMAKE_PREFIX_PATH={prefix}")
    said = " ".join(last_words("cmake", "-S", tmp_path, "-B", tmp_path / "build", *of, cwd=tmp_path).split())
    assert f"is for Linux on {platform.machine()}; this project is built for {system} on {processor}" in said
