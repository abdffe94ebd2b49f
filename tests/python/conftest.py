"""Every test of the package ends with as many arrays, loans, exports and bytes alive as it began with."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest
import viaduct as via

COUNTED = ("live_arrays", "live_storages", "outstanding_exports", "host_bytes")


def alive() -> dict[str, int]:
    stats = via.stats()
    return {name: stats[name] for name in COUNTED}


def more_than(before: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in alive().items() if count > before[name]}


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    before = alive()
    yield
    # Collecting takes long where much is loaded, and some runtimes let go on threads of their own, a moment later.
    deadline = time.monotonic() + 5
    while more_than(before) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert not more_than(before)
