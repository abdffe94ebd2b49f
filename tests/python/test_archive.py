"""Archives: all tensors of safetensors files in one block, compared with NumPy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viaduct as via

NAMES = {"float32": "F32", "float64": "F64", "int64": "I64", "uint8": "U8", "bool": "BOOL", "float16": "F16"}


def put(path: Path, tensors: dict[str, np.ndarray[Any, Any]], metadata: dict[str, str] | None = None) -> Path:
    """Writes a safetensors file."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, value in tensors.items():
        header[name] = {
            "dtype": NAMES[value.dtype.name],
            "shape": list(value.shape),
            "data_offsets": [at, at + value.nbytes],
        }
        at += value.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(each.tobytes() for each in tensors.values()))
    return path


def random_tensors(seed: int, count: int, most: int) -> dict[str, np.ndarray[Any, Any]]:
    draw = np.random.default_rng(seed)
    found = {}
    for number in range(count):
        shape = tuple(draw.integers(0 if draw.random() < 0.1 else 1, most, draw.integers(0, 4)))
        dtype = list(NAMES)[draw.integers(len(NAMES))]
        found[f"t{seed}.{number}"] = draw.integers(0, 2, shape).astype(dtype)
    return found


def assert_same(found: dict[str, Any], expected: dict[str, np.ndarray[Any, Any]]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        array = found[name].numpy() if isinstance(found[name], via.Array) else found[name]
        assert array.dtype == value.dtype and array.shape == value.shape
        assert np.array_equal(array, value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("page_cache", ["auto", "use", "avoid"])
def test_any_tensors_arrive_as_they_were_written(tmp_path: Path, seed: int, page_cache: Any) -> None:
    tensors = random_tensors(seed, 200, 30)
    path = put(tmp_path / "m.safetensors", tensors)
    assert_same(via.load(path, page_cache=page_cache), tensors)


def test_tensors_larger_than_a_chunk_arrive_next_to_small_ones(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    tensors = {f"t{size}": draw.integers(0, 255, size, np.uint8) for size in (5_000_001, 3, 2 << 20, 0, 77, 4_200_000)}
    assert_same(via.load(put(tmp_path / "m.safetensors", tensors)), tensors)


def test_chosen_names_arrive_in_the_order_given(tmp_path: Path) -> None:
    tensors = random_tensors(9, 50, 20)
    archive = via.Archive(put(tmp_path / "m.safetensors", tensors, {"made by": "hand", "long": "x" * 9000}))
    chosen = list(tensors)[::-3]
    found = archive.load(chosen)
    assert list(found) == chosen
    assert_same(found, {name: tensors[name] for name in chosen})
    assert archive.metadata == {"made by": "hand", "long": "x" * 9000}
    assert archive.load([]) == {}


def test_an_archive_is_a_mapping_of_windows(tmp_path: Path) -> None:
    tensors = random_tensors(3, 20, 9)
    archive = via.Archive(put(tmp_path / "m.safetensors", tensors))
    assert set(archive) == set(tensors) and len(archive) == 20
    assert "none" not in archive and 3 not in archive
    with pytest.raises(KeyError, match="none"):
        archive["none"]
    for name, value in tensors.items():
        assert archive[name].shape == value.shape and archive[name].dtype == value.dtype
        assert np.array_equal(archive[name].read().numpy(), value)
    assert "20 tensors" in repr(archive)


def put_shards(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    folder.mkdir()
    shards = {f"model-{number}.safetensors": random_tensors(number, 30, 30) for number in range(3)}
    for name, tensors in shards.items():
        put(folder / name, tensors)
    weight_map = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return {name: value for tensors in shards.values() for name, value in tensors.items()}


def test_a_directory_an_index_and_a_list_of_shards_are_one_archive(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tensors = put_shards(folder)
    assert_same(via.load(folder), tensors)
    assert_same(via.load(folder / "model.safetensors.index.json"), tensors)
    assert_same(via.load(sorted(folder.glob("*.safetensors"))), tensors)
    (folder / "model.safetensors.index.json").unlink()
    assert_same(via.load(str(folder)), tensors)


def test_all_tensors_are_one_allocation(tmp_path: Path) -> None:
    tensors = {f"t{number}": np.full(64, number, np.float32) for number in range(10)}
    found = via.load(put(tmp_path / "m.safetensors", tensors), device="pinned" if via.device_count() > 0 else "cpu")
    places = sorted(array.ptr for array in found.values())
    assert [place - places[0] for place in places] == [256 * number for number in range(10)]


def test_tensors_arrive_on_a_device(tmp_path: Path) -> None:
    if via.device_count() == 0:
        pytest.skip("no CUDA device")
    tensors = random_tensors(5, 100, 40) | {"large": np.arange(3_000_000, dtype=np.float32)}
    found = via.load(put(tmp_path / "m.safetensors", tensors), device="cuda:0")
    assert_same({name: array.copy("cpu") for name, array in found.items()}, tensors)


def test_an_npy_file_is_one_array(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", values)
    assert np.array_equal(via.load(tmp_path / "a.npy").numpy(), values)
    with pytest.raises(via.InvalidArgumentError, match="one array"):
        via.load(tmp_path / "a.npy", names=["a"])


def test_tensors_are_converted_to_another_library(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensors = {"a": np.arange(6.0).reshape(2, 3)}
    found = via.load(put(tmp_path / "m.safetensors", tensors), to=torch.Tensor)
    assert isinstance(found["a"], torch.Tensor)
    assert np.array_equal(found["a"].numpy(), tensors["a"])


def test_a_type_that_takes_no_arrays_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "m.safetensors", {"a": np.zeros(3)})
    with pytest.raises(via.DTypeError, match="expected a type with __dlpack_c_exchange_api__"):
        via.load(path, to=int)


def test_one_str_is_no_list_of_names(tmp_path: Path) -> None:
    via.save(tmp_path / "a.safetensors", {"a": np.zeros(3), "b": np.zeros(3)})
    for names in ("a", "ab", "weight"):
        with pytest.raises(via.DTypeError, match=f"load: names is the str '{names}'; expected a list of names"):
            via.load(tmp_path / "a.safetensors", names=names)


def test_bad_input_is_one_error_with_names(tmp_path: Path) -> None:
    path = put(tmp_path / "m.safetensors", {"w": np.zeros(4, np.uint8)})
    archive = via.Archive(path)
    with pytest.raises(via.OutOfRangeError, match="name is 'v'"):
        archive.load(["v"])
    with pytest.raises(via.InvalidArgumentError, match="again"):
        archive.load(["w", "w"])
    with pytest.raises(via.InvalidArgumentError, match="empty list"):
        via.load([])
    with pytest.raises(via.InvalidArgumentError, match="page_cache"):
        via.load(path, page_cache="never")  # type: ignore[arg-type]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(via.FileError, match=r"m\.safetensors.*ESTALE"):
        archive.load()
    with pytest.raises(via.FormatError, match="tensor 'w'"):
        via.load(path)


def test_names_that_no_tensor_has_are_absent(tmp_path: Path) -> None:
    archive = via.Archive(put(tmp_path / "m.safetensors", {"a": np.zeros(4, np.uint8)}))
    for name in ("a\0", "\udc80", ""):
        assert name not in archive and archive.get(name) is None
        with pytest.raises(KeyError):
            archive[name]


def test_windows_say_the_file_that_they_are_of(tmp_path: Path) -> None:
    path = put(tmp_path / "m.safetensors", {"a": np.zeros((4, 2), np.uint8)})
    for window in (via.open_safetensors(path)["a"], via.Archive(path)["a"], via.Archive([path])["a"][1:]):
        assert f"window of {str(path)!r}" in repr(window) and "mode 'r'" in repr(window)
    put(tmp_path / "n.safetensors", {"b": np.zeros(4, np.uint8)})
    assert repr(via.Archive([path, tmp_path / "n.safetensors"])["a"]).startswith("<viaduct.File, shape (4, 2)")


def test_errors_name_the_function_that_was_called(tmp_path: Path) -> None:
    path = put(tmp_path / "m.safetensors", {"a": np.zeros(4, np.uint8)})
    with pytest.raises(via.InvalidArgumentError, match="^Archive: page_cache is 'never'"):
        via.Archive(path, page_cache="never")  # type: ignore[arg-type]
    with pytest.raises(via.InvalidArgumentError, match="^save: page_cache is 'never'"):
        via.save(path, {}, page_cache="never")  # type: ignore[arg-type]
    with pytest.raises(via.InvalidArgumentError, match="^open: page_cache is 'never'"):
        via.open(path, page_cache="never")  # type: ignore[call-overload]
    with pytest.raises(via.FormatError, match="argument metadata: the JSON is `1}` at byte"):
        via.save(path, {}, metadata={"a": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".gguf"])
def test_a_dict_is_not_saved_under_the_suffix_of_another_format(tmp_path: Path, suffix: str) -> None:
    for path in (tmp_path / f"a{suffix}", str(tmp_path / f"a{suffix}"), os.fsencode(tmp_path / f"a{suffix}")):
        with pytest.raises(via.InvalidArgumentError, match=rf"^save: path ends in \{suffix} for a dict; expected"):
            via.save(path, {"a": np.zeros(3)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".npz", ".gguf", ".safetensors"])
def test_one_array_is_not_saved_under_the_suffix_of_an_archive(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(via.InvalidArgumentError, match=rf"^save: path ends in \{suffix} for one array; expected"):
        via.save(tmp_path / f"a{suffix}", np.zeros(3))
    assert list(tmp_path.iterdir()) == []


def test_files_that_safetensors_writes_are_read(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = random_tensors(7, 60, 20)
    safetensors.save_file(tensors, tmp_path / "m.safetensors", {"format": "np"})
    assert_same(via.load(tmp_path / "m.safetensors"), tensors)


def anywhere() -> dict[str, Any]:
    """Arrays of every dtype that the format and NumPy have, of any layout, small and large."""
    draw = np.random.default_rng(4)
    names = ["bool", "uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32", "uint64", "int64"]
    found: dict[str, Any] = {name: draw.integers(0, 2, (5, 7)).astype(name) for name in [*names, "float64"]}
    found["complex"] = np.ones((2, 2), np.complex64)
    found["every second"] = np.arange(4000, dtype=np.int32)[::2]
    found["transposed"] = draw.random((700, 900)).T
    found["large"] = draw.random((900, 1000))
    found["backwards"] = np.arange(9)[::-1]
    return found | {"none": np.zeros((3, 0)), "one": np.array(3.5), 'name\n\u00e9"': np.arange(3)}


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("shard_bytes", [0, 1, 100_000])
def test_arrays_that_are_saved_are_loaded_again(tmp_path: Path, durable: bool, shard_bytes: int) -> None:
    arrays = anywhere()
    via.save(tmp_path / "m.safetensors", arrays, metadata={"by": "a test"}, shard_bytes=shard_bytes, durable=durable)
    assert_same(via.load(tmp_path), arrays)
    assert via.Archive(tmp_path).metadata == {"by": "a test"}
    assert len(list(tmp_path.iterdir())) == (1 if shard_bytes == 0 else len(arrays) + 1 if shard_bytes == 1 else 5)


def test_a_save_replaces_a_file_and_a_failure_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    via.save(path, {"a": np.zeros(3)})
    via.save(path, {"b": np.arange(3)})
    with pytest.raises(via.DTypeError, match="tensor 'c': dtype is complex128"):
        via.save(path, {"c": np.zeros(3, complex)})
    with pytest.raises(via.FormatError, match="argument metadata"):
        via.raw.via_archive_save(path, [via.asarray(np.zeros(3))], ["c"], "[]", 0, None, None)
    with pytest.raises(via.InvalidArgumentError, match="names has 2 texts; expected 1"):
        via.raw.via_archive_save(path, [via.asarray(np.zeros(3))], ["c", "d"], None, 0, None, None)
    with pytest.raises(via.InvalidArgumentError, match="expected a dict"):
        via.save(tmp_path / "a.npy", np.zeros(3), shard_bytes=9)
    assert_same(via.load(path), {"b": np.arange(3)})
    assert list(tmp_path.iterdir()) == [path]


def test_one_array_is_saved_as_npy(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(3, 4).T
    via.save(tmp_path / "a.npy", values, durable=True)
    assert np.array_equal(np.load(tmp_path / "a.npy"), values)
    assert np.array_equal(via.load(tmp_path / "a.npy").numpy(), values)


def test_what_is_saved_is_what_safetensors_reads(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = anywhere()
    via.save(tmp_path / "m.safetensors", arrays)
    assert_same(safetensors.load_file(tmp_path / "m.safetensors"), arrays)


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@pytest.mark.parametrize("page_cache", ["use", "avoid"])
def test_parts_of_tensors_arrive_as_numpy_slices_them(tmp_path: Path, device: str, page_cache: Any) -> None:
    if device != "cpu" and via.device_count() == 0:
        pytest.skip("no CUDA device")
    draw = np.random.default_rng(6)
    tensors = {f"t{i}": draw.random(tuple(draw.integers(1, 60, draw.integers(1, 4)))) for i in range(60)}
    tensors["large"] = draw.random((1500, 1003))
    archive = via.Archive(put(tmp_path / "m.safetensors", tensors), page_cache=page_cache)
    for name, value in tensors.items():
        for _ in range(draw.integers(0, 3)):
            part = tensors[name]  # noqa: PLR1733  (sliced again)
            axis = int(draw.integers(value.ndim))
            start = int(draw.integers(part.shape[axis] + 1))
            count = int(draw.integers(part.shape[axis] - start + 1))
            archive.slice(name, axis, start, count)
            tensors[name] = part.take(range(start, start + count), axis)
    found = archive.load(device=device)
    assert_same({name: array.copy("cpu") for name, array in found.items()}, tensors)
    for name in list(tensors)[::9]:
        assert np.array_equal(archive[name].read().numpy(), tensors[name])


@pytest.mark.parametrize("columns", [256, 1000, 1024, 1500, 5000])
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_halves_of_columns_of_any_width_arrive(tmp_path: Path, columns: int, device: str) -> None:
    if device != "cpu" and via.device_count() == 0:
        pytest.skip("no CUDA device")
    values = np.arange(1100 * 2 * columns, dtype=np.float32).reshape(1100, 2 * columns)
    archive = via.Archive(put(tmp_path / "m.safetensors", {"first": values, "last": values, "rows": values}))
    archive.slice("first", 1, 0, columns)
    archive.slice("last", 1, columns, columns)
    archive.slice("rows", 0, 550, 550)
    found = {name: array.copy("cpu").numpy() for name, array in archive.load(device=device).items()}
    assert np.array_equal(found["first"], values[:, :columns])
    assert np.array_equal(found["last"], values[:, columns:])
    assert np.array_equal(found["rows"], values[550:])


def test_a_window_of_columns_of_a_file_cut_short_is_one_error(tmp_path: Path) -> None:
    values = np.arange(600 * 2048, dtype=np.float32).reshape(600, 2048)
    path = put(tmp_path / "m.safetensors", {"w": values})
    window = via.Archive(path)["w"][:, :1024]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - values.nbytes // 3)
    with pytest.raises(via.FileError, match=r"m\.safetensors.*expected"):
        window.read()
    into = via.empty((600, 1024), "float32")
    with pytest.raises(via.FileError, match=r"m\.safetensors.*expected"):
        window.read(into)


def test_arrays_of_a_device_are_saved(tmp_path: Path) -> None:
    if via.device_count() == 0:
        pytest.skip("no CUDA device")
    arrays = anywhere()
    there = {name: via.asarray(value).copy("cuda:0") for name, value in arrays.items() if name != "backwards"}
    there["transposed"] = via.asarray(arrays["transposed"].T).copy("cuda:0").T
    via.save(tmp_path / "m.safetensors", there, durable=True)
    via.save(tmp_path / "shards.safetensors", there, shard_bytes=1 << 20)
    del arrays["backwards"]
    assert_same(via.load(tmp_path / "m.safetensors"), arrays)
    assert_same(via.load(tmp_path / "shards.safetensors.index.json"), arrays)
