"""Files from Python: open, map, read, write, and maps over what need not fit in memory."""

from __future__ import annotations

import builtins
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viaduct as via
from tensors import Producer
from viaduct import raw
from viaduct.conformance._abi import SUBBYTE_PADDED

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
        via.open(numbers, "c").write(np.zeros((1000, 60), np.float32))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_raw_file_is_what_open_is_reported(tmp_path: Path, order: Any) -> None:
    values = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    path = tmp_path / "raw"
    path.write_bytes(values.tobytes(order))
    file = via.open(path, dtype="int16", shape=(2, -1, 4), order=order)
    assert file.shape == (2, 3, 4) and file.order == order
    assert np.array_equal(file.array().numpy(), values) and np.array_equal(file.read().numpy(), values)
    plain = via.open(path)
    assert plain.shape == (48,) and plain.dtype == np.uint8
    assert plain.array(-1, np.int16, 40).tolist() == np.frombuffer(values.tobytes(order), np.int16)[20:].tolist()


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("<f4"), "<f4", via.raw.VIA_FLOAT32])
def test_whatever_names_an_element_type_does_so_of_a_file(tmp_path: Path, dtype: Any) -> None:
    values = np.arange(6, dtype=np.float32)
    values.tofile(tmp_path / "values")
    with via.open(tmp_path / "values", dtype=dtype, shape=(2, 3)) as file:
        assert file.dtype == np.float32 and file.read().tolist() == values.reshape(2, 3).tolist()
    with via.open(tmp_path / "values") as file:
        assert file.read(dtype=dtype, shape=6).tolist() == file.array(dtype=dtype).tolist() == values.tolist()


def test_what_names_no_element_type_is_refused_by_the_functions_name(tmp_path: Path) -> None:
    (tmp_path / "values").write_bytes(bytes(8))
    with pytest.raises(via.DTypeError, match="open: dtype is 99; expected"):
        via.open(tmp_path / "values", dtype=99)
    with via.open(tmp_path / "values") as file:
        for ask in (file.read, file.array):
            with pytest.raises(via.DTypeError, match="File: dtype is NumPy's datetime64"):
                ask(dtype="M8")


def test_reads_go_to_any_array_and_any_offset(numbers: Path) -> None:
    file = via.open(numbers)
    rows = np.zeros((10, 60), np.float32)
    assert np.array_equal(file[5:15].read(rows).numpy(), np.load(numbers)[5:15]) and rows[0, 0] == 300
    transposed = np.zeros((60, 1000), np.float32).T
    file.read(transposed)
    assert np.array_equal(transposed, np.load(numbers))
    free = via.open(numbers, as_bytes=True)
    assert np.array_equal(free.read(rows, offset=240 * 7).numpy(), np.load(numbers)[7:17])
    assert bytes(free.read(np.zeros(5, np.uint8), offset=3)) == np.load(numbers).tobytes()[3:8]
    assert (
        file.read(shape=(2,), dtype="int32", offset=4).tolist() == np.array([1, 2], np.float32).view(np.int32).tolist()
    )
    with pytest.raises(via.InvalidArgumentError, match="expected bytes within"):
        free.read(rows, offset=240 * 991)


def test_a_npy_file_is_read_and_written_whole_as_what_it_is(numbers: Path) -> None:
    before = numbers.read_bytes()
    wrong: list[tuple[Any, int, type[Exception], str]] = [
        (np.full((60, 1000), 7, np.float32), 0, via.ShapeError, "that of the file"),
        (np.full(5, 7, np.float32), 0, via.ShapeError, "that of the file"),
        (np.full((10, 60), 7, np.float32), 240, via.InvalidArgumentError, "byte_offset is 240; expected 0"),
        (np.full((1000, 60), 7, np.int32), 0, via.DTypeError, "int32; expected float32"),
        (np.full((1000, 60), 7, np.int64), 0, via.DTypeError, "int64; expected float32"),
        (np.full((1000, 240), 7, np.uint8), 0, via.DTypeError, "uint8; expected float32"),
    ]
    with via.open(numbers, "r+") as file:
        for array, offset, error, words in wrong:
            for call in (file.read, file.write, file.read_submit, file.write_submit):
                with pytest.raises(error, match=words):
                    call(array, offset)
            assert (array == 7).all()
    assert numbers.read_bytes() == before


