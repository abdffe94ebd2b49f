"""The systems, each made when it is first wanted, and a record of what the packages did on them."""

import json
from collections.abc import Callable

import pytest
from chroots import PLACES, Impossible, Place, enter, make
from package_tools import ROOT, Shell

# Of this run and of those before; the pages are made of a copy in tests/places/results.json.
RECORD = ROOT / "build/places.json"
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


@pytest.fixture
def record(place: Place) -> Callable[[str, str], None]:
    """Writes down what a package did there."""

    def write(package: str, result: str) -> None:
        system = enter(place, NAME).strip() + (f", {place.machine} by QEMU" if place.is_foreign else "")
        rows = json.loads(RECORD.read_text()) if RECORD.exists() else []
        rows = [row for row in rows if (row["package"], row["place"]) != (package, system)]
        rows.append({"package": package, "place": system, "result": result})
        RECORD.write_text(json.dumps(sorted(rows, key=lambda row: (row["place"], row["package"])), indent=1) + "\n")

    return write
