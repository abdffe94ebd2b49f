"""Whole models of safetensors files, loaded and saved.

    python tests/bench/bench_archive.py [--json FILE] [--parts cached converted disk]

GB/s, next to safetensors, fastsafetensors, InstantTensor and run:ai's streamer; the parties take turns; medians. Without
a GPU only host memory is measured; peers that are not installed are left out. Cached files lie in VIADUCT_BENCH_FOLDER,
as for bench_files; those of cold reads and durable saves in VIADUCT_BENCH_DISK, if given, and nowhere if that is in
memory. A model has VIADUCT_BENCH_MODEL_BYTES in VIADUCT_BENCH_MODEL_TENSORS tensors, and VIADUCT_BENCH_SHARDS files of
VIADUCT_BENCH_SHARD_BYTES are another one.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bench_files as files
import numpy
import viaduct as via
from bench_python import row

MODEL_BYTES = int(os.environ.get("VIADUCT_BENCH_MODEL_BYTES", str(int(2.35 * (1 << 30)))))
MODEL_TENSORS = int(os.environ.get("VIADUCT_BENCH_MODEL_TENSORS", "605"))
SHARDS = int(os.environ.get("VIADUCT_BENCH_SHARDS", "20"))
SHARD_BYTES = int(os.environ.get("VIADUCT_BENCH_SHARD_BYTES", str(1 << 30)))
SHARD_TENSORS = 48
DEVICE = "cuda:0"

Call = Callable[[], Any]


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch = module("torch")
gpu = via.device_count() > 0
gpu_torch = torch if gpu and torch is not None and torch.cuda.is_available() else None


# ------------------------------------------------------------------------------------------------ models


def shapes_of(tensors: int, nbytes: int) -> list[tuple[int, ...]]:
    """Those of layers of a transformer, of 2 bytes an element: of twelve tensors, six are vectors."""
    layers = max(tensors // 12, 1)
    edge = max(math.isqrt(nbytes // 2 // (12 * layers)) // 8 * 8, 8)
    matrices: list[tuple[int, ...]] = [(edge, edge)] * 4 + [(4 * edge, edge), (edge, 4 * edge)]
    vectors: list[tuple[int, ...]] = [(edge,)] * 6
    shapes = (matrices + vectors) * layers
    return (shapes + vectors * tensors)[:tensors]


def write_model(path: Path, prefix: str, tensors: int, nbytes: int) -> int:
    """Writes a file by hand, so that no party's own writer lays it out. Returns the bytes of its tensors."""
    header: dict[str, Any] = {}
    end = 0
    for number, shape in enumerate(shapes_of(tensors, nbytes)):
        start, end = end, end + 2 * math.prod(shape)
        header[f"{prefix}.{number}"] = {"dtype": "F16", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = numpy.random.default_rng(1).random(16 << 20, numpy.float32).astype(numpy.float16).tobytes()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for start in range(0, end, len(block)):
            file.write(block[: end - start])
        file.flush()
        os.fsync(file.fileno())
    return end


# ------------------------------------------------------------------------------------------------ parties


def synchronized(call: Call) -> Call:
    def work() -> Any:
        made = call()
        via.Stream.legacy.synchronize()
        return made

    return work


def by_tensor(paths: list[Path]) -> dict[str, Any]:
    """What a user writes without archives."""
    return {name: file.read(device=DEVICE) for path in paths for name, file in via.open_safetensors(path).items()}


def with_safetensors(paths: list[Path]) -> dict[str, Any]:
    load = importlib.import_module("safetensors.torch").load_file
    return {name: tensor for path in paths for name, tensor in load(path, device=DEVICE).items()}


def with_fastsafetensors(paths: list[Path]) -> dict[str, Any]:
    fast = importlib.import_module("fastsafetensors")
    loader = fast.SafeTensorsFileLoader(fast.SingleGroup(), device=DEVICE, nogds=True)
    loader.add_filenames({0: [str(path) for path in paths]})
    buffer = loader.copy_files_to_device()
    found = {name: buffer.get_tensor(name).clone() for name in loader.get_keys()}
    buffer.close()
    loader.close()
    return found


def with_instanttensor(paths: list[Path]) -> dict[str, Any]:
    instant = importlib.import_module("instanttensor")
    with instant.safe_open([str(path) for path in paths], framework="pt", device=0) as file:
        return dict(file.tensors())


def with_runai(paths: list[Path]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with importlib.import_module("runai_model_streamer").SafetensorsStreamer() as streamer:
        for path in paths:
            streamer.stream_file(str(path))
            found |= {name: tensor.to(DEVICE) for name, tensor in streamer.get_tensors()}
    return found


def those_that_work(calls: dict[str, Call]) -> dict[str, Call]:
    """Leaves out what is not installed, or fails the first time."""
    found = {}
    for name, call in calls.items():
        try:
            call()
            found[name] = call
        except Exception as error:  # noqa: BLE001  (whatever a peer raises)
            print(f"left out: {name}: {error!r}", file=sys.stderr)
    return found


def device_loaders(paths: list[Path]) -> dict[str, Call]:
    peers: dict[str, Call] = {}
    if gpu_torch is not None:
        parties = (with_safetensors, with_fastsafetensors, with_instanttensor, with_runai)
        peers = {party.__name__.removeprefix("with_"): functools.partial(party, paths) for party in parties}
    ours = {
        "viaduct": lambda: via.load(paths, device=DEVICE),
        "viaduct, by tensor": lambda: by_tensor(paths),
    }
    return {name: synchronized(call) for name, call in (ours | those_that_work(peers)).items()}


def numpy_load(path: Path) -> Any:
    return importlib.import_module("safetensors.numpy").load_file(path)


def torch_load(path: Path) -> Any:
    """Its tensors are views of a map, of which nothing was read before they are cloned."""
    loaded = importlib.import_module("safetensors.torch").load_file(path)
    return {name: tensor.clone() for name, tensor in loaded.items()}


def host_loaders(path: Path) -> dict[str, Call]:
    peers: dict[str, Call] = {
        "safetensors, cloned": lambda: torch_load(path),
        "safetensors, NumPy": lambda: numpy_load(path),
        "np.fromfile": lambda: numpy.fromfile(path, numpy.uint8),
    }
    return {"viaduct": lambda: via.load(path)} | those_that_work(peers)


# ------------------------------------------------------------------------------------------------ checks


def check(path: Path, device: str) -> None:
    """A few tensors have the file's bytes."""
    found, content = via.load(path, device=device), path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    for name in list(header)[:: max(len(header) // 7, 1)]:
        start, end = (8 + length + offset for offset in header[name]["data_offsets"])
        assert numpy.asarray(found[name].copy("cpu")).tobytes() == content[start:end]


# ------------------------------------------------------------------------------------------------ rows


def pinned_rate(nbytes: int) -> float:
    source = via.empty((nbytes,), "uint8", memory="pinned", device=DEVICE)
    target = via.empty((nbytes,), "uint8", device=DEVICE)
    return files.rates({"pinned": synchronized(lambda: via.copyto(target, source))}, nbytes)["pinned"]


def warm(paths: list[Path]) -> None:
    for path in paths:
        files.warm(path)


def device_rows(path: Path, nbytes: int) -> list[dict[str, Any]]:
    files.warm(path)
    found = files.rates(device_loaders([path]), nbytes)
    name = f"{MODEL_TENSORS} tensors of {nbytes >> 20} MiB, cached -> GPU"
    return [
        files.limited_row(f"{name}; pinned rate", found, pinned_rate(nbytes), 0.8),
        row(f"{name}; safetensors", "GB/s", found, {"peer": "safetensors", "at_least": 5.0}),
    ]


def converted_rows(path: Path, nbytes: int) -> list[dict[str, Any]]:
    """The tensors as wider and as other floats, in GB/s of the file."""
    found = []
    for dtype in ("float32", "bfloat16"):
        cases: dict[str, Call] = {"viaduct": lambda dtype=dtype: via.load([path], device=DEVICE, dtype=dtype)}
        if gpu_torch is not None:
            wanted = getattr(gpu_torch, dtype)
            theirs = {
                "safetensors, to": lambda wanted=wanted: {
                    name: tensor.to(wanted) for name, tensor in with_safetensors([path]).items()
                }
            }
            cases |= those_that_work(theirs)
        rates = files.rates({name: synchronized(call) for name, call in cases.items()}, nbytes)
        name = f"{MODEL_TENSORS} tensors of {nbytes >> 20} MiB, cached -> GPU as {dtype}"
        peer = {"peer": "safetensors, to", "at_least": 3.0} if "safetensors, to" in rates else None
        found.append(row(name, "GB/s", rates, peer))
    return found


def host_rows(path: Path, nbytes: int) -> list[dict[str, Any]]:
    files.warm(path)
    found = files.rates(host_loaders(path), nbytes)
    name = f"{MODEL_TENSORS} tensors of {nbytes >> 20} MiB, cached -> host"
    peer = "safetensors, cloned" if "safetensors, cloned" in found else "safetensors, NumPy"
    return [row(name, "GB/s", found, {"peer": peer, "at_least": 1.5})]


def write_blocks(path: Path, blocks: list[Any], durable: bool) -> None:
    """What a program does without an archive: the same bytes, one block after another."""
    with path.open("wb", buffering=0) as file:
        for block in blocks:
            file.write(block)
        if durable:
            os.fsync(file.fileno())


def save_rows(where: Path, path: Path, nbytes: int, device: str) -> list[dict[str, Any]]:
    """Durable saves, next to as many bytes written and flushed, and to a direct writer of as many."""
    tensors = via.load(path, device=device)
    blocks = [numpy.asarray(tensor.copy("cpu")).reshape(-1).view(numpy.uint8) for tensor in tensors.values()]
    target = where / "saved.safetensors"
    cases: dict[str, Call] = {
        "viaduct": lambda: via.save(target, tensors, durable=True),
        "write and fsync": lambda: write_blocks(target, blocks, True),
    }
    if device == "cpu":
        arrays = {name: numpy.asarray(tensor) for name, tensor in tensors.items()}
        theirs = {"safetensors, fsync": lambda: save_with_safetensors(target, arrays)}
        cases |= those_that_work(theirs)
    found = files.rates(cases, nbytes, before=lambda: target.unlink(missing_ok=True), turns=files.COLD_TURNS)
    name = f"{MODEL_TENSORS} tensors of {nbytes >> 20} MiB, {'host' if device == 'cpu' else 'GPU'} -> disk, durable"
    return [row(name, "GB/s", found, {"peer": "write and fsync", "at_least": 0.95})]


def save_with_safetensors(path: Path, arrays: dict[str, Any]) -> None:
    importlib.import_module("safetensors.numpy").save_file(arrays, path)
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def cold_rows(path: Path, nbytes: int, where: str, loaders: dict[str, Call]) -> list[dict[str, Any]]:
    found = files.rates(
        {**loaders, **files.at_every_depth("direct read", files.read_direct, path)},
        nbytes,
        before=lambda: files.evict(path),
        turns=files.COLD_TURNS,
    )
    found, limit = files.with_limit(found, "direct read")
    return [files.limited_row(f"{MODEL_TENSORS} tensors, cold -> {where}", found, limit, 0.95)]


def halves(paths: list[Path], device: str) -> dict[str, Any]:
    """The first half of each matrix's columns, and whole vectors, in one allocation."""
    archive = via.Archive(paths)
    for name, file in archive.items():
        if len(file.shape) == 2:
            archive.slice(name, 1, 0, file.shape[1] // 2)
    return archive.load(device=device)


def halves_by_window(paths: list[Path], device: str) -> dict[str, Any]:
    """The same, tensor by tensor."""
    windows = via.Archive(paths).items()
    return {
        name: (file[:, : file.shape[1] // 2] if len(file.shape) == 2 else file).read(device=device)
        for name, file in windows
    }


def halves_with_safetensors(paths: list[Path]) -> dict[str, Any]:
    found = {}
    for path in paths:
        with importlib.import_module("safetensors").safe_open(path, framework="pt", device=DEVICE) as file:
            for name in file.keys():  # noqa: SIM118  (no mapping)
                part = file.get_slice(name)
                shape = part.get_shape()
                found[name] = part[:, : shape[1] // 2] if len(shape) == 2 else part[:]
    return found


def half_bytes() -> int:
    shapes = shapes_of(SHARD_TENSORS, SHARD_BYTES)
    return SHARDS * sum(2 * math.prod(shape) // (2 if len(shape) == 2 else 1) for shape in shapes)


def shard_rows(where: Path) -> list[dict[str, Any]]:
    paths = [where / f"shard-{number}.safetensors" for number in range(SHARDS)]
    nbytes = sum(write_model(path, f"shard{i}", SHARD_TENSORS, SHARD_BYTES) for i, path in enumerate(paths))
    warm(paths)
    turns, limit = min(files.TURNS, 5), pinned_rate(SHARD_BYTES)
    found = files.rates(device_loaders(paths), nbytes, turns=turns)
    parts: dict[str, Call] = {
        "viaduct": lambda: halves(paths, DEVICE),
        "viaduct, by window": lambda: halves_by_window(paths, DEVICE),
    }
    if gpu_torch is not None:
        parts |= those_that_work({"safetensors": lambda: halves_with_safetensors(paths)})
    columns = {name: synchronized(call) for name, call in parts.items()}
    half = files.rates(columns, half_bytes(), turns=turns)
    name = f"{SHARDS} shards of {SHARD_BYTES >> 20} MiB, cached -> GPU"
    return [
        files.limited_row(f"{name}, all names", found, limit, 0.8),
        files.limited_row(f"{name}, half of the columns", half, limit, 0.6),
    ]


def is_on_disk(folder: Path) -> bool:
    named = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True)
    return named.stdout.strip() not in ("tmpfs", "ramfs")


def disk_rows() -> list[dict[str, Any]]:
    """Cold reads and durable saves."""
    chosen = os.environ.get("VIADUCT_BENCH_DISK", os.environ.get("VIADUCT_BENCH_FOLDER"))
    with tempfile.TemporaryDirectory(dir=chosen, prefix="viaduct-bench-") as name:
        where = Path(name)
        if not is_on_disk(where):
            print(f"left out: cold reads and durable saves: {where} is in memory", file=sys.stderr)
            return []
        path = where / "model.safetensors"
        nbytes = write_model(path, "model", MODEL_TENSORS, MODEL_BYTES)
        found = cold_rows(path, nbytes, "host", host_loaders(path)) + save_rows(where, path, nbytes, "cpu")
        if gpu:
            found += cold_rows(path, nbytes, "GPU", device_loaders([path])) + save_rows(where, path, nbytes, DEVICE)
        return found


PARTS = ("cached", "converted", "disk")


def rows(parts: Sequence[str] = PARTS) -> list[dict[str, Any]]:
    return memory_rows(parts) + (disk_rows() if "disk" in parts else [])


def memory_rows(parts: Sequence[str]) -> list[dict[str, Any]]:
    with files.folder() as where:
        path = where / "model.safetensors"
        nbytes = write_model(path, "model", MODEL_TENSORS, MODEL_BYTES)
        check(path, "cpu")
        found = host_rows(path, nbytes) if "cached" in parts else []
        if gpu and "cached" in parts:
            check(path, DEVICE)
            found += device_rows(path, nbytes) + shard_rows(where)
        return found + (converted_rows(path, nbytes) if gpu and "converted" in parts else [])


def main() -> None:
    import bench

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    found = rows(given.parts)
    bench.show(found)
    if given.json:
        machine = bench.describe_machine("gpu" if gpu else "cpu")
        report = {"machine": machine, "commit": bench.find_commit(), "rows": found}
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