@pytest.mark.parametrize("options", [{}, {"durable": True}, {"atomic": True}, {"atomic": True, "page_cache": "avoid"}])
def test_what_is_written_numpy_reads(tmp_path: Path, options: dict[str, Any]) -> None:
    values = np.arange(600_000, dtype=np.float64).reshape(1000, 600)
    path = tmp_path / "written.npy"
    with via.open(path, "w", dtype=float, shape=(600, 1000), order="F", **options) as file:
        file.write(values.T)
    assert np.array_equal(np.load(path), values.T)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["written.npy"]


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_worker_that_ends_leaves_a_file_that_is_being_made_to_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "made.npy"
    with via.open(path, "w", dtype="float32", shape=(4,), atomic=True) as file:
        if (child := os.fork()) == 0:
            try:
                file.write(np.zeros(4, np.float32))
            except via.ForkedError:
                file.close()
                os._exit(0)
            os._exit(1)
        assert _ended(child) == 0
        file.write(np.arange(4, dtype=np.float32))
    assert np.load(path).tolist() == [0, 1, 2, 3]


def test_of_two_who_replace_a_file_the_second_is_reported(numbers: Path) -> None:
    first, second = (via.open(numbers, "r+", atomic=True, as_bytes=True) for _ in range(2))
    first.write(np.full((500, 60), -1, np.float32))
    with pytest.raises(OSError, match="ESTALE") as caught:
        second.write(np.full((500, 60), -2, np.float32), offset=240 * 500)
    assert caught.value.errno == errno.ESTALE and isinstance(caught.value, via.FileError)
    assert np.load(numbers)[:, 0].tolist() == [-1] * 500 + list(range(500 * 60, 60_000, 60))


@pytest.mark.parametrize("atomic", [False, True])
def test_what_is_no_regular_file_is_never_written(tmp_path: Path, atomic: bool) -> None:
    os.mkfifo(tmp_path / "fifo")
    os.symlink("nowhere", tmp_path / "dangling")
    with pytest.raises(via.UnsupportedError, match="fifo is a FIFO"):
        via.open(tmp_path / "fifo", "w", dtype="int8", shape=4, atomic=atomic)
    with pytest.raises(via.FileError, match="dangling: ENOENT"):
        via.open(tmp_path / "dangling", "w", dtype="int8", shape=4, atomic=atomic)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["dangling", "fifo"]


def test_tasks_read_and_write_behind_the_caller(numbers: Path, tmp_path: Path) -> None:
    array = via.empty((1000, 60), "float32")
    task = via.open(numbers).read_submit(array)
    copy = via.open(tmp_path / "copy", "w", dtype="float32", shape=(1000, 60)).write_submit(array)
    copy.wait()
    assert task.done() and copy.progress() == (240_000, 240_000)
    assert (tmp_path / "copy").read_bytes() == np.load(numbers).tobytes()


class OfBytes:
    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)

    def __init__(self, path: Path) -> None:
        self.path = path


