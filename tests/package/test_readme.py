"""What the README and the pages to start with show is what happens: their programs are taken out of them and run."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import pytest
from jar_tools import JDKS, install_jar, java, name_of
from package_tools import LIBDIR, ROOT, Shell
from programs import shown

README = (ROOT / "README.md").read_text()


def compile_first(shell: Shell, program: str, prefix: Path, folder: Path) -> str:
    """What a C program prints that was compiled by the flags of pkg-config, with every warning an error."""
    (folder / "first.c").write_text(program)
    flags = shell(
        "pkg-config", "--cflags", "--libs", "viaduct", env={"PKG_CONFIG_PATH": f"{prefix}/{LIBDIR}/pkgconfig"}
    )
    quoted = [word.replace("\\ ", " ") for word in re.split(r"(?<!\\)\s+", flags.strip())]
    rpath = f"-Wl,-rpath,{prefix}/{LIBDIR}"
    shell("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", folder / "first.c", *quoted, rpath, "-o", folder / "first")
    return shell(folder / "first")


def test_the_first_c_program_compiles_without_warnings_and_frees_the_image_after_the_last_view(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    printed = compile_first(shell, shown("docs/start/c.md", "c"), moved_prefix, tmp_path)
    assert printed == "200 x 100 floats copied\nthe image is freed\n"


def test_the_c_program_of_the_readme_compiles_without_warnings_and_runs(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    assert compile_first(shell, shown("README.md", "c"), moved_prefix, tmp_path) == "100 x 200 floats copied\n"


def test_the_c_program_of_conversions_compiles_without_warnings_and_prints_what_the_page_says(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    page = "docs/guide/convert.md"
    printed = compile_first(shell, shown(page, "c"), moved_prefix, tmp_path)
    assert f"It prints `{printed.strip()}`." in (ROOT / page).read_text()


def test_the_first_cpp_program_compiles_without_warnings_and_runs(
    shell: Shell, moved_prefix: Path, tmp_path: Path
) -> None:
    program = shown("docs/start/cpp.md", "cpp")
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
    program = shown("docs/start/fortran.md", "fortran")
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
    program = shown("docs/start/ctypes.md", "python ctypes")
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    assert shell(sys.executable, "-c", program, env=env).startswith("via_dtype_from_name: ")


@pytest.mark.parametrize("page", ["README.md", "docs/start/python.md"])
def test_the_first_python_program_runs(page: str, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    done = subprocess.run(
        [sys.executable, "-c", shown(page, "python")],
        cwd=tmp_path,
        env={**os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert page == "README.md" or ("(8, 6)" in done.stdout and "(6, 8)" in done.stdout)


@pytest.mark.parametrize("jdk", JDKS, ids=name_of)
def test_the_first_java_program_runs(shell: Shell, jdk: Path, tmp_path: Path) -> None:
    program = shown("docs/start/java.md", "java")
    (tmp_path / "First.java").write_text(program)
    jar = install_jar(shell, tmp_path / "jar")
    printed = shell(*java(jdk, "-cp", jar, "First.java"), cwd=tmp_path)
    assert printed == "14.0 at the same address\nvia_array_reshape: shape has 25 elements; expected 48\n"


def test_the_program_of_files_runs(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    program = shown("docs/guide/files.md", "python files")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={**os.environ}, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.npy", "twice.npy"]


@pytest.mark.parametrize("page", ["convert", "models"])
def test_the_programs_of_a_guide_run_one_after_another(page: str, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    text = (ROOT / f"docs/guide/{page}.md").read_text()
    programs = re.findall(r"^```python.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(programs) >= 3
    subprocess.run([sys.executable, "-c", "\n".join(programs)], cwd=tmp_path, env={**os.environ}, check=True)


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 200


def test_the_page_that_a_registry_shows_has_no_link_and_no_picture_that_leads_to_a_file() -> None:
    text = pages.PACKAGE.read_text()
    assert text == pages.package_page(README)
    assert re.findall(r"\]\((?!https?:)", text) == [] and "<!--" not in text
    assert re.search(r'^readme = "docs/package.md"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert "docs/package.md" in (ROOT / "bindings/csharp/Viaduct.csproj").read_text()


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_dev_that_a_page_names_is_in_its_help(shell: Shell, page: Path) -> None:
    known = shell(ROOT / "dev", "help")
    for command in set(re.findall(r"\./dev ([a-z-]+)", page.read_text())) - {"help"}:
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
    assert done.stdout.strip() in (ROOT / "docs/questions/consumers.md").read_text()
