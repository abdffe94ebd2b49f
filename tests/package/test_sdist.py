"""The archive of sources, built by pip with no network beyond what it requires."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from package_tools import BUILDS, ROOT, Shell, unpack


@pytest.fixture(scope="module")
def requirements() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]


def without_network() -> list[str]:
    """What runs a command without one, where this machine allows that."""
    alone = ["unshare", "--net", "--map-root-user"]
    allowed = shutil.which("unshare") and subprocess.run([*alone, "true"], check=False, capture_output=True)
    return alone if allowed and allowed.returncode == 0 else []


@pytest.fixture(scope="module")
def built(shell: Shell, sdist: Path, requirements: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes in an environment that holds the declared requirements and nothing else."""
    home = tmp_path_factory.mktemp("from-sources")
    shell(sys.executable, "-m", "venv", home / "clean")
    shell(home / "clean/bin/pip", "install", *requirements, "cmake", "ninja")
    # Where it is the same each time, the compiler's cache knows it.
    for folder in (BUILDS / "sdist", BUILDS / "sdist-source"):
        shutil.rmtree(folder, ignore_errors=True)
    unpack(sdist, BUILDS / "sdist-source")
    (source,) = (BUILDS / "sdist-source").iterdir()
    # The short form, -C, is unknown to the pip of Debian 12.
    given = (f"build-dir={BUILDS / 'sdist'}", "cmake.define.VIADUCT_KERNELS=OFF")
    settings = tuple(f"--config-settings={setting}" for setting in given)
    command = (home / "clean/bin/pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", *settings)
    where = {"PATH": f"{home / 'clean/bin'}:{os.environ['PATH']}", "VIRTUAL_ENV": str(home / "clean")}
    shell(*without_network(), *command, "--wheel-dir", home, source, env=where)
    (wheel,) = home.glob("*.whl")
    return wheel


def test_the_archive_holds_what_builds_and_nothing_built(sdist: Path, version: str) -> None:
    assert sdist.name == f"viaduct-{version}.tar.gz"
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CMakeLists.txt", "pyproject.toml", "include/viaduct/viaduct.h", "PKG-INFO"} <= names
    assert not {name for name in names if name.startswith(("build/", "dist/")) or name.endswith((".so", ".o"))}


def test_a_wheel_of_the_sources_serves(shell: Shell, built: Path, version: str, tmp_path: Path) -> None:
    assert built.name.startswith(f"viaduct-{version}-cp311-abi3-linux_"), "what it needs is this machine's"
    shell(sys.executable, "-m", "venv", tmp_path / "venv")
    shell(tmp_path / "venv/bin/pip", "install", "--no-index", built)
    use = "import viaduct; print(viaduct.__version__, bytes(viaduct.asarray(b'abc')))"
    assert shell(tmp_path / "venv/bin/python", "-c", use) == f"{version} b'abc'\n"
