"""The packages on other systems: they load there, and the C, C++ and Python tests of this tree run with them.

`./dev test places` runs this. A system that cannot be made here is skipped, with the reason.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, copy_tree, enter
from package_tools import BUILD, ROOT, Shell

Record = Callable[[str, str], None]

# What the tests of Python take, downloaded here for there: a place needs no certificates then.
REQUIREMENTS = ("numpy", "ml_dtypes", "pytest", "pytest-timeout", "hypothesis", "cffi", "pycparser")


def pinned() -> list[str]:
    lines = "\n".join(path.read_text() for path in (ROOT / "tests/requirements").glob("*.txt"))
    found = dict(re.findall(r"^([\w-]+)==(.+)$", lines, re.MULTILINE))
    return [f"{name}=={found[name]}" if name in found else name for name in (*REQUIREMENTS, "cmake", "ninja")]


def python_of(place: Place) -> str:
    told = enter(place, f"{place.python} -c 'import sys; print(*sys.version_info[:2], sep=\".\")'")
    return told.strip()


def tree_of(place: Place) -> Path:
    """The tree that builds for the place; ./dev test makes that of another processor's before."""
    tree = ROOT / "build" / place.machine if place.is_foreign else BUILD
    if not (tree / "CPackConfig.cmake").exists():
        pytest.skip(f"{tree} is not there: ./dev test {place.machine} makes it")
    return tree


def copy_driver(tree: Path, target: Path, told: str) -> None:
    """The fake driver and the headers that its tests include; nothing where this build has none."""
    driver = tree / "fakecuda/libcuda.so.1"
    found = re.search(r"^-- CUDA [\d.]+: (.*)$", told, re.MULTILINE)
    if driver.exists() and found:
        shutil.copy(driver, target)
        for header in ("cuda.h", "cudaTypedefs.h"):
            shutil.copy(Path(found[1]) / header, target)


@pytest.fixture(scope="session")
def furnished(place: Place, shell: Shell) -> Path:
    """The place's folder with the packages, this tree, and an environment of Python's with the wheel in it."""
    home = place.folder / HOME
    shutil.rmtree(home, ignore_errors=True)
    tree = tree_of(place)
    shell(sys.executable, ROOT / "pkgconfig/packages.py", tree, home / "dist", "tarball", "wheel")
    copy_tree(home / "tree")
    (home / "driver").mkdir()
    told = shell("cmake", "-S", ROOT, "-B", BUILD)
    copy_driver(tree, home / "driver", told)
    version = python_of(place)
    platforms = [f"--platform=manylinux_2_{minor}_{place.machine}" for minor in (17, 24, 27, 28)] + [
        f"--platform=manylinux2014_{place.machine}",
        "--platform=any",
    ]
    fitting = ["--only-binary=:all:", "--python-version", version, *platforms]
    pip = (sys.executable, "-m", "pip")
    shell(*pip, "download", *fitting, "-d", home / "wheels", *pinned(), "pip", "setuptools")
    (dlpack,) = re.findall(r"^-- DLPack [\d.]+: (.*)$", told, re.MULTILINE)
    shutil.copytree(Path(dlpack) / "dlpack", home / "include/dlpack")
    enter(
        place,
        f"""cd /{HOME} && {place.python} -m venv --without-pip venv
        mkdir prefix && tar xf dist/*.tar.gz -C prefix --strip-components=1""",
    )
    found = ("--no-index", "--find-links", home / "wheels", "--no-compile")
    if place.is_foreign:
        # This machine's pip does in seconds what takes QEMU many minutes. Programs are not wanted.
        packages = home / f"venv/lib/python{version}/site-packages"
        shell(*pip, "install", *fitting, *found, "--target", packages, *pinned(), *(home / "dist").glob("*.whl"))
    else:
        inside = " ".join(str(word).replace(str(place.folder), "") for word in found)
        enter(
            place,
            f"""cd /{HOME} && export PYTHONPATH=$(ls wheels/pip-*.whl)
            venv/bin/python -m pip install -q {inside} {" ".join(pinned())} dist/*.whl""",
        )
    return home


# Runs a program that is part of no package.
EXAMPLE = "tests/python/test_files.py::test_the_example_in_c_maps_a_file"

NATIVE = ("bullseye", "trixie", "noble")
everywhere = pytest.mark.parametrize("place", (*NATIVE, "aarch64"), indirect=True, scope="session")
# What the cross compiler makes is run by `./dev test aarch64`.
natively = pytest.mark.parametrize("place", NATIVE, indirect=True, scope="session")


@everywhere
@pytest.mark.timeout(3600)
def test_the_libraries_load(place: Place, furnished: Path) -> None:
    told = enter(
        place,
        f"""cd /{HOME} && ldd -r prefix/lib/libviaduct.so.1 && ldd prefix/lib/libviaduct.so.1
        venv/bin/python -c 'import viaduct; print(viaduct.__file__, viaduct.__version__)'""",
    )
    assert "not found" not in told and "undefined symbol" not in told
    assert f"/{HOME}/venv/" in told


@natively
@pytest.mark.timeout(1800)
def test_the_programs_in_c_and_cxx_pass(place: Place, furnished: Path, record: Record) -> None:
    """On the fake driver too, compiled by the place's own compiler against the tarball."""
    driver = ""
    if (furnished / "driver/libcuda.so.1").exists():
        driver = f"-DVIADUCT_FAKECUDA=/{HOME}/driver/libcuda.so.1 -DVIADUCT_CUDA_INCLUDE_DIR=/{HOME}/driver"
    told = enter(
        place,
        f"""cd /{HOME} && export PATH=$PWD/venv/bin:$PATH
        cmake -G Ninja -S tree/tests/places -B build -DCMAKE_PREFIX_PATH=$PWD/prefix -DCMAKE_BUILD_TYPE=Release \\
            -DVIADUCT_DLPACK_INCLUDE_DIR=$PWD/include {driver}
        cmake --build build && ctest --test-dir build --output-on-failure -j$(nproc) --repeat after-timeout:2 | tail -n 60""",
    )
    (count,) = re.findall(r"100% tests passed(?:, 0 tests failed)? out of (\d+)", told)
    (compiler,) = re.findall(r"^-- The C compiler identification is GNU ([\d.]+)", told, re.MULTILINE)
    record("tarball", f"{count} of {count} programs in C and C++, compiled by GCC {compiler}")


@everywhere
@pytest.mark.timeout(3600)
def test_the_tests_of_python_pass_with_the_wheel(place: Place, furnished: Path, record: Record) -> None:
    told = enter(
        place,
        f"""cd /{HOME}/tree && export VIADUCT_BUILD_DIR=/{HOME}/none
        options="-q -p no:cacheprovider -W ignore::pytest.PytestConfigWarning"
        ../venv/bin/python -m pytest $options tests/python --deselect {EXAMPLE} 2>&1 | tail -n 60
        [ ! -e ../driver/libcuda.so.1 ] || VIADUCT_FAKECUDA_DEVICES=2 VIADUCT_LIBCUDA=/{HOME}/driver/libcuda.so.1 \
            ../venv/bin/python -m pytest $options tests/gpu 2>&1 | tail -n 60""",
    )
    passed = [int(count) for count in re.findall(r"(\d+) passed", told)]
    assert passed
    record("wheel", f"{sum(passed)} tests, CPython {python_of(place)}")
