"""Conversions while copying, next to NumPy's copyto, PyTorch's copy_ and to, and CuPy's asarray of a converted copy.

    python tests/bench/bench_convert.py [--json FILE] [--bytes N] [--pairs]

Without a device only host memory is measured. The parties take turns; medians of the turns. Rates count the bytes that
are read and written; across the link, those of the source. "plain copy" moves as many bytes as the conversion does.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import viaduct as via
from bench_python import row

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None

TURNS = int(os.environ.get("VIADUCT_BENCH_TURNS", "9"))
THREADS = int(os.environ.get("VIADUCT_BENCH_THREADS", "2"))

HOST_PAIRS = [
    ("float64", "float32"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("bfloat16", "float32"),
    ("int16", "float32"),
    ("uint8", "float32"),
    ("float32", "float8_e4m3fn"),
    ("float32", "uint8"),
    (">f8", "float64"),
]
DEVICE_PAIRS = [
    ("float32", "bfloat16"),
    ("bfloat16", "float32"),
    ("float32", "float8_e4m3fn"),
    ("uint8", "float32"),
    ("float64", "float32"),
]
# Each is converted to all others.
NUMBERS = [
    "bool",
    *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")),
    "float16",
    "float32",
    "float64",
]
LINK_PAIRS = [
    ("float64", "float32", "to device"),
    ("uint8", "float16", "to device"),
    ("bfloat16", "float32", "to host"),
]

PLAIN = "plain copy"
LEAST = [("float64 to device", 5.0), ("scaled float16 planes", 8.0), ("to host as", 3.0)]

Call = Callable[[], Any]
Row = dict[str, Any]


def time_in_turns(calls: dict[str, Call], finish: Call) -> dict[str, float]:
    """Returns the median seconds of each party."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 1):
        for name, call in calls.items():
            finish()
            start = time.perf_counter()
            call()
            finish()
            if turn > 0:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def rows_of(
    what: str, nbytes: int, calls: dict[str, Call], finish: Call = lambda: None, part: float = 0.8
) -> list[Row]:
    """A row next to the best peer, and one next to a plain copy of as many bytes if that was timed too."""
    found = {party: nbytes / seconds / 1e9 for party, seconds in time_in_turns(calls, finish).items()}
    limit = found.pop(PLAIN, None)
    peers = {party: rate for party, rate in found.items() if not party.startswith("viaduct")}
    best = max(peers, key=lambda party: peers[party])
    rows = [row(f"{what}; peers", "GB/s", found, {"peer": best, "at_least": wanted(what)})]
    if limit is not None:
        rows.append(row(f"{what}; plain copy", "GB/s", found, {"limit_at_least": part}) | {"limit": limit})
    return rows


def wanted(what: str) -> float:
    """Of the best peer's rate: more where that converts on one core, or sends the wider numbers."""
    return next((least for words, least in LEAST if words in what), 1.0)


def dtype_of(name: str) -> numpy.dtype:
    return numpy.dtype(getattr(ml_dtypes, name, name))


def source_of(name: str, count: int) -> numpy.ndarray:
    dtype = dtype_of(name)
    numbers = numpy.arange(count) % 200
    return numbers.astype(dtype.newbyteorder("=")).astype(dtype) if dtype.kind != "V" else numbers.astype(dtype)


def in_torch(name: str) -> Any:
    return getattr(torch, name, None) if torch is not None else None


def tensor_of(a: numpy.ndarray) -> Any:
    """A tensor on the same memory, of types that NumPy lacks too."""
    return torch.from_numpy(a.view(f"i{a.dtype.itemsize}")).view(in_torch(a.dtype.name))


# ------------------------------------------------------------------------------------------------ host


def host_calls(a: numpy.ndarray, b: numpy.ndarray) -> dict[str, Call]:
    swapped = not a.dtype.isnative
    native = a.view(a.dtype.newbyteorder("=")) if swapped else a
    order = ">" if swapped else "="
    calls: dict[str, Call] = {
        "viaduct": lambda: via.convert(b, native, casting="unsafe", byteorder=order),  # type: ignore[arg-type]
        "numpy.copyto": lambda: numpy.copyto(b, a, casting="unsafe"),
    }
    if not swapped and in_torch(a.dtype.name) is not None and in_torch(b.dtype.name) is not None:
        to, of = tensor_of(b), tensor_of(a)
        calls["torch copy_"] = lambda: to.copy_(of)
    return calls


