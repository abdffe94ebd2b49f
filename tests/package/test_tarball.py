"""The tarball, unpacked where nothing else is."""

import re
import shlex
import tarfile
from pathlib import Path

import pytest
from package_tools import ROOT, Shell, unpack

CONSUMER = Path(__file__).parent / "consumer"


@pytest.fixture(scope="module")
def unpacked(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (tarball,) = packages.glob("*.tar.gz")
    home = tmp_path_factory.mktemp("tarball")
    unpack(tarball, home)
    (folder,) = home.iterdir()
    return folder


def test_a_program_in_c_looks_inside_a_tensor_with_the_tarball_alone(
    shell: Shell, unpacked: Path, tmp_path: Path
) -> None:
    (pc_dir,) = (path.parent for path in unpacked.rglob("viaduct.pc"))
    where = {"PKG_CONFIG_PATH": str(pc_dir), "PKG_CONFIG_LIBDIR": str(pc_dir)}
    flags = shlex.split(shell("pkg-config", "--cflags", "--libs", "viaduct", env=where))
    warnings = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    found = shell("cc", *warnings, "-M", CONSUMER / "tensor.c", *flags)
    headers = {Path(word).resolve() for word in found.split() if word.endswith("dlpack.h")}
    assert headers == {(unpacked / "include/dlpack/dlpack.h").resolve()}
    shell("cc", *warnings, CONSUMER / "tensor.c", *flags, f"-Wl,-rpath,{pc_dir.parent}", "-o", tmp_path / "tensor")
    assert shell(tmp_path / "tensor") == "2 x 3, element 4 is 4\n"


def test_the_header_of_dlpack_comes_with_its_licence(unpacked: Path) -> None:
    header = (unpacked / "include/dlpack/dlpack.h").read_text()
    wanted = re.search(r"VIADUCT_DLPACK_MINIMUM (\d+)\.(\d+)", (ROOT / "pkgconfig/dlpack.cmake").read_text())
    found = [int(re.search(rf"DLPACK_{part}_VERSION (\d+)", header)[1]) for part in ("MAJOR", "MINOR")]
    assert wanted and found >= [int(wanted[1]), int(wanted[2])]
    licences = [path.read_text() for path in (unpacked / "share/doc/viaduct/dlpack").iterdir()]
    assert any("Apache License" in text for text in licences)


def test_what_root_unpacks_everyone_may_read(packages: Path) -> None:
    (tarball,) = packages.glob("*.tar.gz")
    with tarfile.open(tarball) as archive:
        modes = {each.name: (each.mode, 0o5 if each.isdir() else 0o4) for each in archive}
    closed = [name for name, (mode, wanted) in modes.items() if mode & wanted != wanted]
    assert closed == []
