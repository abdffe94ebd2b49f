"""The systems, each made when it is first wanted, and a record of what the packages did on them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from chroots import PLACES, Impossible, Place, enter, make
from furnish import furnish
from outcomes import Outcome, write_down
from package_tools import Shell

NAME = '. /etc/os-release && echo "${NAME% GNU/Linux} ${VERSION_ID:-$VERSION_CODENAME}"'


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> Place:
    try:
        return make(PLACES[request.param])
    except Impossible as why:
        pytest.skip(f"{request.param}: {why}")


@pytest.fixture(scope="session")
def furnished(place: Place, shell: Shell) -> Path:
    return furnish(place, shell)


@pytest.fixture
def record(place: Place) -> Callable[..., None]:
    """Writes down what a package did there, and then fails the test if anything did."""

    def write(package: str, what: str, using: str, outcome: Outcome | None = None) -> None:
        system = enter(place, NAME).strip() + (f", {place.machine} by QEMU" if place.is_foreign else "")
        write_down(package, system, what, using, outcome)
        assert outcome is None or (outcome.passed > 0 and outcome.failed == ()), outcome

    return write
