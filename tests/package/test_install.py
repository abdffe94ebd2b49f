"""The installed library, used from outside the tree, in C and in C++, by the C API and by the C++ layer."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from package_tools import AS_TESTED, BUILDS, LIBDIR, ROOT, Shell

SOURCES = {
    "consumer_c": ("cc", "main.c"),
    "consumer_cxx": ("c++", "main.cpp"),
    "consumer_layer": ("c++", "layer.cpp"),
}
LAYER = {path.relative_to(ROOT / "bindings/cpp") for path in (ROOT / "bindings/cpp/viaduct").rglob("*.hpp")}


def build_with_cmake(shell: Shell, consumer: Path, prefix: Path) -> Path:
    build = consumer / "build"
    shell("cmake", "-G", "Ninja", "-S", consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    shell("cmake", "--build", build)
    return build


def pkg_config(shell: Shell, pc_dir: Path, *arguments: str) -> list[str]:
    return shlex.split(shell("pkg-config", *arguments, "viaduct", env={"PKG_CONFIG_PATH": str(pc_dir)}))


def build_with_pkg_config(shell: Shell, consumer: Path, pc_dir: Path, name: str) -> Path:
    compiler, source = SOURCES[name]
    flags = pkg_config(shell, pc_dir, "--cflags", "--libs")
    shell(compiler, consumer / source, *flags, f"-Wl,-rpath,{pc_dir.parent}", "-o", consumer / name)
    return consumer


@pytest.mark.parametrize("name", SOURCES)
def test_the_cmake_package_serves_after_its_tree_has_moved(
    shell: Shell, consumer: Path, moved_prefix: Path, version_number: int, name: str
) -> None:
    build = build_with_cmake(shell, consumer, moved_prefix)
    assert shell(build / name) == f"viaduct {version_number}\n"


@pytest.mark.parametrize("name", SOURCES)
def test_the_pkg_config_module_serves_after_its_tree_has_moved(
    shell: Shell, consumer: Path, moved_prefix: Path, version_number: int, name: str
) -> None:
    build = build_with_pkg_config(shell, consumer, moved_prefix / f"{LIBDIR}/pkgconfig", name)
    assert shell(build / name) == f"viaduct {version_number}\n"


def test_an_absolute_libdir_outside_the_prefix_serves_cmake_and_pkg_config(
    shell: Shell, install: Callable[..., Path], consumer: Path, tmp_path: Path, version_number: int
) -> None:
    libdir = tmp_path / "libraries"
    prefix = install(tmp_path / "prefix", CMAKE_INSTALL_LIBDIR=libdir)
    assert (libdir / "libviaduct.so.1").exists()
    assert (prefix / "include/viaduct/viaduct.h").exists()
    assert pkg_config(shell, libdir / "pkgconfig", "--libs") == [f"-L{libdir}", "-lviaduct"]
    assert pkg_config(shell, libdir / "pkgconfig", "--cflags") == [f"-I{prefix}/include"]
    with_pkg_config = build_with_pkg_config(shell, consumer, libdir / "pkgconfig", "consumer_c")
    assert shell(with_pkg_config / "consumer_c") == f"viaduct {version_number}\n"
    with_cmake = build_with_cmake(shell, consumer, libdir / "cmake/viaduct")
    assert shell(with_cmake / "consumer_cxx") == f"viaduct {version_number}\n"


def test_a_moved_tree_names_no_place_it_was_built_or_installed_at(moved_prefix: Path) -> None:
    for text in (*moved_prefix.rglob("*.cmake"), *moved_prefix.rglob("*.pc")):
        assert "installed-here" not in text.read_text(), text
        assert str(ROOT) not in text.read_text(), text


def test_an_installed_tree_holds_the_library_its_headers_and_its_packages_only(
    moved_prefix: Path, version: str
) -> None:
    found = {str(path.relative_to(moved_prefix)) for path in moved_prefix.rglob("*") if not path.is_dir()}
    assert found == {f"include/{header}" for header in LAYER} | {
        "include/viaduct/viaduct.h",
        f"{LIBDIR}/libviaduct.so",
        f"{LIBDIR}/libviaduct.so.1",
        f"{LIBDIR}/libviaduct.so.{version}",
        f"{LIBDIR}/cmake/viaduct/viaductConfig.cmake",
        f"{LIBDIR}/cmake/viaduct/viaductConfigVersion.cmake",
        f"{LIBDIR}/cmake/viaduct/viaductFortran.cmake",
        f"{LIBDIR}/cmake/viaduct/viaductTargets.cmake",
        f"{LIBDIR}/cmake/viaduct/viaductTargets-release.cmake",
        f"{LIBDIR}/pkgconfig/viaduct-fortran.pc",
        f"{LIBDIR}/pkgconfig/viaduct.pc",
        "share/viaduct/fortran/viaduct.f90",
        "share/viaduct/fortran/viaduct_c.f90",
        "share/viaduct/fortran/viaduct_descriptor.c",
    }


def test_pkg_config_names_the_header_of_dlpack_and_its_version(shell: Shell, moved_prefix: Path) -> None:
    """The archive does not hold it: who looks inside a tensor learns what to install."""
    pc_dir = moved_prefix / f"{LIBDIR}/pkgconfig"
    named = {what: pkg_config(shell, pc_dir, f"--variable=dlpack_{what}") for what in ("header", "version")}
    wanted = re.search(r"VIADUCT_DLPACK_MINIMUM ([\d.]+)", (ROOT / "pkgconfig/dlpack.cmake").read_text())
    assert wanted and named == {"header": ["dlpack/dlpack.h"], "version": [wanted[1]]}
    header = (moved_prefix / "include/viaduct/viaduct.h").read_text()
    assert f"dlpack/dlpack.h, {wanted[1]} or newer" in header and "#include <dlpack" not in header


def test_pkg_config_reports_the_version_of_the_header(shell: Shell, moved_prefix: Path, version: str) -> None:
    assert pkg_config(shell, moved_prefix / f"{LIBDIR}/pkgconfig", "--modversion") == [version]


def test_the_cmake_package_refuses_a_caller_of_another_major_version(
    shell: Shell, consumer: Path, moved_prefix: Path
) -> None:
    project = consumer / "CMakeLists.txt"
    project.write_text(project.read_text().replace("viaduct 1.0 ", "viaduct 2.0 "))
    with pytest.raises(AssertionError, match='compatible with requested version "2.0"'):
        build_with_cmake(shell, consumer, moved_prefix)


def test_a_project_of_an_old_cmake_finds_the_package(shell: Shell, consumer: Path, moved_prefix: Path) -> None:
    """Its policies are those of CMake 3.0, which CMake 4 has no more."""
    found = [
        cmake for cmake in ("cmake", "/usr/bin/cmake") if shutil.which(cmake) and " 3." in shell(cmake, "--version")
    ]
    if not found:
        pytest.skip("there is no CMake 3")
    project = consumer / "CMakeLists.txt"
    project.write_text(re.sub(r"VERSION \S+\)", "VERSION 3.0)", project.read_text()))
    shell(found[0], "-S", consumer, "-B", consumer / "build", f"-DCMAKE_PREFIX_PATH={moved_prefix}")


def test_the_header_compiles_alone_as_c11_and_as_cxx_without_a_warning(moved_prefix: Path, tmp_path: Path) -> None:
    for compiler, language, standard in (("cc", "c", "c11"), ("c++", "c++", "c++11"), ("c++", "c++", "c++20")):
        subprocess.run(
            [compiler, f"-x{language}", f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
            + ["-fsyntax-only", str(moved_prefix / "include/viaduct/viaduct.h")],
            check=True,
            cwd=tmp_path,
        )


def test_the_source_tree_serves_as_a_subproject_and_installs_nothing_then(
    shell: Shell, consumer: Path, tmp_path: Path, version_number: int
) -> None:
    parent, build = Path(__file__).parent / "subproject", BUILDS / "subproject"
    wanted = AS_TESTED | {
        "VIADUCT_SOURCE_DIR": ROOT,
        "CONSUMER_DIR": consumer,
        "CMAKE_UNITY_BUILD": "ON",
        "CMAKE_INSTALL_PREFIX": tmp_path / "prefix",
    }
    if cache := shutil.which("ccache"):
        wanted |= {"CMAKE_C_COMPILER_LAUNCHER": cache, "CMAKE_CXX_COMPILER_LAUNCHER": cache}
    shell("cmake", "--fresh", "-G", "Ninja", "-S", parent, "-B", build, *(f"-D{k}={v}" for k, v in wanted.items()))
    shell("cmake", "--build", build)
    shell("cmake", "--install", build)
    assert shell(build / "consumer_c") == f"viaduct {version_number}\n"
    assert not (tmp_path / "prefix").exists()
