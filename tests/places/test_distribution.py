"""A build from a distribution's own packages: its compilers, its Python and NumPy, nothing of pip's, and no CUDA.

Debian's next release has the newest of each. The commands are those of docs/inside/build.md.
"""

import re
from collections.abc import Callable

import pytest
from chroots import FROM_THE_DISTRIBUTION, HOME, Place, copy_tree, enter
from outcomes import Outcome, outcome_of
from package_tools import ROOT

PAGE = (ROOT / "docs/inside/build.md").read_text()
# The lines that install, and those that build and test.
INSTALLS, COMMANDS = re.findall(r"```sh\n((?:apt-get install .*\n)+)(cmake .*?)```", PAGE, re.DOTALL)[0]


def test_the_page_names_every_package() -> None:
    assert sorted(INSTALLS.replace("apt-get install", "").split()) == sorted(FROM_THE_DISTRIBUTION)


@pytest.mark.parametrize("place", ["forky"], indirect=True, scope="session")
@pytest.mark.timeout(3600)
def test_the_newest_distribution_builds_and_passes_from_its_packages_alone(
    place: Place, record: Callable[..., None]
) -> None:
    """With warnings as errors: newer compilers find more."""
    home = place.folder / HOME
    copy_tree(home / "tree")
    settings = {"VIADUCT_WERROR": "ON", "CTEST_OUTPUT_ON_FAILURE": "1"}
    settings["PYTEST_ADDOPTS"] = f"--junitxml=/{HOME}/python.xml"
    told = enter(
        place,
        f"""cd /{HOME}/tree && {COMMANDS.rstrip()} || true
        g++ -dumpfullversion && python3 --version""",
        **settings,
    )
    assert "CUDA: left out" in told
    (compiler, python) = re.findall(r"^([\d.]+)\nPython ([\d.]+)$", told, re.MULTILINE)[-1]
    package = "sources, with the distribution's packages alone"
    record(package, "C, C++ and Fortran", f"GCC {compiler}", outcome_in_words(told))
    record(package, "Python", f"CPython {python}", outcome_of(home / "python.xml"))


def outcome_in_words(told: str) -> Outcome:
    """What ctest says at its end: the page's command makes no report of it."""
    ((failed, total),) = re.findall(r"% tests passed(?:, (\d+) tests? failed)? out of (\d+)", told)
    names = re.findall(
        r"^\s+\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Exception|Subprocess aborted)", told, re.MULTILINE
    )
    skipped = len(re.findall(r"^\s+\d+ - \S+ \((?:Skipped|Disabled|Not Run)\)", told, re.MULTILINE))
    assert len(names) == int(failed or 0)
    return Outcome(int(total) - len(names) - skipped, tuple(names), skipped)