@pytest.mark.parametrize("name", [b"M\xfcnze.npy", b"\xff\xfe", "Münze 😀.npy".encode(), b"\xed\xa0\x80"])
def test_a_file_of_any_name_is_opened_by_whatever_names_it(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    for spelled in (path, str(path), os.fsencode(path), OfBytes(path)):
        with pytest.raises(FileNotFoundError if issubclass(via.FileError, FileNotFoundError) else OSError) as caught:
            via.open(spelled)
        caught.value.args[-1].encode()  # text, whatever the name is
        with via.open(spelled, "w", dtype="int16", shape=(2, 3)) as file:
            file.write(values)
        assert os.listdir(os.fsencode(tmp_path)) == [name]
        options = {"dtype": "int16", "shape": (2, 3)} if not name.endswith(b".npy") else {}
        with via.open(spelled, **options) as file:
            assert np.array_equal(file.read().numpy(), values)
        if name.endswith(b".npy"):
            (block,) = via.stream_blocks(spelled, 2)
            assert np.array_equal(block.array.numpy(), values)
        path.unlink()


def test_what_is_no_path_is_refused_by_name(tmp_path: Path) -> None:
    for wrong in (7, [b"a"], 1.5, bytearray(b"a")):
        with pytest.raises(TypeError, match="os.PathLike"):
            via.open(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="via_file_open: path is of type .*; expected a path"):
            via.raw.via_file_open(wrong, None)  # type: ignore[arg-type]
    for inside in ("a\0b", b"a\0b", tmp_path / "a\0b"):
        with pytest.raises(via.InvalidArgumentError, match="NUL character inside"):
            via.open(inside)
    with pytest.raises(via.InvalidArgumentError, match="path.*surrogates not allowed"):
        via.open("\ud800")


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
    reported: list[tuple[int, int]] = []
    starts = []
    for part in via.stream_blocks(
        numbers, block, output=output, depth=depth, progress=lambda done, total: reported.append((done, total))
    ):
        starts.append((part.start, part.stop))
        part.write(np.asarray(part.array, dtype=np.float64)[:, :2] ** 2)
    assert starts == [(at, min(at + block, 1000)) for at in range(0, 1000, block)]
    assert np.array_equal(np.load(output), np.load(numbers)[:, :2].astype(np.float64) ** 2)
    assert reported[-1] == (240_000, 240_000) and len(reported) == len(starts)


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


@pytest.mark.parametrize("depth", [3, 4])
def test_blocks_may_be_written_in_another_order(tmp_path: Path, depth: int) -> None:
    """The next but one read must not take the buffer of a block that is still being written."""
    rows = np.repeat(np.arange(48, dtype=np.int32), 1 << 18).reshape(48, 1 << 18)
    np.save(tmp_path / "rows.npy", rows)
    earlier: Any = None
    for block in via.stream_blocks(tmp_path / "rows.npy", 4, output=tmp_path / "out.npy", depth=depth):
        if block.start // 4 % 2 == 1:
            block.write(block.array)
            earlier.write(earlier.array)
        earlier = block
    assert np.array_equal(np.load(tmp_path / "out.npy"), rows)


def test_leaving_early_ends_what_is_under_way(numbers: Path, tmp_path: Path) -> None:
    before = via.stats()
    for part in via.stream_blocks(numbers, 10, output=tmp_path / "out.npy"):
        part.write(part.array)
        if part.start == 50:
            break
    del part
    assert np.array_equal(np.load(tmp_path / "out.npy")[:60], np.load(numbers)[:60])
    after = via.stats()
    assert (after["live_arrays"], after["host_bytes"]) == (before["live_arrays"], before["host_bytes"])


def test_what_cannot_be_cut_into_rows_is_refused(numbers: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "scalar.npy", np.float32(3))
    np.save(tmp_path / "transposed.npy", np.asfortranarray(np.zeros((3, 4))))
    np.save(tmp_path / "empty.npy", np.zeros((0, 4)))
    with pytest.raises(via.ShapeError):
        next(via.stream_blocks(tmp_path / "scalar.npy", 1))
    with pytest.raises(via.NeedsCopyError, match="Fortran"):
        next(via.stream_blocks(tmp_path / "transposed.npy", 1))
    assert not list(via.stream_blocks(tmp_path / "empty.npy", 1))
    for block, depth in ((0, 4), (1, 2)):
        with pytest.raises(via.InvalidArgumentError):
            next(via.stream_blocks(numbers, block, depth=depth))
    for arguments, text in (
        ({"block": None}, "block is of type NoneType"),
        ({"block": True}, "block is of type bool"),
        ({"block": 1, "depth": 4.0}, "depth is of type float"),
    ):
        with pytest.raises(via.DTypeError, match=f"stream_blocks: {text}; expected an integer"):
            next(via.stream_blocks(numbers, **arguments))
    (tmp_path / "link.npy").symlink_to(numbers)
    for source in (numbers, via.open(numbers)):
        with pytest.raises(via.InvalidArgumentError, match="output is the file that is read"):
            next(via.stream_blocks(source, 10, output=tmp_path / "link.npy"))
    assert np.load(numbers).shape == (1000, 60)
    part = next(via.stream_blocks(numbers, 10))
    with pytest.raises(via.InvalidArgumentError, match="output"):
        part.write(part.array)
    part = next(via.stream_blocks(numbers, 10, output=tmp_path / "out"))
    with pytest.raises(via.ShapeError, match="10 rows"):
        part.write(part.array[:3])


def test_a_depth_beyond_the_blocks_of_a_file_costs_nothing(numbers: Path) -> None:
    assert [part.start for part in via.stream_blocks(numbers, 500, depth=sys.maxsize)] == [0, 500]


def test_results_whose_rows_are_no_whole_bytes_are_refused(numbers: Path, tmp_path: Path) -> None:
    with via.open(tmp_path / "out", "w", dtype="uint8", shape=(2000,)) as output:
        for part in via.stream_blocks(numbers, 4, output=output):
            with pytest.raises(via.UnsupportedError, match="Block.write: a row has 12 bits"):
                part.write(via.empty((4, 3), "int4"))
            two = via.empty((4, 4), "int4")
            two.fill(part.start // 4 % 16 - 8)
            part.write(two)
    written = np.fromfile(tmp_path / "out", np.uint8).reshape(250, 8)
    assert [int(row[0]) & 15 for row in written] == [(at % 16 - 8) % 16 for at in range(250)]
    assert (written == written[:, :1]).all()


def test_results_that_have_a_byte_for_each_narrow_element_are_written_so(numbers: Path, tmp_path: Path) -> None:
    exported = Producer((50, 3), (3, 1), (0, 4, 1), flags=SUBBYTE_PADDED)
    padded = via.from_dlpack(exported)
    with via.open(tmp_path / "out", "w", dtype="uint8", shape=(3000,)) as output:
        for part in via.stream_blocks(numbers, 50, output=output):
            part.write(padded)
    assert (tmp_path / "out").read_bytes() == bytes(exported.memory)[:150] * 20


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


def test_the_example_in_c_refuses_another_byte_order(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(6, dtype=np.dtype("f4").newbyteorder()))
    program = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test")) / "examples" / "stream_blocks"
    ended = subprocess.run([program, tmp_path / "in.npy", tmp_path / "out.npy"], capture_output=True, check=False)
    assert ended.returncode == 1 and b"byte order" in ended.stderr and not (tmp_path / "out.npy").exists()


# ---------------------------------------------------------------------------------------------------- windows


def a_slice(random: np.random.Generator, extent: int) -> Any:
    bounds = sorted(int(at) for at in random.integers(0, extent + 1, 2))
    step = int(random.choice([1, 1, 1, 2, 3, 7]))
    kinds: list[Any] = [slice(*bounds, step), slice(*bounds[::-1], -step), slice(None), int(random.integers(extent))]
    return kinds[int(random.choice(4, p=[0.55, 0.15, 0.2, 0.1]))]


def drop_pages(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("shape", [(700, 900), (90, 70, 64), (5, 3, 40_000), (60, 2, 3, 7, 11), (300_000,)])
def test_windows_are_what_numpy_slices(tmp_path: Path, shape: tuple[int, ...], cold: bool, order: Any) -> None:
    random = np.random.default_rng(len(shape))
    values = np.asarray(random.integers(0, 1 << 16, shape, dtype=np.uint16), order=order)
    path = tmp_path / "values.npy"
    np.save(path, values)
    with via.open(path) as file:
        for _ in range(12):
            index = tuple(a_slice(random, extent) for extent in shape)
            window, wanted = file[index], values[index]
            if cold:
                drop_pages(path)
            assert window.shape == wanted.shape and window.order == file.order
            assert np.array_equal(window.read().numpy(), wanted), index
            transposed = np.full(wanted.shape[::-1], 7, np.uint16).T
            assert np.array_equal(window.read(transposed).numpy(), wanted), index
            assert np.array_equal(window.array().numpy(), wanted), index


@pytest.mark.parametrize("options", [{}, {"durable": True}, {"atomic": True}, {"page_cache": "avoid"}])
def test_a_window_is_written_and_nothing_around_it(tmp_path: Path, options: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    path = tmp_path / "values.npy"
    values = random.random((300, 40, 20))
    np.save(path, values)
    for _ in range(10):
        index = tuple(a_slice(random, extent) for extent in values.shape)
        new = random.random(values[index].shape)
        with via.open(path, "r+", **options) as file:
            file[index].write(new.T.copy().T)
        values[index] = new
        assert np.array_equal(np.load(path), values), index
    assert [entry.name for entry in tmp_path.iterdir()] == ["values.npy"]


def test_windows_of_windows_are_slices_of_slices(tmp_path: Path) -> None:
    values = np.arange(50 * 60 * 7).reshape(50, 60, 7)
    path = tmp_path / "raw"
    values.tofile(path)
    file = via.open(path, dtype=values.dtype, shape=(50, -1, 7))
    window = file[10:, ::-3, 2]
    assert window.shape == (40, 20) and np.array_equal(window[3::2, 5].read().numpy(), values[10:, ::-3, 2][3::2, 5])
    assert np.array_equal(window[..., 1:4][-1].array().numpy(), values[10:, ::-3, 2][..., 1:4][-1])
    file.close()
    assert np.array_equal(window.read().numpy(), values[10:, ::-3, 2])


def test_blocks_go_to_their_rows_of_a_file_in_fortran_order(numbers: Path, tmp_path: Path) -> None:
    with via.open(tmp_path / "transposed.npy", "w", dtype="float32", shape=(1000, 60), order="F") as output:
        for part in via.stream_blocks(numbers, 300, output=output):
            part.write(part.array)
    assert np.array_equal(np.load(tmp_path / "transposed.npy"), np.load(numbers))
    other = via.open(tmp_path / "other.npy", "w", dtype="int32", shape=(1000, 60))
    with pytest.raises(via.DTypeError, match="float32; expected int32"):
        for part in via.stream_blocks(numbers, 300, output=other):
            part.write(part.array)


def test_a_part_is_read_into_an_array_of_its_shape_and_no_other(numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(np.load(numbers).tobytes())
    expected = np.load(numbers).reshape(-1)[5:17].reshape(3, 4)
    for path in (numbers, tmp_path / "raw.bin"):
        with via.open(path) as file:
            dst = np.zeros((3, 4), "f4")
            file.read(dst, 20, shape=(3, 4), dtype="float32")
            assert np.array_equal(dst, expected)
            with pytest.raises(via.ShapeError):
                file.read(np.zeros((4, 3), "f4"), 20, shape=(3, 4), dtype="float32")
            with pytest.raises(via.DTypeError):
                file.read(np.zeros((3, 4), "i4"), 20, shape=(3, 4), dtype="float32")
            with pytest.raises(via.InvalidArgumentError, match="offset is 240001; expected at most 240000"):
                file.read(offset=240001)


@pytest.mark.parametrize("value", [["r"], {"r"}, "x", 1, ...])
@pytest.mark.parametrize("argument", ["mode", "order", "format", "page_cache"])
def test_what_is_none_of_the_words_is_refused_by_name(numbers: Path, argument: str, value: Any) -> None:
    with pytest.raises(via.InvalidArgumentError, match=f"open: {argument} is .*; expected one of "):
        via.open(numbers, **{argument: value})


def test_what_no_window_is_is_refused(numbers: Path) -> None:
    file = via.open(numbers)
    for index in ((0, 0, 0), (..., ...), 1000, (0, -61)):
        with pytest.raises(IndexError):
            file[index]
    for key in ("rows", True, (0, False), None):  # True was row 1
        with pytest.raises(via.DTypeError, match="expected integers, slices and ..."):
            file[key]
    window = file[:, 10:20]
    with pytest.raises(via.InvalidArgumentError, match="transferred as a whole"):
        window.read(np.zeros((1000, 10), np.float32), offset=4)
    with pytest.raises(via.ShapeError, match="extent"):
        window.read(np.zeros((10, 1000), np.float32))
    with pytest.raises(via.DTypeError, match="float64; expected float32"):
        window.read(np.zeros((1000, 10), np.float64))
    with pytest.raises(via.DTypeError, match="int32; expected float32"):
        window.read(np.zeros((1000, 10), np.int32))
    with pytest.raises(via.ReadOnlyError):
        window.write(np.zeros((1000, 10), np.float32))
    os.truncate(numbers, 200_000)
    with pytest.raises(via.FileError, match="which it had before"):
        window.read()


def test_an_npy_file_opens_as_what_its_header_says(numbers: Path) -> None:
    for given in ({}, {"dtype": "float32"}, {"shape": (1000, 60)}, {"dtype": np.float32, "shape": [1000, 60]}):
        assert via.open(numbers, **given).shape == (1000, 60)
    before = via.stats()
    for given in ({"dtype": "int32"}, {"shape": (60, 1000)}, {"dtype": ">f4"}, {"dtype": "int8", "as_bytes": True}):
        with pytest.raises(
            (via.InvalidArgumentError, via.DTypeError), match="expected float32 and .1000, 60.|byte order"
        ):
            via.open(numbers, **given)
    assert via.stats() == before
    assert via.open(numbers, dtype="int8", format="raw").shape == (240_128,)


def test_a_closed_file_says_that_it_is_closed(numbers: Path) -> None:
    values = np.zeros((1000, 60), np.float32)
    file = via.open(numbers, "r+")
    window = file[:10]
    file.close()
    window.close()
    for call in (
        lambda: file.read(values),
        lambda: file.write(values),
        lambda: file.read_submit(values),
        lambda: file.write_submit(values),
        lambda: window.read(values[:10]),
        lambda: file.read(),
        lambda: file.shape,
    ):
        with pytest.raises(via.InvalidArgumentError, match="the file is closed; expected an open file") as reported:
            call()
        assert reported.value.status == raw.VIA_ERROR_INVALID_ARGUMENT


@pytest.mark.parametrize("call", [lambda file, at: file.array(offset=at), lambda file, at: file[at]])
def test_a_file_that_is_closed_during_a_call_says_so_too(numbers: Path, call: Any) -> None:
    class Closing:
        """As another thread does it meanwhile."""

        def __index__(self) -> int:
            file.close()
            return 0

    file = via.open(numbers, "r+")
    with pytest.raises(via.InvalidArgumentError, match="the file is closed; expected an open file"):
        call(file, Closing())


@pytest.mark.parametrize("left", [0, 50, 128, 200_000])
def test_a_file_that_was_cut_short_is_described_and_says_so_when_it_is_read(numbers: Path, left: int) -> None:
    with via.open(numbers) as file:
        window = file[900:, 10:20]
        os.truncate(numbers, left)
        assert file.nbytes == left and file.shape == (1000, 60) and "float32" in repr(file)
        assert window.shape == (100, 10) and "window" in repr(window)
        for read in (file.read, file.array, window.read, window.array):
            with pytest.raises(via.FileError, match="which it had before") as caught:
                read()
            assert caught.value.errno == errno.ENODATA


def test_the_columns_of_a_file_are_mapped_block_by_block(numbers: Path) -> None:
    values = np.load(numbers)
    with via.open(numbers) as file:
        parts = [(block.start, block.array.numpy().copy()) for block in via.stream_blocks(file[::2, 7:30], 77)]
    assert [start for start, _ in parts] == list(range(0, 500, 77))
    assert np.array_equal(np.concatenate([part for _, part in parts]), values[::2, 7:30])


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    raw, npy = tmp_path / "raw", tmp_path / "a.npy"
    raw.write_bytes(bytes(64))
    with via.open(raw) as file:
        assert repr(file) == f"<viaduct.File {str(raw)!r}, shape (64,), uint8, mode 'r'>"
    assert repr(file) == f"<viaduct.File {str(raw)!r}, closed>"
    with via.open(raw, "r+", dtype="float32", shape=(2, 8)) as file:
        assert repr(file) == f"<viaduct.File {str(raw)!r}, shape (2, 8), float32, mode 'r+'>"
        assert repr(file[0, ::2]) == f"<viaduct.File window of {str(raw)!r}, shape (4,), float32, mode 'r+'>"
    with via.open(npy, "w", dtype="int16", shape=(2, 3), order="F") as file:
        assert repr(file) == f"<viaduct.File {str(npy)!r}, shape (2, 3), int16, order 'F', mode 'w'>"
    file = via.raw.via_file_open(str(npy), None)
    assert repr(file) == "<viaduct.File, shape (2, 3), int16, order 'F'>"
