"""Arrays of a device that other processes use in place, and when their owners get the memory back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import viaduct as via
from cuda_driver import Block, ForeignStream, hold
from cuda_driver import release as let_stream_go
from example_tools import run_apart
from gpu_peers import counted, on_host
from other_process import (
    Layout,
    Other,
    content,
    fill,
    layout_of,
    make_on_device,
    release,
    release_and_count_pending,
    take,
)


@pytest.fixture
def other() -> Iterator[Other]:
    other = Other()
    yield other
    other.end("kill")


def exported(released: list[int], nbytes: int = 4096) -> via.Array:
    """Bytes of a device whose owner notes that it got them back."""
    block = Block(nbytes)
    return via.wrap(block.ptr, nbytes, "uint8", device="cuda:0", owner=block, release=lambda: released.append(1))


def awaited(released: list[int]) -> bool:
    deadline = time.monotonic() + 20
    while not released and time.monotonic() < deadline:
        time.sleep(0.002)
        via.stats()
    return released == [1]


def test_what_the_other_process_writes_is_written_here(other: Other) -> None:
    a = counted(24, shape=(2, 3, 4))
    for view in (a, a.T, a[:, 1:, ::2], a.as_readonly()):
        assert other(take, view.export_ipc()) == layout_of(view)
        assert other(content) == on_host(view)
    other(take, a[1].export_ipc())
    other(fill, 7)
    assert a.copy("cpu")[:, 0, 0].tolist() == [0, 7]
    assert other(release) == 0


@pytest.mark.parametrize("how", ["return", "exit", "kill"])
def test_the_owner_is_reported_once_when_the_last_importer_has_ended(other: Other, how: str) -> None:
    released: list[int] = []
    a = exported(released)
    other(take, a.export_ipc())
    del a
    assert via.stats()["pending_releases"] == 1
    time.sleep(0.05)
    assert not released
    other.end(how)
    assert awaited(released)


def test_the_owner_is_reported_when_the_importer_releases(other: Other) -> None:
    released: list[int] = []
    a = exported(released)
    description = a.export_ipc()
    for _ in range(3):
        other(take, description)
    del a
    assert not released and other(release) == 0
    assert awaited(released)


def test_a_description_that_nobody_took_holds_nothing_up() -> None:
    released: list[int] = []
    a = exported(released)
    a.export_ipc()
    del a
    assert released == [1]


@pytest.mark.parametrize("how", ["return", "kill"])
def test_an_exporter_ends_at_once_though_somebody_still_has_its_memory(other: Other, how: str) -> None:
    description = other(make_on_device, 4096)
    a = via.import_ipc(description)
    a.fill(3)
    assert other(release_and_count_pending) == 1
    before = time.monotonic()
    assert other.end(how) == (-9 if how == "kill" else 0)
    assert time.monotonic() - before < 20
    assert a.copy("cpu")[-1].item() == 3


def test_what_is_still_being_written_is_described_once_it_is_there(other: Other) -> None:
    block, stream = Block(64), ForeignStream()
    a = via.wrap(block.ptr, 64, "uint8", device="cuda:0", owner=block)
    hold(stream.number)
    stream.fill(block.ptr, 5, 64)
    a.set_ready(stream)
    assert not a.ready
    let_stream_go(stream.number)
    assert other(take, a.export_ipc()) == Layout((64,), (1,), "uint8", "cuda:0", False)
    assert other(content) == bytes([5]) * 64
    stream.destroy()


def test_memory_of_a_device_goes_from_its_own_process_to_others_only(other: Other) -> None:
    a = exported([])
    with pytest.raises(BufferError, match="this process"):
        via.import_ipc(a.export_ipc())
    imported = via.import_ipc(other(make_on_device, 4096))
    with pytest.raises(NotImplementedError, match="another process"):
        imported.export_ipc()


@pytest.mark.parametrize("kind", ["pinned", "managed", "pool"])
def test_other_memory_is_refused_by_name(kind: str) -> None:
    a = via.empty(64, "uint8", device="cuda:0", memory=kind)
    with pytest.raises(NotImplementedError, match="VIA_MEMORY"):
        a.export_ipc()


def test_the_example_shares_memory_of_a_device_too(tmp_path: Path) -> None:
    output = run_apart("two_processes", folder=tmp_path)
    assert output.startswith(f"{via.device_count()} CUDA device(s) found\n")
    assert output.count("has filled row 1 in place: [1.0, 7.0, 1.0]") == output.count("still reads 7.0") == 2
    assert "memory of cuda:0: 1000000 bytes" in output
    assert output.endswith("left alive: 0 arrays; the child ended with 0\n")
