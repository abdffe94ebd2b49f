"""The packages that are taken to other systems: those of what was built."""

import sys
from pathlib import Path

import pytest
from package_tools import BUILD, ROOT, Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="session")
def packages(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    shell(sys.executable, ROOT / "pkgconfig/packages.py", BUILD, dist)
    return dist
