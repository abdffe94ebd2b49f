"""A build from a distribution's own packages: its compilers, its Python and NumPy, nothing of pip's, and no CUDA.

Debian's next release has the newest of each. The commands are those of docs/inside/build.md.
"""

import re
from collections.abc import Callable

import pytest
from chroots import FROM_THE_DISTRIBUTION, HOME, Place, copy_tree, enter
from package_tools import ROOT

PAGE = (ROOT / "docs/inside/build.md").read_text()
# The lines that install, and those that build and test.
INSTALLS, COMMANDS = re.findall(r"```sh\n((?:apt-get install .*\n)+)(cmake .*?)```", PAGE, re.DOTALL)[0]


def test_the_page_names_every_package() -> None:
    assert sorted(INSTALLS.replace("apt-get install", "").split()) == sorted(FROM_THE_DISTRIBUTION)


@pytest.mark.parametrize("place", ["forky"], indirect=True, scope="session")
@pytest.mark.timeout(3600)
def test_the_newest_distribution_builds_and_passes_from_its_packages_alone(
    place: Place, record: Callable[[str, str], None]
) -> None:
    """With warnings as errors: newer compilers find more."""
    copy_tree(place.folder / HOME / "tree")
    told = enter(place, f"cd /{HOME}/tree && {COMMANDS}", VIADUCT_WERROR="ON", CTEST_OUTPUT_ON_FAILURE="1")
    assert "CUDA: left out" in told and "100% tests passed" in told
    assert re.search(r"^\d+ passed", told, re.MULTILINE) and not re.search(r"\d+ (failed|errors?)\b", told)
    (programs,) = re.findall(r"100% tests passed(?:, 0 tests failed)? out of (\d+)", told)
    (tests,) = re.findall(r"^(\d+) passed", told, re.MULTILINE)
    record(
        "sources, with the distribution's packages alone", f"{programs} of {programs} programs, {tests} tests in Python"
    )