def host_rows(nbytes: int) -> list[Row]:
    found = []
    for source, target in HOST_PAIRS:
        a = source_of(source, nbytes // dtype_of(source).itemsize)
        b = numpy.zeros(a.shape, dtype_of(target))
        both = a.nbytes + b.nbytes
        to, of = numpy.zeros(both // 2, numpy.uint8), numpy.ones(both // 2, numpy.uint8)
        calls = host_calls(a, b) | {PLAIN: lambda to=to, of=of: via.copy(to, of)}
        found += rows_of(f"host {source} to {target}", both, calls)
    a = source_of("float64", 1 << 24).reshape(1 << 12, 1 << 12)
    b = numpy.zeros(a.shape, numpy.float32)
    found += rows_of("host float64 to float32, transposed", a.nbytes + b.nbytes, host_calls(a.T, b))
    frames = source_of("uint8", 64 * 224 * 224 * 3).reshape(64, 224, 224, 3)
    planes = numpy.zeros((64, 3, 224, 224), numpy.float32)
    calls = host_calls(frames.transpose(0, 3, 1, 2), planes)
    return found + rows_of("host uint8 frames to float32 planes", frames.nbytes + planes.nbytes, calls)


def pair_rows(count: int = 100_000) -> list[Row]:
    """All pairs of NumPy's numbers, which stay in the caches: a row for each source, and one for all."""
    rates: dict[str, dict[str, list[float]]] = {}
    for source, target in itertools.permutations(NUMBERS, 2):
        a, b = source_of(source, count), numpy.zeros(count, target)
        to, of = via.asarray(b), via.asarray(a)
        calls: dict[str, Call] = {
            "viaduct": lambda to=to, of=of: via.convert(to, of, casting="unsafe"),
            "numpy.copyto": lambda b=b, a=a: numpy.copyto(b, a, casting="unsafe"),
        }
        for party, seconds in time_in_turns(calls, lambda: None).items():
            rates.setdefault(source, {}).setdefault(party, []).append((a.nbytes + b.nbytes) / seconds / 1e9)
    found = [mean_row(f"host, {source} to each of 11", [of_source]) for source, of_source in rates.items()]
    return [*found, mean_row("host, 132 pairs", list(rates.values()))]


def mean_row(what: str, rates: list[dict[str, list[float]]]) -> Row:
    """The geometric mean of all rates of each party."""
    found = {
        party: statistics.geometric_mean(rate for of_source in rates for rate in of_source[party]) for party in rates[0]
    }
    return row(f"{what}; geometric mean", "GB/s", found, {"peer": "numpy.copyto", "at_least": 1.0})


# ------------------------------------------------------------------------------------------------ device


@functools.cache
def queue() -> via.Stream:
    return via.Stream("cuda:0")


def finish_device() -> None:
    """Waits once for all that the call has queued."""
    if torch is not None:
        torch.cuda.synchronize()
    else:
        queue().synchronize()


def device_rows(nbytes: int) -> list[Row]:
    found = []
    for source, target in DEVICE_PAIRS:
        side = int((nbytes // dtype_of(source).itemsize) ** 0.5) // 64 * 64
        src = via.asarray(source_of(source, side * side)).view(source).reshape(side, side).copy("cuda:0")
        dst = via.empty((side, side), target, device="cuda:0")
        moved = src.nbytes + dst.nbytes
        of_plain, to_plain = (via.empty((moved // 2,), "uint8", device="cuda:0") for _ in range(2))
        for layout, view, part in [("", src, 0.9), (", transposed", src.transpose(1, 0), 0.75)]:
            calls: dict[str, Call] = {
                "viaduct": lambda dst=dst, view=view: via.convert(dst, view, stream=queue()),
                PLAIN: lambda to=to_plain, of=of_plain: via.copy(to, of, stream=queue()),
            }
            if in_torch(source) is not None and in_torch(target) is not None:
                of, to = torch.from_dlpack(src), torch.empty((side, side), dtype=in_torch(target), device="cuda")
                of = of.T if layout else of
                calls["torch copy_"] = lambda to=to, of=of: to.copy_(of)
            found += rows_of(f"device {source} to {target}{layout}", moved, calls, finish_device, part)
    return found


def link_rows(nbytes: int) -> list[Row]:
    found = []
    for source, target, way in LINK_PAIRS:
        host = source_of(source, nbytes // dtype_of(source).itemsize)
        array = via.asarray(host).view(source)
        src = array if way == "to device" else array.copy("cuda:0")
        dst = via.empty(host.shape, target, device="cuda:0" if way == "to device" else "cpu")
        calls: dict[str, Call] = {"viaduct": lambda src=src, dst=dst: via.convert(dst, src)}
        if in_torch(source) is not None and in_torch(target) is not None:
            of = tensor_of(host) if way == "to device" else torch.from_dlpack(src)
            place, dtype = ("cuda" if way == "to device" else "cpu"), in_torch(target)
            calls["torch to"] = lambda of=of, place=place, dtype=dtype: of.to(place, dtype)
        if cupy is not None and way == "to device":
            calls["cupy asarray"] = lambda host=host, target=target: cupy.asarray(host.astype(dtype_of(target)))
        found += rows_of(f"{source} {way} as {target}", host.nbytes, calls, finish_device)
    return found


def frame_rows(nbytes: int) -> list[Row]:
    """Frames in pageable memory become normalised planes on the device."""
    frames = source_of("uint8", nbytes // (224 * 224 * 3) * 224 * 224 * 3).reshape(-1, 224, 224, 3)
    mean, std = numpy.array([123.7, 116.3, 103.5], numpy.float32), numpy.array([58.4, 57.1, 57.4], numpy.float32)
    scale, offset = 1 / std, -mean / std
    transposed = frames.transpose(0, 3, 1, 2)
    planes = via.empty(transposed.shape, "float16", device="cuda:0")
    calls: dict[str, Call] = {
        "viaduct": lambda: via.convert(planes, transposed, scale=scale, offset=offset, scale_axis=1)
    }
    if torch is not None:
        of = torch.from_numpy(frames)
        by, plus = (torch.from_numpy(each).cuda().view(1, 3, 1, 1) for each in (scale, offset))
        calls["torch to"] = lambda: (of.to("cuda").permute(0, 3, 1, 2) * by + plus).half().contiguous()
    return rows_of("uint8 frames to device as scaled float16 planes", frames.nbytes, calls, finish_device)


def file_rows(nbytes: int) -> list[Row]:
    """A cached file in another byte order is loaded to the device."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.npy")
        numpy.save(path, source_of(">f8", nbytes // 8))
        calls: dict[str, Call] = {"viaduct": lambda: via.load(path, "cuda:0", dtype="float32")}
        if torch is not None:
            calls["torch from_numpy"] = lambda: torch.from_numpy(numpy.load(path).astype(numpy.float32)).to("cuda")
        return rows_of("cached .npy of >f8 to device as float32", nbytes, calls, finish_device)


def indexed_rows() -> list[Row]:
    """4096 of 65536 rows of 4 KiB become narrower: within a place, and from pinned memory to the device."""
    table = source_of("float32", 65536 * 1024).reshape(65536, 1024)
    index = numpy.random.default_rng(27).permutation(65536)[:4096]
    places = [("cpu", "cpu")] + ([("cuda:0", "cuda:0"), ("pinned", "cuda:0")] if via.device_count() else [])
    found = []
    for of, to in places:
        src = via.asarray(table)
        if of != "cpu":
            src = via.empty(table.shape, "float32", **({"memory": "pinned"} if of == "pinned" else {"device": of}))
            via.copyto(src, table)
        dst = via.empty((4096, 1024), "float16", device=to)
        batch = via.Batch()
        batch.add_indexed(dst, None, src, index, casting="same_kind")
        calls: dict[str, Call] = {
            "viaduct": lambda dst=dst, src=src: via.copy_indexed(dst, None, src, index, casting="same_kind"),
            "viaduct, prepared": batch.run,
        }
        if of == "cpu":
            calls["numpy.take, astype"] = lambda: table.take(index, axis=0).astype(numpy.float16)
        if torch is not None:
            given = torch.from_dlpack(src) if of == "cuda:0" else torch.from_numpy(numpy.asarray(src))
            numbers = torch.from_numpy(index).to(given.device)
            place = "cuda" if to == "cuda:0" else "cpu"
            calls["torch index_select, to"] = lambda given=given, numbers=numbers, place=place: given.index_select(
                0, numbers
            ).to(place, torch.float16)
        finish = finish_device if to != "cpu" else lambda: None
        name = f"4096 of 65536 rows of float32 as float16, {of} -> {to}"
        found += rows_of(name, 4096 * 4096 + dst.nbytes, calls, finish)
    return found


def rows(nbytes: int = 1 << 28) -> list[Row]:
    before = via.num_threads()
    via.set_num_threads(THREADS)
    if torch is not None:
        torch.set_num_threads(THREADS)
    try:
        found = host_rows(nbytes) + pair_rows() + indexed_rows()
        if via.device_count() > 0:
            via.set_num_threads(0)
            found += device_rows(nbytes) + link_rows(nbytes) + frame_rows(nbytes) + file_rows(nbytes)
    finally:
        via.set_num_threads(before)
    return found


def main() -> None:
    import bench

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--bytes", type=int, default=1 << 28, help="of each source")
    parser.add_argument("--pairs", action="store_true", help="measure all pairs of NumPy's numbers, and nothing else")
    asked = parser.parse_args()
    found = pair_rows() if asked.pairs else rows(asked.bytes)
    bench.show(found)
    if asked.json:
        machine = bench.describe_machine("gpu" if via.device_count() else "cpu")
        settings = {"threads": THREADS, "turns": TURNS, "bytes": asked.bytes}
        report = {"machine": machine, "commit": bench.find_commit(), "settings": settings, "rows": found}
        asked.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
