"""Arrays that other processes use in place: what is written there, and what becomes of them when somebody ends."""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from other_process import (
    SPAWN,
    Other,
    add_by_numpy,
    bytes_of,
    content,
    hand_on,
    layout_of,
    make,
    release,
    take,
    write_by_numpy,
)
from peers import grid


@pytest.fixture(scope="module")
def importer() -> Iterator[Other]:
    """One that stays for all of the tests: a Python takes long to start."""
    other = Other()
    yield other
    assert other.end() == 0


def shared(shape: Any = (3, 4), dtype: str = "float32") -> via.Array:
    """0, 1, 2, ... up to 99, and again, in memory that can be shared."""
    a = via.empty(shape, dtype, memory="shared")
    flat = a.reshape(a.size)
    for i in range(min(100, a.size)):
        flat[i::100].fill(i)
    return a


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def files_in_shared_memory(nbytes: int) -> set[str]:
    """Of that size, to the page: other programs have files there, which come and go."""
    found = set()
    for file in Path("/dev/shm").iterdir():
        with suppress(FileNotFoundError):
            if 0 <= file.stat().st_size - nbytes < mmap.PAGESIZE:
                found.add(file.name)
    return found


# ------------------------------------------------------------------------------------------------ in place


def test_what_the_other_process_writes_through_numpy_is_written_here(importer: Other) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    a = shared()
    assert importer(take, a.export_ipc()) == layout_of(a)
    importer(add_by_numpy, 100)
    assert a.tolist() == [[100, 101, 102, 103], [104, 105, 106, 107], [108, 109, 110, 111]]
    a[0, 0] = -1
    assert importer(content) == bytes_of(a)
    assert importer(release) == 0


def test_slices_and_column_major_order_arrive_as_they_lie(importer: Other) -> None:
    a = shared((4, 6, 2), "int16")
    for view in (a.T, a[1:, ::-2], a[2, 3], a.transpose(1, 0, 2)[::2], a[:0], a.view("uint8")):
        assert importer(take, view.export_ipc()) == layout_of(view)
        assert importer(content) == bytes_of(view)
    importer(release)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "complex64", "bool", "record12", "float4_e2m1fn"])
def test_every_kind_of_element_arrives(importer: Other, dtype: str) -> None:
    a = via.empty((2, 4), dtype, memory="shared")
    a.view("uint8").reshape(-1)[:] = via.asarray(bytes(range(a.nbytes)))
    assert importer(take, a.export_ipc()).dtype == dtype
    assert importer(content) == bytes(range(a.nbytes))
    importer(release)


def test_read_only_stays_so_and_the_memory_itself_cannot_be_written(importer: Other) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    a = shared()
    assert importer(take, a.as_readonly().export_ipc()).readonly
    assert "read-only" in importer(write_by_numpy)
    assert importer(take, a.export_ipc()).readonly is False and importer(write_by_numpy) == ""
    importer(release)
    assert bytes_of(a) == bytes(48)


def test_a_second_import_in_one_process_is_the_same_memory_elsewhere() -> None:
    a = shared()
    b = via.import_ipc(a.export_ipc())
    assert b.ptr != a.ptr and "owned by another process" in repr(b)
    b[0, 0] = 7
    assert a[0, 0].item() == 7


def sum_of_what_comes(descriptions: Any, sums: Any) -> None:
    for description in iter(descriptions.get, None):
        sums.put(sum(via.import_ipc(description).tolist()))


def test_descriptions_go_through_queues_and_only_they_do() -> None:
    descriptions, sums = SPAWN.Queue(), SPAWN.Queue()
    process = SPAWN.Process(target=sum_of_what_comes, args=(descriptions, sums))
    process.start()
    arrays = [shared(100 * (i + 1), "int32") for i in range(3)]
    for a in arrays:
        assert len(pickle.dumps(a.export_ipc())) < 400
        descriptions.put(a.export_ipc())
    descriptions.put(None)
    assert [sums.get(timeout=60) for _ in arrays] == [sum(a.tolist()) for a in arrays]
    process.join(60)
    assert process.exitcode == 0


