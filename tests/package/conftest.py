"""What the tests of installed packages share: they build, install and move the project as its users would."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from package_tools import AS_TESTED, BUILD, BUILDS, LIBDIR, ROOT, Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="session")
def version() -> str:
    """The version in the one place that holds it."""
    header = (ROOT / "include/viaduct/viaduct.h").read_text()
    parts = (re.search(rf"VIA_VERSION_{part}\s*=\s*(\d+)", header) for part in ("MAJOR", "MINOR", "PATCH"))
    return ".".join(part[1] for part in parts if part)


@pytest.fixture(scope="session")
def version_number(version: str) -> int:
    """The same as via_version() says it."""
    major, minor, patch = map(int, version.split("."))
    return major * 1000000 + minor * 1000 + patch


@pytest.fixture(scope="session")
def install(shell: Shell) -> Callable[..., Path]:
    """Builds the library with the given CMake definitions, and installs it to a prefix.

    All share one build tree, which is elsewhere once something is installed: what is installed does without it.
    """
    build, away = BUILDS / "package", BUILDS / "package-away"

    def build_and_install(prefix: Path, **definitions: object) -> Path:
        if away.exists():
            shutil.rmtree(build, ignore_errors=True)
            away.rename(build)
        wanted = AS_TESTED | {"CMAKE_INSTALL_PREFIX": prefix, "VIADUCT_EXAMPLES": "OFF"} | definitions
        shell("cmake", "--fresh", "-G", "Ninja", "-S", ROOT, "-B", build, *(f"-D{k}={v}" for k, v in wanted.items()))
        shell("cmake", "--build", build)
        shell("cmake", "--install", build)
        build.rename(away)
        return prefix

    return build_and_install


@pytest.fixture(scope="session")
def moved_prefix(install: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed tree that lies where it was not installed to; its build tree is not where it was either."""
    home = tmp_path_factory.mktemp("moved")
    prefix = install(home / "installed-here", CMAKE_INSTALL_LIBDIR=LIBDIR)
    return prefix.rename(home / "moved here")


@pytest.fixture
def consumer(tmp_path: Path) -> Path:
    """The consumer project, copied away from the tree."""
    return Path(shutil.copytree(Path(__file__).parent / "consumer", tmp_path / "consumer"))


@pytest.fixture(scope="session")
def packages(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every package that can be made of what was built, by somebody whose files are for himself alone."""
    dist = tmp_path_factory.mktemp("dist")
    for_himself = ("sh", "-c", 'umask 077; exec "$@"', "sh")
    shell(*for_himself, sys.executable, ROOT / "pkgconfig/packages.py", BUILD, dist)
    return dist


@pytest.fixture(scope="session")
def wheel(packages: Path) -> Path:
    (made,) = packages.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def sdist(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sdist")
    shell(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", home, ROOT)
    (made,) = home.glob("*.tar.gz")
    return made
