"""What the cross compiler makes for AArch64, run in a Debian of that processor by QEMU: `./dev test aarch64`.

Random tests repeat themselves a fifth as often there, and what is labelled `long` or `heavy` is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import HOME, Place, emulator_version, enter
from furnish import run_python_tests, tree_of, version_of_python
from outcomes import outcome_of

Record = Callable[..., None]

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.parametrize("place", ["aarch64"], indirect=True, scope="session"),
    pytest.mark.timeout(7200),
]


def test_the_programs_in_c_and_cxx_pass(place: Place, record: Record) -> None:
    """Run where they were built: programs that start themselves again, and libraries, are then found."""
    tree = tree_of(place)
    report = tree / "ctest.xml"
    enter(
        place,
        f"""ctest --test-dir {tree} -j$(nproc) -LE '^(long|heavy)$' --no-tests=error --output-on-failure \\
            --output-junit {report} >{tree}/ctest.log 2>&1 || true""",
    )
    (compiler,) = re.findall(r'CXX_COMPILER_VERSION "([\d.]+)"', compiler_facts(tree))
    record("the build", "C and C++", f"GCC {compiler}, QEMU {emulator_version(place)}", outcome_of(report))


def compiler_facts(tree: Path) -> str:
    (facts,) = tree.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")
    return facts.read_text()


def test_the_libraries_load(place: Place, furnished: Path) -> None:
    told = enter(
        place,
        f"""cd /{HOME} && ldd -r prefix/lib/libviaduct.so.1
        venv/bin/python -c 'import platform, viaduct; print(platform.machine(), viaduct.__file__)'""",
    )
    assert "not found" not in told and "undefined symbol" not in told
    assert f"aarch64 /{HOME}/venv/" in told


def test_the_tests_of_python_pass_with_the_wheel(place: Place, furnished: Path, record: Record) -> None:
    reports = run_python_tests(place, "-m", "'not long and not heavy'", "--timeout=300")
    using = f"CPython {version_of_python(place)}, QEMU {emulator_version(place)}"
    record("wheel", "Python", using, outcome_of(*reports))
