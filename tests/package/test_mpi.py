"""The examples of MPI, built outside the tree as its reader would: by mpicc, against the installed library."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from package_tools import LIBDIR, ROOT, Shell


@pytest.mark.parametrize("name", ["mpi_field", "mpi_pages"])
def test_mpicc_compiles_the_example_without_warnings_against_the_installed_library(
    shell: Shell, moved_prefix: Path, tmp_path: Path, name: str
) -> None:
    if shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc")
    library = moved_prefix / LIBDIR
    flags = [f"-I{moved_prefix}/include", f"-L{library}", "-lviaduct", f"-Wl,-rpath,{library}"]
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    source = ROOT / f"bindings/c/examples/{name}.c"
    assert shell("mpicc", *strict, source, *flags, "-o", tmp_path / name) == ""
    linked = shell("ldd", tmp_path / name)
    assert f"libviaduct.so.1 => {library}/" in linked and "libmpi" in linked
