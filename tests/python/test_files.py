"""Files from Python: open, map, read, write, and maps over what need not fit in memory."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viaduct as via

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(60_000, dtype=np.float32).reshape(1000, 60))
    return path


def test_a_npy_file_says_what_it_holds(numbers: Path) -> None:
    with via.open(numbers) as file:
        assert (file.shape, file.dtype, file.order, file.closed) == ((1000, 60), np.float32, "C", False)
        assert file.nbytes == numbers.stat().st_size
    assert file.closed
    for ask in (lambda: file.shape, lambda: file.nbytes, file.array, file.read, lambda: file.write(b"x")):
        with pytest.raises(via.InvalidArgumentError):
            ask()


def test_a_mapped_array_outlives_its_file_and_is_read_only(numbers: Path) -> None:
    with via.open(numbers) as file:
        array = file.array()
    assert array.readonly and np.array_equal(array.numpy(), np.load(numbers))
    numbers.unlink()
    assert array[999, 59].item() == 59_999


def test_modes_are_those_of_memmap(numbers: Path) -> None:
    via.open(numbers, "c").array().fill(7)
    assert np.load(numbers)[0, 1] == 1
    via.open(numbers, "r+").array()[0] = 7
    assert np.load(numbers)[0].tolist() == [7] * 60
    with pytest.raises(via.ReadOnlyError):
        via.open(numbers, "c").write(np.zeros(3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_raw_file_is_what_open_is_told(tmp_path: Path, order: Any) -> None:
    values = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    path = tmp_path / "raw"
    path.write_bytes(values.tobytes(order))
    file = via.open(path, dtype="int16", shape=(2, -1, 4), order=order)
    assert file.shape == (2, 3, 4) and file.order == order
    assert np.array_equal(file.array().numpy(), values) and np.array_equal(file.read().numpy(), values)
    plain = via.open(path)
    assert plain.shape == (48,) and plain.dtype == np.uint8
    assert plain.array(-1, np.int16, 40).tolist() == np.frombuffer(values.tobytes(order), np.int16)[20:].tolist()


def test_reads_go_to_any_array_and_any_offset(numbers: Path) -> None:
    file = via.open(numbers)
    rows = np.zeros((10, 60), np.float32)
    assert np.array_equal(file.read(rows, offset=240 * 5).numpy(), np.load(numbers)[5:15]) and rows[0, 0] == 300
    turned = np.zeros((60, 10), np.float32).T
    file.read(turned)
    assert np.array_equal(turned, np.load(numbers)[:10])
    assert (
        file.read(shape=(2,), dtype="int32", offset=4).tolist() == np.array([1, 2], np.float32).view(np.int32).tolist()
    )
    with pytest.raises(via.InvalidArgumentError, match="which has"):
        file.read(rows, offset=240 * 991)


@pytest.mark.parametrize("options", [{}, {"durable": True}, {"atomic": True}, {"atomic": True, "page_cache": "avoid"}])
def test_what_is_written_numpy_reads(tmp_path: Path, options: dict[str, Any]) -> None:
    values = np.arange(600_000, dtype=np.float64).reshape(1000, 600)
    path = tmp_path / "written.npy"
    with via.open(path, "w", dtype=float, shape=(600, 1000), order="F", **options) as file:
        file.write(values.T)
    assert np.array_equal(np.load(path), values.T)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["written.npy"]


def test_tasks_read_and_write_behind_the_caller(numbers: Path, tmp_path: Path) -> None:
    array = via.empty((1000, 60), "float32")
    task = via.open(numbers).read_submit(array)
    copy = via.open(tmp_path / "copy", "w", dtype="float32", shape=(1000, 60)).write_submit(array)
    copy.wait()
    assert task.done() and copy.progress() == (240_000, 240_000)
    assert (tmp_path / "copy").read_bytes() == np.load(numbers).tobytes()


def test_errors_are_those_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        via.open(tmp_path / "none")
    assert caught.value.errno == 2 and isinstance(caught.value, via.FileError)
    for options in ({"mode": "rw"}, {"order": "K"}, {"format": "csv"}, {"page_cache": "no"}, {"mode": "w"}):
        with pytest.raises(via.InvalidArgumentError, match="open"):
            via.open(tmp_path / "none", **options)
    assert not list(tmp_path.iterdir())


def test_builtin_open_is_not_hidden() -> None:
    assert open is builtins.open


# ------------------------------------------------------------------------------------------------- out of core


@pytest.mark.parametrize("block", [1, 7, 250, 999, 1000, 5000])
@pytest.mark.parametrize("depth", [3, 4, 9])
def test_a_file_is_mapped_block_by_block(numbers: Path, tmp_path: Path, block: int, depth: int) -> None:
    output = tmp_path / "squares.npy"
    told: list[tuple[int, int]] = []
    starts = []
    for part in via.stream_blocks(
        numbers, block, output=output, depth=depth, progress=lambda done, total: told.append((done, total))
    ):
        starts.append((part.start, part.stop))
        part.write(np.asarray(part.array, dtype=np.float64)[:, :2] ** 2)
    assert starts == [(at, min(at + block, 1000)) for at in range(0, 1000, block)]
    assert np.array_equal(np.load(output), np.load(numbers)[:, :2].astype(np.float64) ** 2)
    assert told[-1] == (240_000, 240_000) and len(told) == len(starts)


def test_a_block_may_be_worked_on_in_place(numbers: Path, tmp_path: Path) -> None:
    for part in via.stream_blocks(numbers, 3, output=tmp_path / "twice.npy", depth=3):
        values = part.array.numpy()
        values *= 2
        part.write(part.array)
    assert np.array_equal(np.load(tmp_path / "twice.npy"), 2 * np.load(numbers))


def test_blocks_take_so_many_buffers_whatever_the_file(numbers: Path) -> None:
    before = via.stats()["host_bytes"]
    most = 0
    for part in via.stream_blocks(numbers, 10, depth=3):
        most = max(most, via.stats()["host_bytes"] - before)
    del part
    assert most == 3 * 10 * 240
    assert via.stats()["host_bytes"] == before


def test_leaving_early_ends_what_is_under_way(numbers: Path, tmp_path: Path) -> None:
    before = via.stats()
    for part in via.stream_blocks(numbers, 10, output=tmp_path / "out"):
        part.write(part.array)
        if part.start == 50:
            break
    del part
    after = via.stats()
    assert (after["live_arrays"], after["host_bytes"]) == (before["live_arrays"], before["host_bytes"])


def test_what_cannot_be_cut_into_rows_is_refused(numbers: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "scalar.npy", np.float32(3))
    np.save(tmp_path / "turned.npy", np.asfortranarray(np.zeros((3, 4))))
    np.save(tmp_path / "empty.npy", np.zeros((0, 4)))
    with pytest.raises(via.ShapeError):
        next(via.stream_blocks(tmp_path / "scalar.npy", 1))
    with pytest.raises(via.NeedsCopyError, match="Fortran"):
        next(via.stream_blocks(tmp_path / "turned.npy", 1))
    assert not list(via.stream_blocks(tmp_path / "empty.npy", 1))
    for block, depth in ((0, 4), (1, 2)):
        with pytest.raises(via.InvalidArgumentError):
            next(via.stream_blocks(numbers, block, depth=depth))
    part = next(via.stream_blocks(numbers, 10))
    with pytest.raises(via.InvalidArgumentError, match="output"):
        part.write(part.array)
    part = next(via.stream_blocks(numbers, 10, output=tmp_path / "out"))
    with pytest.raises(via.ShapeError, match="10 rows"):
        part.write(part.array[:3])


def test_tqdm_shows_the_bytes_where_it_is_installed(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        made: list[Bar] = []  # noqa: RUF012

        def __init__(self, total: int, **_: object) -> None:
            self.total, self.done, self.closed = total, 0, False
            self.made.append(self)

        def update(self, count: int) -> None:
            self.done += count

        def close(self) -> None:
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", type("Module", (), {"tqdm": Bar}))
    assert len(list(via.stream_blocks(numbers, 100, progress=True))) == 10
    (bar,) = Bar.made
    assert (bar.total, bar.done, bar.closed) == (240_000, 240_000, True)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert len(list(via.stream_blocks(numbers, 100, progress=True))) == 10


@pytest.mark.parametrize("count", [0, 1, 2 << 20, (5 << 20) + 17])
def test_the_example_in_c_maps_a_file(tmp_path: Path, count: int) -> None:
    values = np.arange(count, dtype=np.float32)
    np.save(tmp_path / "in.npy", values)
    program = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test")) / "examples" / "stream_blocks"
    subprocess.run([program, tmp_path / "in.npy", tmp_path / "out.npy"], check=True, stderr=subprocess.DEVNULL)
    assert np.array_equal(np.load(tmp_path / "out.npy"), 2 * values)
