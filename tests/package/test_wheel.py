"""The wheel, as pip installs it where nothing else is."""

import platform
import re
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from package_tools import ROOT, Shell

USE = """
import sys
import viaduct

memory = bytearray(b"abcdef")
array = viaduct.asarray(memory)
memory[0] = ord("A")
assert bytes(memoryview(array)) == b"Abcdef"
assert array.shape == (6,)
assert "numpy" not in sys.modules
from viaduct import raw_ctypes
assert raw_ctypes.via_version() // 1000000 == viaduct.version()[0]
print(viaduct.__version__, viaduct.__file__)
"""


@pytest.fixture(scope="module")
def installed(shell: Shell, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel in it and no NumPy."""
    venv = tmp_path_factory.mktemp("user") / "venv"
    shell(sys.executable, "-m", "venv", venv)
    shell(venv / "bin/pip", "install", "--no-index", wheel)
    return venv


def test_the_wheel_serves_every_python_from_3_11_on(wheel: Path, version: str) -> None:
    assert wheel.name == f"viaduct-{version}-cp311-abi3-manylinux_2_28_{platform.machine()}.whl"


def test_an_index_would_take_the_wheel_and_the_sources(shell: Shell, wheel: Path, sdist: Path) -> None:
    assert shell(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist).count("PASSED") == 2
    assert f'"manylinux_2_28_{platform.machine()}"' in shell(sys.executable, "-m", "auditwheel", "show", wheel)


def test_the_wheel_holds_the_package_and_the_library_as_plain_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    package = {name.removeprefix("viaduct/") for name in modes if name.startswith("viaduct/")}
    assert package >= {"__init__.py", "py.typed", "_viaduct.abi3.so", "libviaduct.so.1", "raw_ctypes.py", "raw_cffi.py"}
    assert "conformance/__main__.py" in package
    assert not any(stat.S_ISLNK(mode) for mode in modes.values())
    assert {name.split("/")[0].split("-")[0] for name in modes} == {"viaduct"}


def test_the_extension_module_keeps_to_the_stable_abi_of_3_11(shell: Shell, wheel: Path) -> None:
    shell(sys.executable, "-m", "abi3audit", "--strict", "--verbose", wheel)


def test_the_extension_module_finds_its_library_next_to_itself(shell: Shell, installed: Path) -> None:
    (module,) = installed.glob("lib/*/site-packages/viaduct/_viaduct.abi3.so")
    assert f"libviaduct.so.1 => {module.parent}/libviaduct.so.1" in shell("ldd", module)


def test_an_installed_wheel_works_without_numpy_from_any_directory(
    shell: Shell, installed: Path, tmp_path: Path, version: str
) -> None:
    reported, place = shell(installed / "bin/python", "-c", USE, cwd=tmp_path).split(maxsplit=1)
    assert reported == version
    assert place.startswith(str(installed))


def test_an_installed_wheel_times_and_examines_the_machine_with_no_other_package(
    shell: Shell, installed: Path, tmp_path: Path, version: str
) -> None:
    command = [installed / "bin/python", "-m", "viaduct"]
    rows = shell(*command, "bench", "--size", "1", "--seconds", "0.001", "--folder", tmp_path, cwd=tmp_path)
    assert rows.startswith(f"viaduct {version}") and "every second column" in rows and "not installed" not in rows
    assert f"{installed}/lib" in shell(*command, "info", cwd=tmp_path).replace("\n    ", "")
    assert "route: transpose" in shell(*command, "explain", "100,100", "F", cwd=tmp_path)


def test_what_the_commands_show_more_with_is_named_by_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        reported = archive.read(name).decode()
    assert "Provides-Extra: cli" in reported and "Provides-Extra: plot" in reported
    assert not re.search(r"^Requires-Dist: [^;]*$", reported, re.MULTILINE), "nothing is required"


def test_the_page_of_the_wheel_is_that_of_registries(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        reported = archive.read(name).decode()
    assert "Description-Content-Type: text/markdown" in reported
    assert reported.endswith((ROOT / "docs/package.md").read_text())


def test_dask_is_reported_by_the_wheel_how_large_arrays_are(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        reported = archive.read(name).decode()
    assert "[dask.sizeof]\nviaduct = viaduct._dask:register\n" in reported
