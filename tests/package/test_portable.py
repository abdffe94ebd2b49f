"""Every native library of every package: what it needs of the system, and that it is one binary in all of them."""

import hashlib
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from package_tools import ROOT, Shell

FLOOR = tuple(map(int, re.findall(r"FLOOR (\d+)\.(\d+)", (ROOT / "pkgconfig/portable/portable.cmake").read_text())[0]))
# With these every system of that glibc comes; of libgcc_s, what GCC 8 had.
NEEDED = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "libgcc_s.so.1", "libviaduct.so.1"}
LOADERS = re.compile(r"ld-linux-[a-z0-9-]+\.so\.\d")
GCC = (7, 0, 0)


def read_natives(package: Path) -> dict[str, bytes]:
    """The ELF files of an archive, by their paths in it."""
    if package.name.endswith(".tar.gz"):
        with tarfile.open(package) as archive:
            files = {info.name: archive.extractfile(info) for info in archive if info.isfile()}
            found = {name: file.read() for name, file in files.items() if file}
    else:
        with zipfile.ZipFile(package) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
    return {name: content for name, content in found.items() if content.startswith(b"\x7fELF")}


def natives_of(packages: Path, home: Path) -> dict[str, Path]:
    """Each native library of each package, as a file."""
    found: dict[str, Path] = {}
    for package in sorted(packages.iterdir()):
        if package.suffix in (".gz", ".whl", ".jar", ".nupkg") and not package.stem.endswith(("-sources", "-javadoc")):
            for name, content in read_natives(package).items():
                found[f"{package.name}: {name}"] = home / str(len(found))
                found[f"{package.name}: {name}"].write_bytes(content)
    return found


@pytest.fixture(scope="module")
def natives(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return natives_of(packages, tmp_path_factory.mktemp("natives"))


def is_too_new(name: str, version: tuple[int, ...]) -> bool:
    return {"GLIBC": version > FLOOR, "GCC": version > GCC}.get(name, name in ("GLIBCXX", "CXXABI"))


def too_new(needs: str) -> list[str]:
    """The versions of symbols above the floor; any of libstdc++'s is, for it is linked in."""
    named = re.findall(r"Name: ([A-Z]+)_([\d.]+)", needs)
    return [f"{name}_{text}" for name, text in named if is_too_new(name, tuple(map(int, text.split("."))))]


def test_what_is_too_new_is_recognised() -> None:
    needs = "Name: GLIBC_2.28 Name: GLIBC_2.2.5 Name: GCC_3.0 Name: GLIBC_2.29 Name: GLIBCXX_3.4 Name: GCC_12.0.0"
    assert too_new(needs) == ["GLIBC_2.29", "GLIBCXX_3.4", "GCC_12.0.0"]


SYMBOLS = f"""
include({ROOT}/pkgconfig/portable/portable.cmake)
viaduct_compiler_file(libc libc.so.6)
viaduct_symbols_at_floor(symbols "${{libc}}")
message("${{symbols}}")
"""


def test_symbols_at_the_floor_are_listed_by_llvms_nm_too(tmp_path: Path) -> None:
    """CMake takes that one next to clang. It knows no --with-symbol-versions, and then lists nothing."""
    like_llvm = tmp_path / "nm"
    like_llvm.write_text(f'#!/bin/sh\ncase "$*" in *--*) exit 1 ;; esac\nexec {shutil.which("nm")} "$@"\n')
    like_llvm.chmod(0o755)
    (tmp_path / "list.cmake").write_text(SYMBOLS)
    command = ["cmake", "-DCMAKE_CXX_COMPILER=c++", f"-DCMAKE_NM={like_llvm}", "-P", tmp_path / "list.cmake"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    symbols = done.stderr.strip().split(";")
    assert len(symbols) > 1000


def test_every_package_carries_the_library(packages: Path, natives: dict[str, Path]) -> None:
    with_library = {name.split(":")[0] for name in natives if "libviaduct.so.1" in name}
    made = {path.name for path in packages.iterdir() if path.suffix in (".gz", ".whl", ".nupkg")}
    assert made <= with_library and len(with_library) >= 2


def test_no_symbol_is_newer_than_the_floor(shell: Shell, natives: dict[str, Path]) -> None:
    assert FLOOR <= (2, 28)
    found = {name: too_new(shell("readelf", "-VW", path)) for name, path in natives.items()}
    assert {name: versions for name, versions in found.items() if versions} == {}


def test_nothing_is_needed_that_a_system_may_lack(shell: Shell, natives: dict[str, Path]) -> None:
    for name, path in natives.items():
        needed = set(re.findall(r"NEEDED.*\[(.+?)\]", shell("readelf", "-dW", path)))
        assert {one for one in needed if not LOADERS.fullmatch(one)} <= NEEDED, name


def test_no_symbol_of_the_cxx_library_is_exported(shell: Shell, natives: dict[str, Path]) -> None:
    """Another libstdc++ of the process would be bound to it."""
    for name, path in natives.items():
        exported = [line.split()[-1] for line in shell("nm", "-D", "--defined-only", path).splitlines()]
        assert [symbol for symbol in exported if re.match(r"_ZN?K?S|_ZT[ISV]|__cxa|__gxx|_Zn|_Zd", symbol)] == [], name


def test_all_packages_carry_one_binary(natives: dict[str, Path]) -> None:
    libraries = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in natives.items()
        if re.search(r"libviaduct\.so\.[\d.]+$", name)
    }
    assert len(libraries) >= 2 and len(set(libraries.values())) == 1, libraries
