"""What `./dev test` takes of the tests that have many cases; `./dev test --all` takes every one."""

from __future__ import annotations

import gc
import random

import pytest
from repeats import QUICK


def each_value_once(items: list[pytest.Item]) -> list[pytest.Item]:
    """Cases of one test in which each value of each parameter occurs, mixed with others': the same in each run."""
    mixed, seen, kept = list(items), set(), set()
    random.Random(len(items)).shuffle(mixed)
    for item in mixed:
        values = {(name, repr(value)) for name, value in item.callspec.params.items()}  # type: ignore[attr-defined]
        if not values <= seen:
            seen |= values
            kept.add(item)
    return [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Takes the thousands of tests out of sight of the collections of garbage that many of them ask for."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not QUICK:
        return
    tests: dict[object, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            tests.setdefault((item.path, item.parent, item.function), []).append(item)  # type: ignore[attr-defined]
    kept = {item for cases in tests.values() for item in each_value_once(cases)}
    left = {item for cases in tests.values() for item in cases} - kept
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
