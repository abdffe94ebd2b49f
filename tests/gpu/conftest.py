"""Every test needs a driver with a device, and ends with as much alive as it began with."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import cuda_driver
import pytest
import viaduct as via

COUNTED = (
    "live_arrays",
    "live_storages",
    "outstanding_exports",
    "pending_releases",
    "host_bytes",
    "pinned_bytes",
    "device_bytes",
    "managed_bytes",
)


def alive() -> dict[str, int]:
    stats = via.stats()
    return {name: stats[name] for name in COUNTED}


def more_than(before: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in alive().items() if count > before[name]}


@pytest.fixture(autouse=True)
def a_device_is_there_and_nothing_leaks() -> Iterator[None]:
    if cuda_driver.opened() is None:
        pytest.skip("there is no CUDA driver with a device")
    cuda_driver.use_device(0)
    before, misused = alive(), cuda_driver.misused()
    yield
    deadline = time.monotonic() + 5
    while more_than(before) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.005)
    assert not more_than(before)
    assert cuda_driver.misused() == misused
