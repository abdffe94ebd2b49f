"""The installed Fortran module, compiled from its source by a project outside the tree."""

import shutil
from pathlib import Path

import pytest
from package_tools import LIBDIR, Shell

PROJECT = Path(__file__).parent / "fortran_consumer"

pytestmark = pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran")


def test_the_cmake_package_compiles_the_module_for_the_project_that_asks(
    shell: Shell, moved_prefix: Path, tmp_path: Path, version_number: int
) -> None:
    shell("cmake", "-G", "Ninja", "-S", PROJECT, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={moved_prefix}")
    shell("cmake", "--build", tmp_path)
    assert shell(tmp_path / "consumer_fortran") == f"viaduct {version_number}\n"


def test_the_cmake_package_says_what_its_component_takes(shell: Shell, moved_prefix: Path, tmp_path: Path) -> None:
    text = (PROJECT / "CMakeLists.txt").read_text().replace("LANGUAGES C Fortran", "LANGUAGES C")
    (tmp_path / "CMakeLists.txt").write_text(text)
    with pytest.raises(AssertionError, match="languages C and Fortran"):
        shell("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={moved_prefix}")


def test_the_pkg_config_module_says_where_the_source_is(
    shell: Shell, moved_prefix: Path, tmp_path: Path, version_number: int
) -> None:
    pc = {"PKG_CONFIG_PATH": f"{moved_prefix}/{LIBDIR}/pkgconfig"}
    source = Path(shell("pkg-config", "--variable=sourcedir", "viaduct-fortran", env=pc).strip().replace("\\", ""))
    sources = [source / name for name in ("viaduct_c.f90", "viaduct.f90", "viaduct_descriptor.c")]
    library = moved_prefix / LIBDIR
    assert shell("pkg-config", "--libs", "viaduct-fortran", env=pc) == shell("pkg-config", "--libs", "viaduct", env=pc)
    flags = [f"-I{moved_prefix}/include", f"-L{library}", "-lviaduct", f"-Wl,-rpath,{library}"]
    shell("gfortran", *sources, PROJECT / "main.f90", *flags, "-o", tmp_path / "consumer", cwd=tmp_path)
    assert shell(tmp_path / "consumer") == f"viaduct {version_number}\n"
