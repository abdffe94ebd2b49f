"""Files to and from a device, from Python."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import cuda_driver
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


@pytest.mark.parametrize("memory", ["pinned", "managed"])
def test_an_archive_of_memory_of_the_host_is_saved_after_what_others_write_to_it(tmp_path: Path, memory: str) -> None:
    array = via.zeros(1000, "uint8", memory=memory)
    cuda_driver.use_device(0)
    with cuda_driver.held(1):
        cuda_driver.call("cuMemsetD8Async", ctypes.c_uint64(array.ptr), 7, ctypes.c_size_t(1000), ctypes.c_void_p(1))
        saving = threading.Thread(target=via.save, args=(tmp_path / "a.safetensors", {"a": array}))
        saving.start()
        saving.join(0.05)
        assert saving.is_alive()
    saving.join()
    assert via.load(tmp_path / "a.safetensors")["a"].tolist() == [7] * 1000


def test_archives_take_streams_of_others_and_work_inside_of_callbacks(tmp_path: Path) -> None:
    own = via.Stream(0)
    foreign = type("Foreign", (), {"cuda_stream": own.handle})()
    array = via.ones(1000, "float32", device="cuda:0")
    via.save(tmp_path / "a.safetensors", {"a": array}, stream=foreign)
    found: list[Any] = []

    def work(_: via.Task) -> None:
        try:
            loaded = via.load(tmp_path / "a.safetensors", device="cuda:0", stream=foreign)["a"]
            via.save(tmp_path / "b.safetensors", {"a": loaded}, stream=foreign)
        except via.Error as error:
            found.append(error)
        ended.set()

    for _ in range(5):
        ended = threading.Event()
        task = via.copy_submit(via.empty(1 << 22, "uint8"), via.empty(1 << 22, "uint8"))
        task.add_done_callback(work)
        assert ended.wait(20)
    assert not found
    assert via.load(tmp_path / "b.safetensors")["a"].tolist() == [1] * 1000
