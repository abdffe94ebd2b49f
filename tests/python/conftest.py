"""Every test of the package ends with as many arrays, borrowed memory, exports and bytes alive as it began with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from peers import leaving_nothing


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    with leaving_nothing():
        yield
