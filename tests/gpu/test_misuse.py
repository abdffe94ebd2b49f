"""The rows of tests/misuse/table.tsv in Python: each wrong call is an exception of the kind that the table says."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from cuda_driver import held
from viaduct import _viaduct as raw

TABLE = Path(__file__).resolve().parents[1] / "misuse" / "table.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
PYTHON = ROWS[0].index("python")
SAID = {row[0]: row for row in ROWS[1:] if not row[PYTHON].startswith("- ")}
NUMBERS = (ctypes.c_float * 12)()
ADDRESS = ctypes.addressof(NUMBERS)

calls: dict[str, Callable[[Path], object]] = {}


def wrong(call: Callable[[Path], object]) -> Callable[[Path], object]:
    calls[call.__name__] = call
    return call


def grid() -> via.Array:
    return via.asarray((ctypes.c_float * 12)()).reshape(3, 4)


def wrap(**changes: Any) -> via.Array:
    arguments: dict[str, Any] = {"ptr": ADDRESS, "shape": (3, 4), "dtype": "float32"}
    return via.wrap(**arguments | changes)


def on_device(nbytes: int) -> via.Array:
    return via.empty(nbytes, "int8", device="cuda:0")


def file_of(folder: Path, content: bytes, name: str = "numbers.raw") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


# ---------------------------------------------------------------------------------------------------- handles


@wrong
def null_array(_: Path) -> None:
    via.copy(grid(), None)  # type: ignore[arg-type]


@wrong
def null_in_list(_: Path) -> None:
    raw.via_copy_batch([grid(), None], [grid(), grid()], None)  # type: ignore[list-item]


@wrong
def wrong_handle(_: Path) -> None:
    raw.via_array_permute(raw.via_batch_create(), None)  # type: ignore[arg-type]


@wrong
def closed_file(folder: Path) -> None:
    with via.open(file_of(folder, bytes(48))) as file:
        pass
    file.read(grid())


# ---------------------------------------------------------------------------------------------------- addresses


@wrong
def null_address(_: Path) -> None:
    wrap(ptr=0)


@wrong
def unreadable_address(_: Path) -> None:
    wrap(ptr=4096)


@wrong
def freed_host_memory(_: Path) -> None:
    block = mmap.mmap(-1, 1 << 16)
    view = (ctypes.c_char * (1 << 16)).from_buffer(block)
    address = ctypes.addressof(view)
    del view
    block.close()
    wrap(ptr=address, shape=1 << 16, dtype="int8")


@wrong
def freed_device_memory(_: Path) -> None:
    owner = on_device(4 << 20)
    address = owner.ptr
    del owner
    wrap(ptr=address, device="cuda:0")


@wrong
def past_the_allocation(_: Path) -> None:
    owner = on_device(4 << 20)
    wrap(ptr=owner.ptr, shape=(3, 2 << 20), dtype="int8", device="cuda:0")


@wrong
def past_the_address_space(_: Path) -> None:
    wrap(ptr=(1 << 64) - 64, shape=17, check=False)


@wrong
def host_memory_as_a_devices(_: Path) -> None:
    wrap(device="cuda:0")


@wrong
def memory_of_another_device(_: Path) -> None:
    owner = on_device(64)
    wrap(ptr=owner.ptr, shape=64, dtype="int8", device="cuda:1")


@wrong
def device_memory_as_the_hosts(_: Path) -> None:
    _ = on_device(64).__array_interface__  # type: ignore[assignment]


@wrong
def negative_count(_: Path) -> None:
    raw.via_memcpy(ADDRESS, ADDRESS + 4, -4, None)


# ---------------------------------------------------------------------------------------------------- shapes


@wrong
def null_shape(_: Path) -> None:
    wrap(shape=None)


@wrong
def negative_extent(_: Path) -> None:
    wrap(shape=(3, -4))


@wrong
def too_many_axes(_: Path) -> None:
    wrap(shape=(1,) * 65)


@wrong
def huge_shape(_: Path) -> None:
    wrap(shape=(1 << 40, 1 << 40))


@wrong
def huge_allocation(_: Path) -> None:
    via.empty(1 << 60, "int8")


@wrong
def copy_off_by_one(_: Path) -> None:
    via.copy(grid()[:, :3], grid())


@wrong
def row_past_the_end(_: Path) -> None:
    via.copy_indexed(grid(), None, grid(), [0, 3])


@wrong
def reshape_off_by_one(_: Path) -> None:
    grid().reshape(13)


@wrong
def broadcast_off_by_one(_: Path) -> None:
    grid().broadcast_to(3, 5)


@wrong
def reshape_of_a_transpose(_: Path) -> None:
    grid().T.reshape(12)


@wrong
def index_past_the_end(_: Path) -> None:
    grid()[3]


@wrong
def axis_twice(_: Path) -> None:
    grid().transpose(1, 1)


@wrong
def field_past_the_end(_: Path) -> None:
    grid().field(1, "float32")


# ---------------------------------------------------------------------------------------------------- dtypes, options


@wrong
def unknown_dtype(_: Path) -> None:
    wrap(dtype=5)


@wrong
def unknown_dtype_name(_: Path) -> None:
    wrap(dtype="float33")


@wrong
def copy_to_another_dtype(_: Path) -> None:
    via.copy(grid().view("int32"), grid())


@wrong
def unknown_flag(_: Path) -> None:
    wrap(colour=1)


@wrong
def future_version(_: Path) -> None:
    raw.via_require(raw.VIA_VERSION_MAJOR + 1, 0)


@wrong
def negative_thread_count(_: Path) -> None:
    via.set_num_threads(-1)


# ---------------------------------------------------------------------------------------------------- writes, exchange


@wrong
def read_only_destination(_: Path) -> None:
    via.copy(grid().as_readonly(), grid())


@wrong
def read_only_fill(_: Path) -> None:
    grid().as_readonly().fill(1)


@wrong
def overlap(_: Path) -> None:
    both = grid()
    via.copy(both[:2], both[1:])


@wrong
def destination_of_one_element(_: Path) -> None:
    via.copy(wrap(strides=(0, 0)), grid())


@wrong
def read_only_legacy_tensor(_: Path) -> None:
    grid().as_readonly().__dlpack__()


@wrong
def null_tensor(_: Path) -> None:
    via.from_dlpack(None)  # type: ignore[arg-type]


@wrong
def tensor_of_a_future_version(_: Path) -> None:
    capsule = grid().__dlpack__(max_version=(1, 0))
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, b"dltensor_versioned")
    ctypes.c_uint32.from_address(address).value = 2
    via.from_dlpack(capsule)


@wrong
def unshared_memory(_: Path) -> None:
    grid().export_ipc()


@wrong
def null_description(_: Path) -> None:
    via.import_ipc(None)  # type: ignore[arg-type]


@wrong
def damaged_description(_: Path) -> None:
    shared = via.empty(4, "int8", memory="shared")
    description = bytearray(shared.export_ipc())
    description[-1] ^= 1
    via.import_ipc(description)


# ---------------------------------------------------------------------------------------------------- devices


@wrong
def strides_too_few(_: Path) -> None:
    wrap(strides=(4,))


@wrong
def slice_too_few(_: Path) -> None:
    raw.via_array_slice(grid(), [1], None, None)


@wrong
def axes_too_few(_: Path) -> None:
    grid().transpose(0)


@wrong
def window_too_few(folder: Path) -> None:
    file = via.open(file_of(folder, bytes(48)))
    raw.via_file_window(file, 0, raw.VIA_FLOAT32, (3, 4), [1], None, None)


@wrong
def batch_of_unequal_lists(_: Path) -> None:
    raw.via_copy_batch([grid()], [grid(), grid()], None)


@wrong
def device_memory_as_elements(_: Path) -> None:
    memoryview(on_device(64))


@wrong
def absent_device(_: Path) -> None:
    via.Stream("cuda:99")


@wrong
def stream_of_another_device(_: Path) -> None:
    raw.via_stream_set_current(0, via.Stream("cuda:1"))


@wrong
def missing_allocator(_: Path) -> None:
    via.memory(alloc=lambda nbytes, alignment, stream: 0)


# ---------------------------------------------------------------------------------------------------- tasks, callbacks


def submit_behind(stream: via.Stream) -> via.Task:
    """A copy that cannot begin before the stream, which is held, is released."""
    via.fill(on_device(64), 0, stream=stream)
    return via.copy_submit(grid(), grid(), stream=stream)


@wrong
def cancelled_task(_: Path) -> None:
    stream = via.Stream()
    with held(stream.handle):
        task = submit_behind(stream)
        task.cancel()
    task.wait()


@wrong
def wait_in_a_callback(_: Path) -> None:
    found: list[BaseException] = []
    ended = threading.Event()
    stream, other = via.Stream(), via.Stream()

    def wait(_other: via.Task) -> None:
        try:
            task.wait()
        except via.Error as error:
            found.append(error.with_traceback(None))
        ended.set()

    with held(stream.handle):
        task = submit_behind(stream)
        with held(other.handle):
            submit_behind(other).add_done_callback(wait)
        assert ended.wait(20)
    task.wait()
    raise found.pop()


@wrong
def failing_allocator(_: Path) -> None:
    def fail(nbytes: int, alignment: int, stream: int) -> int:
        raise MemoryError(f"no {nbytes} bytes")

    via.empty(4, "int8", memory=via.memory(alloc=fail, free=lambda address, nbytes, stream: None))


@wrong
def throwing_release(_: Path) -> None:
    reported: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: reported.append(unraisable.exc_value)
    try:
        wrap(release=lambda: 1 // 0)  # gone at once
    finally:
        sys.unraisablehook = before
    raise reported[0]


# ---------------------------------------------------------------------------------------------------- files


@wrong
def null_path(_: Path) -> None:
    via.open(None)  # type: ignore[arg-type]


@wrong
def path_cut_short(_: Path) -> None:
    via.open("numbers\0.raw")


@wrong
def absent_file(folder: Path) -> None:
    via.open(folder / "absent.raw")


@wrong
def file_without_a_header(folder: Path) -> None:
    via.open(file_of(folder, b"no header"), format="npy")


@wrong
def file_opened_to_read(folder: Path) -> None:
    via.open(file_of(folder, b"")).write(grid())


@wrong
def archive_without_a_header(folder: Path) -> None:
    via.Archive(file_of(folder, b"no header"))


def archive_of(folder: Path) -> via.Archive:
    via.save(folder / "one.safetensors", {"w": grid()})
    return via.Archive(folder / "one.safetensors")


@wrong
def absent_tensor(folder: Path) -> None:
    archive_of(folder).load(["v"])


@wrong
def part_past_a_tensor(folder: Path) -> None:
    archive_of(folder).slice("w", 0, 1, 3)


@wrong
def past_the_end_of_a_file(folder: Path) -> None:
    via.open(file_of(folder, bytes(10))).read(grid())


@wrong
def file_cut_short(folder: Path) -> None:
    file = via.open(file_of(folder, bytes(48)))
    os.truncate(folder / "numbers.raw", 40)
    file.read(grid())


# ---------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize("row", SAID.values(), ids=SAID.keys())
def test_a_wrong_call_is_reported_as_the_table_says(row: list[str], tmp_path: Path) -> None:
    name, _, status, needs, *_ = row
    if "two devices" in needs and via.device_count() < 2:
        pytest.skip("there is one device")
    with pytest.raises(Exception) as reported:
        calls[name](tmp_path)
    assert str(reported.value)
    if row[PYTHON] == "=":
        assert isinstance(reported.value, via.Error)
        assert reported.value.status == getattr(raw, f"VIA_ERROR_{status}"), reported.value
    else:
        assert row[PYTHON] in [kind.__name__ for kind in type(reported.value).__mro__], reported.value


def test_no_row_is_forgotten_and_none_is_made_up() -> None:
    assert set(calls) == set(SAID)


def test_the_table_gives_an_answer_or_a_reason_for_every_language() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS)
    for row in ROWS[1:]:
        assert len(row) == len(ROWS[0])
        assert all(len(cell) > len("- ") or cell == "=" for cell in row[ROWS[0].index("c") :])
        assert row[2] == "NONE" or hasattr(raw, f"VIA_ERROR_{row[2]}")
        assert set(filter(None, row[3].split(", "))) <= {"check", "device", "two devices"}
