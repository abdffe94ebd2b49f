"""The systems, each made when it is first wanted."""

import pytest
from chroots import PLACES, Impossible, Place, make
from package_tools import Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> Place:
    try:
        return make(PLACES[request.param])
    except Impossible as why:
        pytest.skip(f"{request.param}: {why}")
