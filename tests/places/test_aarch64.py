"""What the cross compiler makes for AArch64: its kernels use vectors, and its packages keep to the same floor."""

import collections
import re
import shutil
import sys
from pathlib import Path

import pytest
from package_tools import ROOT, Shell
from packages import auditwheel
from test_portable import FLOOR, natives_of, too_new

TREE = ROOT / "build/aarch64"
PREFIX = "aarch64-linux-gnu-"

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(
        shutil.which(f"{PREFIX}objdump") is None or not (TREE / "src/libviaduct.so.1").exists(),
        reason="build/aarch64 is not there: ./dev test aarch64 makes it",
    ),
]


@pytest.fixture(scope="module")
def dist(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dist")
    shell(sys.executable, ROOT / "pkgconfig/packages.py", TREE, made, "tarball", "wheel", "deb")
    return made


def test_the_copy_kernels_are_of_neon(shell: Shell) -> None:
    """Interleaving, and shuffles by a table, are what transposes and channels are made of."""
    (kernels,) = TREE.glob("**/kernels_base.cpp.o")
    told = shell(f"{PREFIX}objdump", "-d", "--no-show-raw-insn", kernels)
    counted = collections.Counter(re.findall(r"^\s+[0-9a-f]+:\s+(\S+)\s+v\d", told, re.MULTILINE))
    assert counted["zip1"] > 100 and counted["zip2"] > 100 and counted["tbl"] > 20, counted


def test_each_package_names_its_processor(dist: Path) -> None:
    names = {path.name for path in dist.iterdir()}
    assert any(name.endswith("linux-aarch64.tar.gz") for name in names)
    assert any(name.endswith("-cp311-abi3-manylinux_2_28_aarch64.whl") for name in names)
    assert sum(name.endswith("_arm64.deb") for name in names) == 3


def test_no_symbol_is_newer_than_the_floor(shell: Shell, dist: Path, tmp_path: Path) -> None:
    assert FLOOR <= (2, 28)
    natives = natives_of(dist, tmp_path)
    assert len(natives) >= 3
    for name, path in natives.items():
        assert "AArch64" in shell("readelf", "-h", path), name
        assert too_new(shell("readelf", "-VW", path)) == [], name


def test_an_index_would_take_the_wheel(shell: Shell, dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    assert '"manylinux_2_28_aarch64"' in shell(*auditwheel("aarch64"), "show", wheel)
