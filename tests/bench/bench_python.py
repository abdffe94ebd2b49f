"""The Python rows: each case and its peers timed in turns, so that both see the same machine; medians of many turns."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import viaduct as via

try:
    import torch
except ImportError:
    torch = None

SHAPE = (64, 64)
TURNS = 41
COPY_BYTES = 256 << 20
COPY_TURNS = 41

Call = Callable[[], Any]


def time_once(call: Call, count: int) -> float:
    """Nanoseconds of one call, from `count` of them in a loop."""
    turns = range(count)
    start = time.perf_counter_ns()
    for _ in turns:
        call()
    return (time.perf_counter_ns() - start) / count


def calls_per_turn(call: Call) -> int:
    """As many as take about two milliseconds."""
    return max(1, int(2e6 / max(1.0, time_once(call, 100))))


def medians(cases: dict[str, Call], turns: int = TURNS, count: int | None = None) -> dict[str, float]:
    """The median of every case, timed in turns. What the loop itself costs is left in, alike for all."""
    counts = {name: count or calls_per_turn(call) for name, call in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for name, call in cases.items():
                times[name].append(time_once(call, counts[name]))
    finally:
        gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def row(case: str, unit: str, found: dict[str, float], target: dict[str, Any] | None) -> dict[str, Any]:
    peers = {name: value for name, value in found.items() if name != "viaduct"}
    return {"case": case, "unit": unit, "viaduct": found["viaduct"], "peers": peers, "limit": None, "target": target}


class Memory:
    """One block seen by all: a ctypes array, NumPy's array on it, and ours."""

    def __init__(self) -> None:
        self.raw = (ctypes.c_float * (SHAPE[0] * SHAPE[1]))()
        self.address = ctypes.addressof(self.raw)
        self.numpy = numpy.frombuffer(self.raw, dtype=numpy.float32).reshape(SHAPE)
        self.viaduct = via.wrap(self.address, SHAPE, "float32", owner=self.raw)


def wrap_rows(memory: Memory) -> list[dict[str, Any]]:
    address, nbytes = memory.address, ctypes.sizeof(memory.raw)
    pointer = ctypes.POINTER(ctypes.c_float)
    found = medians(
        {
            "viaduct": lambda: via.wrap(address, SHAPE, "float32"),
            "unchecked": lambda: via.wrap(address, SHAPE, "float32", check=False),
            "as_array": lambda: numpy.ctypeslib.as_array(ctypes.cast(address, pointer), SHAPE),
            "frombuffer": lambda: numpy.frombuffer(
                (ctypes.c_char * nbytes).from_address(address), dtype=numpy.float32
            ).reshape(SHAPE),
        }
    )
    # The faster of the two usual routes is the one to beat.
    fastest = min(("as_array", "frombuffer"), key=lambda name: found[name])
    target = {"peer": fastest, "at_most": 0.5}
    unchecked = found.pop("unchecked")
    return [
        row("via.wrap(address, shape, dtype)", "ns", found, target),
        row("the same, check=False", "ns", found | {"viaduct": unchecked}, target),
    ]


def exchange_rows(memory: Memory) -> list[dict[str, Any]]:
    a, n = memory.viaduct, memory.numpy
    rows = [
        row(
            "np.from_dlpack(a); np.from_dlpack(numpy array)",
            "ns",
            medians({"viaduct": lambda: numpy.from_dlpack(a), "numpy": lambda: numpy.from_dlpack(n)}),
            {"peer": "numpy", "at_most": 1.5},
        ),
        row(
            "a.__dlpack__()",
            "ns",
            medians({"viaduct": lambda: a.__dlpack__(), "numpy": lambda: n.__dlpack__()}),
            {"peer": "numpy", "at_most": 1.2},
        ),
    ]
    version = (1, 0)
    rows.append(
        row(
            "a.__dlpack__(max_version=(1, 0))",
            "ns",
            medians(
                {
                    "viaduct": lambda: a.__dlpack__(max_version=version),
                    "numpy": lambda: n.__dlpack__(max_version=version),
                }
            ),
            {"peer": "numpy", "at_most": 1.2},
        )
    )
    if torch is not None:
        found = medians({"viaduct": lambda: torch.from_dlpack(a), "numpy": lambda: torch.from_dlpack(n)})
        target = {"peer": "numpy", "at_most": 1.0}
        rows.append(row("torch.from_dlpack(a); torch.from_dlpack(numpy array)", "ns", found, target))
    return rows


def copy_rows() -> list[dict[str, Any]]:
    source, target = numpy.ones(COPY_BYTES, numpy.uint8), numpy.zeros(COPY_BYTES, numpy.uint8)
    src, dst = via.asarray(source), via.asarray(target)
    cases: dict[str, Call] = {
        "viaduct": lambda: via.copyto(dst, src),
        "numpy": lambda: numpy.copyto(target, source),
    }
    if torch is not None:
        torch_source, torch_target = torch.from_numpy(source), torch.from_numpy(target)
        cases["torch"] = lambda: torch_target.copy_(torch_source)
    rates = {name: COPY_BYTES / time for name, time in medians(cases, COPY_TURNS, 1).items()}
    name = f"via.copyto, contiguous, {COPY_BYTES >> 20} MiB"
    rows = [row(f"{name}; np.copyto", "GB/s", rates, {"peer": "numpy", "at_least": 1.2})]
    if torch is not None:
        rows.append(row(f"{name}; Tensor.copy_", "GB/s", rates, {"peer": "torch", "at_least": 1.0}))
    return rows


def exchange_api_rows(memory: Memory) -> list[dict[str, Any]]:
    """The functions behind the table on the type, called from C; torch's table next to ours."""
    library = ctypes.PyDLL(str(Path(os.environ["VIADUCT_BUILD_DIR"]) / "bench" / "libbench_exchange.so"))
    objects: dict[str, Any] = {"viaduct": memory.viaduct}
    if torch is not None:
        objects["torch"] = torch.from_numpy(memory.numpy)
    found = []
    for case, name in (("tensor from object, and its deleter", "exchange"), ("borrowed tensor", "borrow")):
        measure = library[f"bench_{name}"]
        measure.restype, measure.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.py_object, ctypes.c_int64]
        times: dict[str, list[float]] = {peer: [] for peer in objects}
        for _ in range(TURNS):
            for peer, value in objects.items():
                times[peer].append(measure(exchange_table(value), value, 20000))
        medians_of = {peer: statistics.median(values) for peer, values in times.items()}
        found.append(row(f"C exchange API: {case}", "ns", medians_of, {"value_at_most": 100}))
    return found


def exchange_table(value: Any) -> int | None:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int | None = pointer(type(value).__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    return address


def rows() -> list[dict[str, Any]]:
    memory = Memory()
    return [*wrap_rows(memory), *exchange_rows(memory), *exchange_api_rows(memory), *copy_rows()]


if __name__ == "__main__":
    for found in rows():
        print(found)
