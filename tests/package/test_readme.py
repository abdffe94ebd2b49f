"""What the README shows is what happens: its programs are taken out of it and run."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jar_tools import JDKS, install_jar, java, name_of
from package_tools import LIBDIR, ROOT, Shell

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_first_c_program_compiles_without_warnings_and_frees_the_image_after_the_last_view(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    (program,) = blocks("c")
    (tmp_path / "first.c").write_text(program)
    flags = shell(
        "pkg-config", "--cflags", "--libs", "viaduct", env={"PKG_CONFIG_PATH": f"{moved_prefix}/{LIBDIR}/pkgconfig"}
    )
    quoted = [word.replace("\\ ", " ") for word in re.split(r"(?<!\\)\s+", flags.strip())]
    rpath = f"-Wl,-rpath,{moved_prefix}/{LIBDIR}"
    shell(
        "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", tmp_path / "first.c", *quoted, rpath, "-o", tmp_path / "first"
    )
    assert shell(tmp_path / "first") == "200 x 100 floats copied\nthe image is freed\n"


def test_the_first_cpp_program_compiles_without_warnings_and_runs(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    (program,) = blocks("cpp")
    (tmp_path / "first.cpp").write_text(program)
    library = moved_prefix / LIBDIR
    flags = [f"-I{moved_prefix}/include", f"-L{library}", "-lviaduct", f"-Wl,-rpath,{library}"]
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    shell("c++", *strict, tmp_path / "first.cpp", *flags, "-o", tmp_path / "first")
    assert shell(tmp_path / "first").startswith("via_copy: ")


def test_the_first_fortran_program_compiles_without_warnings_and_runs(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("there is no gfortran")
    (program,) = blocks("fortran")
    (tmp_path / "first.f90").write_text(program)
    source, library = moved_prefix / "share/viaduct/fortran", moved_prefix / LIBDIR
    sources = [source / name for name in ("viaduct_c.f90", "viaduct.f90", "viaduct_descriptor.c")]
    flags = [f"-I{moved_prefix}/include", f"-L{library}", "-lviaduct", f"-Wl,-rpath,{library}"]
    command = ["gfortran", "-Wall", "-Wextra", *sources, "first.f90", *flags, "-o", "first"]
    assert shell(*command, cwd=tmp_path) == ""
    numbers, text = shell(tmp_path / "first").splitlines()[:2]
    assert numbers.split() == ["50", "100", "5000.0000000000000"]
    assert text.startswith(" via_copy: ")


def test_the_first_program_by_ctypes_runs(shell: Shell) -> None:
    (program,) = blocks("python ctypes")
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    assert shell(sys.executable, "-c", program, env=env).startswith("via_dtype_from_name: ")


def test_the_first_python_program_runs(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (program,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "(8, 6)" in done.stdout and "(6, 8)" in done.stdout


@pytest.mark.parametrize("jdk", JDKS, ids=name_of)
def test_the_first_java_program_runs(shell: Shell, jdk: Path, tmp_path: Path) -> None:
    (program,) = blocks("java")
    (tmp_path / "First.java").write_text(program)
    jar = install_jar(shell, tmp_path / "jar")
    printed = shell(*java(jdk, "-cp", jar, "First.java"), cwd=tmp_path)
    assert printed == "14.0 at the same address\nvia_array_reshape: shape has 25 elements; expected 48\n"


def test_the_program_of_files_runs(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (program,) = blocks("python files")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={**os.environ}, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.npy", "twice.npy"]


def test_every_file_and_folder_that_the_readme_names_is_there() -> None:
    named = re.findall(r"^\| `([a-z./]+)` \|", README, re.MULTILINE)
    assert len(named) >= 6
    for name in named:
        assert (ROOT / name).exists(), name


def test_every_command_of_dev_that_the_readme_names_is_in_its_help(shell: Shell) -> None:
    known = shell(ROOT / "dev", "help")
    for command in set(re.findall(r"\./dev ([a-z-]+)", README)) - {"help"}:
        assert re.search(rf"^  {command}\b", known, re.MULTILINE), command


def test_the_table_of_consumers_is_the_one_that_the_tests_assert() -> None:
    for peer in ("numpy", "torch", "jax", "tensorflow", "pyarrow", "tvm_ffi"):
        if importlib.util.find_spec(peer) is None:
            pytest.skip(f"{peer} is not installed")
    script = ROOT / "tests/python/test_support_matrix.py"
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{script.parent}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout.strip() in README
