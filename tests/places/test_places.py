"""The packages on other systems: they load there, and the C, C++ and Python tests of this tree run with them.

`./dev test places` runs this. A system that cannot be made here is skipped, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, enter
from furnish import run_python_tests, version_of_python
from outcomes import outcome_of

Record = Callable[..., None]

pytestmark = [
    pytest.mark.parametrize("place", ("bullseye", "trixie", "noble"), indirect=True, scope="session"),
    pytest.mark.timeout(3600),
]


def test_the_libraries_load(place: Place, furnished: Path) -> None:
    told = enter(
        place,
        f"""cd /{HOME} && ldd -r prefix/lib/libviaduct.so.1 && ldd prefix/lib/libviaduct.so.1
        venv/bin/python -c 'import viaduct; print(viaduct.__file__, viaduct.__version__)'""",
    )
    assert "not found" not in told and "undefined symbol" not in told
    assert f"/{HOME}/venv/" in told


def test_an_older_python_is_told_what_is_needed(place: Place, furnished: Path) -> None:
    """The system's own, where that is older than what the wheel is for."""
    told = enter(
        place,
        f"""cd /{HOME} && /usr/bin/python3 -c 'import sys; print(sys.version_info[1])'
        PYTHONPATH=$(echo venv/lib/python3.*/site-packages) /usr/bin/python3 -c 'import viaduct' 2>&1 || true""",
    ).splitlines()
    if int(told[0]) >= 11:
        pytest.skip(f"the system's Python is 3.{told[0]}")
    assert told[-1].startswith(
        "ImportError: viaduct._viaduct was not imported: this CPython is too old; it needs CPython"
    )
    assert f"; this is CPython 3.{told[0]}, Linux with glibc" in told[-1]


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
        cmake --build build
        ctest --test-dir build -j$(nproc) --repeat after-timeout:2 --output-on-failure --output-junit ../reports/ctest.xml \\
            >reports/ctest.log 2>&1 || true""",
    )
    (compiler,) = re.findall(r"^-- The C compiler identification is GNU ([\d.]+)", told, re.MULTILINE)
    record("tarball", "C and C++", f"GCC {compiler}", outcome_of(furnished / "reports/ctest.xml"))


def test_the_tests_of_python_pass_with_the_wheel(place: Place, furnished: Path, record: Record) -> None:
    reports = run_python_tests(place)
    record("wheel", "Python", f"CPython {version_of_python(place)}", outcome_of(*reports))