def test_descriptions_are_taken_from_whatever_exports_bytes() -> None:
    a = shared()
    description = a.export_ipc()
    for given in (bytearray(description), memoryview(description), via.asarray(description)):
        assert via.import_ipc(given).tolist() == a.tolist()


# ------------------------------------------------------------------------------------------------ who may end first


@pytest.mark.parametrize("how", ["return", "exit", "kill"])
def test_memory_outlives_the_process_that_made_it_and_can_be_handed_on(importer: Other, how: str) -> None:
    before = files_in_shared_memory(5000)
    exporter = Other()
    description = exporter(make, 5000, 7)
    a = via.import_ipc(description)
    assert exporter.end(how) == (-9 if how == "kill" else 0)
    with pytest.raises(BufferError, match="no longer shared"):
        via.import_ipc(description)
    assert bytes_of(a) == bytes([7]) * 5000
    importer(take, a.export_ipc())
    del a
    assert importer(content) == bytes([7]) * 5000
    assert importer(release) == 0
    assert files_in_shared_memory(5000) <= before


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_an_importer_may_die_and_the_next_one_comes(importer: Other, how: str) -> None:
    a = shared()
    dying = Other()
    dying(take, a.export_ipc())
    dying.end(how)
    importer(take, a.export_ipc())
    assert importer(content) == bytes_of(a)
    importer(release)


def test_memory_goes_with_the_last_array_and_leaves_no_descriptor(importer: Other) -> None:
    before = open_descriptors()
    a = shared(1000, "uint8")
    assert via.stats()["host_bytes"] == 1000
    description = a.export_ipc()
    importer(take, description)
    b = via.import_ipc(importer(hand_on))
    assert open_descriptors() == before + 2
    assert importer(release) == 0
    del a, b
    assert open_descriptors() == before
    with pytest.raises(BufferError, match="no longer shared"):
        via.import_ipc(description)


def test_a_forked_child_hands_its_parents_memory_on_under_its_own_name() -> None:
    a = shared(10, "uint8")
    into, out = os.pipe()
    back, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(end, a[2:].export_ipc())
        os.read(into, 1)
        os._exit(0)
    b = via.import_ipc(os.read(back, 4096))
    b.fill(9)
    assert a.tolist() == [0, 1, *[9] * 8]
    os.write(out, b".")
    assert os.waitpid(child, 0)[1] == 0
    for descriptor in (into, out, back, end):
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------ what is refused


def test_other_memory_is_refused_and_the_text_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_bytes(bytes(64))
    for a in (grid(), via.empty(4, "int8"), via.open(tmp_path / "numbers", dtype="uint8", shape=64).array()):
        with pytest.raises(NotImplementedError, match="VIA_MEMORY_SHARED"):
            a.export_ipc()
    with pytest.raises(RuntimeError, match="memory is .shared.; expected memory of the device"):
        via.empty(4, "int8", device="cuda:1", memory="shared")


def test_bytes_that_are_no_description_are_refused() -> None:
    description = shared().export_ipc()
    newer = description[:7] + b"9" + description[8:]
    with pytest.raises(via.VersionError, match="version of the description is 9"):
        via.import_ipc(newer)
    for wrong in (b"", bytes(len(description)), description[:-1], description + b"\0", description[:20] + b"\xff" * 20):
        with pytest.raises(via.ExchangeError, match="no description"):
            via.import_ipc(wrong)
    for kind in (None, 7, "text", [description], memoryview(bytes(2000))[::2]):
        with pytest.raises(TypeError, match="import_ipc: description"):
            via.import_ipc(kind)  # type: ignore[arg-type]


def shared_files() -> dict[int, int]:
    """The inodes of this process's files of shared memory, by descriptor."""
    found = {}
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if "viaduct-" in os.readlink(each):
                found[int(each.name)] = each.stat().st_ino
    return found


def test_nobody_can_make_shared_memory_smaller_or_larger() -> None:
    """No process dies of another one's ftruncate."""
    before = shared_files()  # what other tests have made may not be closed yet
    a = shared(mmap.PAGESIZE, "uint8")
    (file,) = shared_files().items() - before.items()
    for size in (0, 2 * mmap.PAGESIZE):
        with pytest.raises(PermissionError):
            os.ftruncate(file[0], size)
    assert a[-1].item() == 95
