"""Files to and from a device, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import viaduct as via

np = pytest.importorskip("numpy")


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(3_000_000, dtype=np.float32).reshape(3000, 1000))
    return path


def test_a_file_becomes_an_array_on_a_device_and_back(numbers: Path, tmp_path: Path) -> None:
    with via.open(numbers) as file:
        array = file.read(device="cuda:0")
        assert array.device == "cuda:0" and np.array_equal(array.copy(device="cpu").numpy(), np.load(numbers))
        part = file.read(shape=(10, 1000), offset=4000 * 7, device="cuda:0")
        assert np.array_equal(part.copy(device="cpu").numpy(), np.load(numbers)[7:17])
    with via.open(tmp_path / "transposed.npy", "w", dtype="float32", shape=(1000, 3000), atomic=True) as file:
        file.write(array.T)
    assert np.array_equal(np.load(tmp_path / "transposed.npy"), np.load(numbers).T)


def test_transfers_are_ordered_by_a_stream(numbers: Path, tmp_path: Path) -> None:
    stream = via.Stream(0)
    array = via.empty((3000, 1000), "float32", device="cuda:0")
    other = via.empty((3000, 1000), "float32", device="cuda:0")
    via.open(numbers).read(array, stream=stream)
    via.copy(other, array, stream=stream)
    task = via.open(tmp_path / "copy", "w", dtype="float32", shape=(3000, 1000)).write_submit(other, stream=stream)
    task.wait()
    assert (tmp_path / "copy").read_bytes() == np.load(numbers).tobytes()


@pytest.mark.parametrize("block", [100, 999, 3000])
def test_blocks_pass_through_a_device(numbers: Path, tmp_path: Path, block: int) -> None:
    output = tmp_path / "copy.npy"
    result = via.empty((block, 1000), "float32", device="cuda:0")
    for part in via.stream_blocks(numbers, block, "cuda:0", output=output):
        rows = part.stop - part.start
        via.copy(result[:rows], part.array, stream=via.Stream.legacy)
        part.write(part.array)
    assert np.array_equal(np.load(output), np.load(numbers))


@pytest.mark.parametrize("index", [np.s_[:, 10:20], np.s_[::-3, 5], np.s_[100:2000:7, ::2], np.s_[5:6]])
def test_windows_pass_to_a_device_and_back(numbers: Path, index: object) -> None:
    values = np.load(numbers)
    with via.open(numbers, "r+") as file:
        array = file[index].read(device="cuda:0")
        assert np.array_equal(array.copy(device="cpu").numpy(), values[index])
        array.fill(7)
        file[index].write(array)
    values[index] = 7
    assert np.array_equal(np.load(numbers), values)


def test_columns_pass_through_a_device_block_by_block(numbers: Path) -> None:
    parts = []
    with via.open(numbers) as file:
        for part in via.stream_blocks(file[:, 900:], 700, "cuda:0"):
            parts.append(part.array.copy(device="cpu").numpy())
    assert np.array_equal(np.concatenate(parts), np.load(numbers)[:, 900:])
