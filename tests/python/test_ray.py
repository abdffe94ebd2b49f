"""Ray keeps arrays in memory that its processes share: each reads the elements where they lie, and none may write them.

Ray is not among what the tests are given: `./dev engines` installs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

import engines
import pytest
import viaduct as via
from engines import DTYPES, LAYOUTS, Seen
from peers import content, grid

ray = pytest.importorskip("ray", reason="Ray is not installed: ./dev engines installs it")

There: TypeAlias = tuple[Seen, int, str]


@pytest.fixture(scope="module")
def see_there() -> Iterator[Any]:
    """A function that runs in another process: what it was given, its address within a page, and the file mapped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            num_cpus=1,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            configure_logging=False,
        )
        yield ray.remote(look_there)
        ray.shutdown()


def look_there(a: via.Array) -> There:
    return engines.look(a), a.ptr, mapped_at(a.ptr)


def mapped_at(address: int) -> str:
    """The file, or the region, of this process that an address is in."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(each, 16) for each in line.split()[0].split("-"))
            if first <= address < last:
                return line[73:].strip()
    return "nothing"


def is_shared(place: str) -> bool:
    return "/dev/shm" in place or "plasma" in place or place == "(deleted)"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_process_sees_the_same_array(see_there: Any, layout: str) -> None:
    a = LAYOUTS[layout](grid())
    seen = ray.get(see_there.remote(a))[0]
    assert seen.process != os.getpid() and seen[1:4:2] == (a.shape, seen.readonly)
    assert (seen.dtype, seen.content) == (a.dtype_name, content(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type_arrives(see_there: Any, dtype: str) -> None:
    a = engines.of_dtype(dtype)
    seen = ray.get(see_there.remote(a))[0]
    assert (seen.dtype, seen.content) == (dtype, content(a))


@pytest.mark.parametrize("layout", ["dense", "transposed", "strided"])
def test_a_large_array_is_read_where_it_lies_by_every_process(see_there: Any, layout: str) -> None:
    a = LAYOUTS[layout](engines.large())
    reference = ray.put(a)
    here, again = ray.get(reference), ray.get(reference)
    assert here.ptr == again.ptr and is_shared(mapped_at(here.ptr))
    seen, _, place = ray.get(see_there.remote(reference))
    assert is_shared(place) and seen.aligned and seen.content == content(a)


def test_what_is_shared_cannot_be_written(see_there: Any) -> None:
    found = ray.get(ray.put(engines.large()))
    assert found.readonly
    with pytest.raises(via.ReadOnlyError):
        found.fill(0)


def raise_there(description: bytes) -> int:
    """By one, in place."""
    numbers = via.import_ipc(description).numpy()
    numbers += 1
    return os.getpid()


def test_an_array_of_its_own_memory_is_written_in_place(see_there: Any) -> None:
    pytest.importorskip("numpy", reason="NumPy is not installed")
    a = via.empty(1000, "float32", memory="shared")
    a.fill(3)
    assert ray.get(ray.remote(raise_there).remote(a.export_ipc())) != os.getpid()
    assert set(a.numpy()) == {4}


def test_a_view_of_it_holds_the_memory_after_all_else_is_gone(see_there: Any) -> None:
    reference = ray.put(engines.large())
    view = ray.get(reference)[3, ::2]
    del reference
    for _ in range(3):
        ray.get(ray.put(engines.large()))
    assert view[1].item() == 3 * 1024 + 2


def test_the_program_that_the_documentation_shows_runs(see_there: Any) -> None:
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    found = engines.run_shown("ray", ray=ray, pixels=numpy.ones((480, 640), "float32"))
    assert found["total"] == 480 * 640
