"""Debian's packages: lintian has nothing to say, and Debian and Ubuntu install, use and remove them."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, enter
from package_tools import BUILD, ROOT, Shell

NAMES = {"libviaduct1", "libviaduct-dev", "python3-viaduct"}
IN_C = """\
#include <stdio.h>
#include <viaduct/viaduct.h>
int main(void) {
    float values[6] = {0, 1, 2, 3, 4, 5};
    via_array *array = NULL;
    const int64_t shape[] = {2, 3};
    if (via_wrap(values, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) != VIA_OK) return 1;
    printf("%lld bytes\\n", (long long)via_array_nbytes(array));
    via_array_release(array);
    return 0;
}
"""
IN_PYTHON = """\
import numpy, viaduct
array = viaduct.asarray(numpy.arange(6.0).reshape(2, 3))
copy = viaduct.empty((3, 2), "float64")
viaduct.copy(copy, array.transpose())
print(numpy.asarray(copy).tolist(), viaduct.__file__)
from viaduct import raw_ctypes
assert raw_ctypes.via_version() // 1000000 == 1
"""


@pytest.fixture(scope="module")
def debs(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not in PATH")
    made = tmp_path_factory.mktemp("debs")
    shell(sys.executable, ROOT / "pkgconfig/packages.py", BUILD, made, "deb")
    return made


def test_there_are_three(debs: Path) -> None:
    assert {path.name.split("_")[0] for path in debs.glob("*.deb")} == NAMES


def test_lintian_has_nothing_to_say(shell: Shell, debs: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not in PATH")
    told = shell("lintian", "--fail-on", "error,warning", "--allow-root", *sorted(debs.glob("*.deb")))
    assert not re.search("^[EW]:", told, re.MULTILINE), told


@pytest.mark.parametrize("place", ["bookworm", "trixie", "noble"], indirect=True, scope="session")
@pytest.mark.timeout(1800)
def test_each_system_installs_uses_and_removes_them(place: Place, debs: Path, record: Callable[..., None]) -> None:
    folder = f"{HOME}/debs"
    home = place.folder / folder
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(debs, home / "dist")
    (home / "main.c").write_text(IN_C)
    (home / "main.py").write_text(IN_PYTHON)
    told = enter(
        place,
        f"""cd /{folder} && apt-get install -q -y --no-install-recommends ./dist/*.deb python3-numpy
        gcc main.c -o main $(pkg-config --cflags --libs viaduct) && ./main && python3 main.py
        dpkg --verify {" ".join(sorted(NAMES))}
        apt-get purge -q -y {" ".join(sorted(NAMES))}
        find /usr /etc /var/lib -iname '*viaduct*' | sed 's/^/left: /'
        gcc -dumpfullversion && python3 --version""",
    )
    assert "24 bytes" in told
    assert "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] /usr/lib/python3/dist-packages/viaduct/__init__.py" in told
    assert "left: " not in told, told
    (compiler, python) = re.findall(r"^([\d.]+)\nPython ([\d.]+)$", told, re.MULTILINE)[-1]
    record("deb", "installed, used from C and Python, removed without a trace", f"GCC {compiler}, CPython {python}")
