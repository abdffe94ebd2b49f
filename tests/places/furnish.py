"""What a place is given: the packages, this tree, the fake driver, and an environment of Python's with the wheel in it."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from chroots import HOME, Place, copy_tree, enter
from package_tools import BUILD, ROOT, Shell

# What the tests of Python take, downloaded here for there: a place needs no certificates then.
REQUIREMENTS = ("numpy", "ml_dtypes", "pytest", "pytest-timeout", "hypothesis", "cffi", "pycparser", "cmake", "ninja")
PIP = (sys.executable, "-m", "pip")


def pinned() -> list[str]:
    lines = "\n".join(path.read_text() for path in (ROOT / "tests/requirements").glob("*.txt"))
    found = dict(re.findall(r"^([\w-]+)==(.+)$", lines, re.MULTILINE))
    return [f"{name}=={found[name]}" if name in found else name for name in REQUIREMENTS]


def version_of_python(place: Place) -> str:
    told = enter(place, f"{place.python} -c 'import sys; print(*sys.version_info[:2], sep=\".\")'")
    return told.strip()


def tree_of(place: Place) -> Path:
    """The tree that builds for the place."""
    tree = ROOT / "build" / place.machine if place.is_foreign else BUILD
    if not (tree / "CPackConfig.cmake").exists():
        pytest.skip(f"{tree} is not there: ./dev test {place.machine} makes it")
    return tree


def furnish(place: Place, shell: Shell) -> Path:
    """Returns the folder, which the place knows as /viaduct."""
    home = place.folder / HOME
    shutil.rmtree(home, ignore_errors=True)
    tree = tree_of(place)
    shell(sys.executable, ROOT / "pkgconfig/packages.py", tree, home / "dist", "tarball", "wheel")
    copy_tree(home / "tree")
    (home / "driver").mkdir()
    (home / "reports").mkdir()
    told = shell("cmake", "-S", ROOT, "-B", BUILD)
    copy_driver(tree, home / "driver", told)
    (dlpack,) = re.findall(r"^-- DLPack [\d.]+: (.*)$", told, re.MULTILINE)
    shutil.copytree(Path(dlpack) / "dlpack", home / "include/dlpack")
    enter(
        place,
        f"""cd /{HOME} && {place.python} -m venv --without-pip venv
        mkdir prefix && tar xf dist/*.tar.gz -C prefix --strip-components=1""",
    )
    install_wheels(place, shell)
    return home


def copy_driver(tree: Path, target: Path, told: str) -> None:
    """The fake driver and the headers that its tests include; nothing where this build has none."""
    driver = tree / "fakecuda/libcuda.so.1"
    found = re.search(r"^-- CUDA [\d.]+: (.*)$", told, re.MULTILINE)
    if driver.exists() and found:
        shutil.copy(driver, target)
        for header in ("cuda.h", "cudaTypedefs.h"):
            shutil.copy(Path(found[1]) / header, target)


def install_wheels(place: Place, shell: Shell) -> None:
    home, version = place.folder / HOME, version_of_python(place)
    manylinux = (*(f"manylinux_2_{minor}" for minor in (17, 24, 27, 28)), "manylinux2014")
    platforms = [f"--platform={name}_{place.machine}" for name in manylinux]
    fitting = ["--only-binary=:all:", "--python-version", version, *platforms, "--platform=any"]
    shell(*PIP, "download", *fitting, "-d", home / "wheels", *pinned(), "pip", "setuptools")
    found = ("--no-index", "--find-links", home / "wheels", "--no-compile")
    if place.is_foreign:
        # This machine's pip does in seconds what takes QEMU many minutes. Programs are not wanted.
        packages = home / f"venv/lib/python{version}/site-packages"
        shell(*PIP, "install", *fitting, *found, "--target", packages, *pinned(), *(home / "dist").glob("*.whl"))
    else:
        inside = " ".join(str(word).replace(str(place.folder), "") for word in found)
        enter(
            place,
            f"""cd /{HOME} && export PYTHONPATH=$(ls wheels/pip-*.whl)
            venv/bin/python -m pip install -q {inside} {" ".join(pinned())} dist/*.whl""",
        )


# Runs a program that is part of no package.
EXAMPLE = "tests/python/test_files.py::test_the_example_in_c_maps_a_file"


def run_python_tests(place: Place, *options: str) -> list[Path]:
    """Runs the tests of Python with the wheel, then those on the fake driver, and returns their reports."""
    reports = place.folder / HOME / "reports"
    enter(
        place,
        f"""cd /{HOME}/tree && export VIADUCT_BUILD_DIR=/{HOME}/none
        run() {{
          ../venv/bin/python -m pytest -q -p no:cacheprovider -W ignore::pytest.PytestConfigWarning {" ".join(options)} \\
            --deselect {EXAMPLE} --durations=40 --junitxml=../reports/$1.xml $2 >../reports/$1.log 2>&1 || true
        }}
        run python tests/python
        export VIADUCT_FAKECUDA_DEVICES=2 VIADUCT_LIBCUDA=/{HOME}/driver/libcuda.so.1
        [ ! -e ../driver/libcuda.so.1 ] || run gpu tests/gpu""",
    )
    return sorted(reports.glob("[pg][yp]*.xml"))
