"""The Python rows on a GPU: copies beside PyTorch's and CuPy's, and arrays made of a raw device pointer beside each
peer's own ways to that. Timed in turns, as in bench_python.py; a peer that is not here leaves its rows out."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy
import viaduct as via
from bench_python import Call, medians, row

SHAPE = (64, 64)
MIB = 1 << 20
DEVICE = "cuda:0"


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, cupy, jax = peer("torch"), peer("cupy"), peer("jax")
numba_cuda = peer("numba.cuda")


class Lender:
    """The least that a producer can be: what it answers was made beforehand, but for the capsule, which another makes."""

    def __init__(self, pointer: int, capsules: Any = None) -> None:
        self.capsules = capsules
        self.__cuda_array_interface__ = {
            "shape": SHAPE,
            "typestr": "<f4",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsules.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class Block:
    """Device memory that everyone here makes arrays of."""

    def __init__(self) -> None:
        nbytes = SHAPE[0] * SHAPE[1] * 4
        self.array = via.empty((nbytes,), "uint8", device=DEVICE)
        self.pointer, self.nbytes = self.array.ptr, nbytes

    def wrap(self) -> via.Array:
        return via.wrap(self.pointer, SHAPE, "float32", device=DEVICE)

    def wrap_unchecked(self) -> via.Array:
        return via.wrap(self.pointer, SHAPE, "float32", device=DEVICE, unchecked=True)


# ------------------------------------------------------------------------------------------------ from a raw pointer


def cupy_array(block: Block) -> Any:
    memory = cupy.cuda.UnownedMemory(block.pointer, block.nbytes, block)
    return cupy.ndarray(SHAPE, cupy.float32, cupy.cuda.MemoryPointer(memory, 0))


def torch_storage(block: Block, device: Any) -> Any:
    storage = torch._C._construct_storage_from_data_pointer(block.pointer, device, block.nbytes)
    return torch.empty(0, dtype=torch.float32, device=device).set_(storage, 0, SHAPE)


def torch_ways(block: Block) -> dict[str, Call]:
    """PyTorch's own ways from a raw pointer: one of them, a private function, takes the storage as it is."""
    device = torch.device(DEVICE)
    ways: dict[str, Call] = {
        "as_tensor of an interface": lambda: torch.as_tensor(Lender(block.pointer), device=device)
    }
    if cupy is not None:
        ways["from_dlpack of CuPy"] = lambda: torch.from_dlpack(cupy_array(block))
    if hasattr(torch._C, "_construct_storage_from_data_pointer"):
        ways["set_ of a storage"] = lambda: torch_storage(block, device)
    return ways


def torch_rows(block: Block) -> list[dict[str, Any]]:
    if torch is None:
        return []
    ways = torch_ways(block)
    found = medians(
        {
            "viaduct": lambda: torch.from_dlpack(block.wrap()),
            "unchecked": lambda: torch.from_dlpack(block.wrap_unchecked()),
            **ways,
        }
    )
    unchecked = found.pop("unchecked")
    fastest = min(ways, key=lambda name: found[name])
    return [
        row("raw pointer to torch: from_dlpack(via.wrap)", "ns", found, {"peer": fastest, "at_most": 1.0}),
        row(
            "raw pointer to torch: the same, unchecked=True",
            "ns",
            found | {"viaduct": unchecked},
            {"peer": fastest, "at_most": 0.6},
        ),
    ]


def own_part_rows(block: Block) -> list[dict[str, Any]]:
    version = (1, 0)
    found = medians(
        {
            "viaduct": lambda: block.wrap().__dlpack__(max_version=version, stream=1),
            "unchecked": lambda: block.wrap_unchecked().__dlpack__(max_version=version, stream=1),
        }
    )
    interface = medians({"viaduct": lambda: block.wrap().__cuda_array_interface__})
    wrap = medians({"viaduct": block.wrap, "unchecked": block.wrap_unchecked})
    return [
        row("via.wrap of a device pointer", "ns", wrap, {"peer": "unchecked", "plus_at_most": 200}),
        row("via.wrap + __dlpack__, the part of Viaduct", "ns", found, {"value_at_most": 600}),
        row("via.wrap + __cuda_array_interface__, the part of Viaduct", "ns", interface, {"value_at_most": 600}),
    ]


def intake_row(name: str, ours: Call, minimal: Call, **others: Call) -> dict[str, Any]:
    found = medians({"viaduct": ours, "minimal producer": minimal, **others})
    return row(f"raw pointer to {name}", "ns", found, {"peer": "minimal producer", "plus_at_most": 600})


def cupy_rows(block: Block) -> list[dict[str, Any]]:
    if cupy is None:
        return []
    lender = Lender(block.pointer, cupy_array(block))
    return [
        intake_row(
            "CuPy: from_dlpack(via.wrap)",
            lambda: cupy.from_dlpack(block.wrap()),
            lambda: cupy.from_dlpack(lender),
            UnownedMemory=lambda: cupy_array(block),
        ),
        intake_row(
            "CuPy: asarray(via.wrap)", lambda: cupy.asarray(block.wrap()), lambda: cupy.asarray(Lender(block.pointer))
        ),
    ]


def numba_rows(block: Block) -> list[dict[str, Any]]:
    if numba_cuda is None:
        return []
    lender = Lender(block.pointer)
    ours = lambda: numba_cuda.as_cuda_array(block.wrap())  # noqa: E731
    return [intake_row("Numba: as_cuda_array(via.wrap)", ours, lambda: numba_cuda.as_cuda_array(lender))]


def jax_rows(block: Block) -> list[dict[str, Any]]:
    if jax is None or not any(device.platform == "gpu" for device in jax.devices()):
        return []
    jax_dlpack = importlib.import_module("jax.dlpack")
    lender = Lender(block.pointer, block.wrap())
    ours = lambda: jax_dlpack.from_dlpack(block.wrap())  # noqa: E731
    return [intake_row("JAX: from_dlpack(via.wrap)", ours, lambda: jax_dlpack.from_dlpack(lender))]


# ------------------------------------------------------------------------------------------------ copies


def finished(call: Call) -> Call:
    """The call, and then the wait that its peers leave to their caller."""

    def both() -> None:
        call()
        torch.cuda.synchronize()

    return both


class Copies:
    """One large block on either side, seen by all who copy."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.host = numpy.ones(nbytes, numpy.uint8)
        self.device = via.empty((nbytes,), "uint8", device=DEVICE)
        self.ours = via.asarray(self.host)

    def rows(self, name: str, cases: dict[str, Call], ratios: dict[str, float]) -> list[dict[str, Any]]:
        times = medians(cases, 9, 1)
        rates = {who: self.nbytes / time for who, time in times.items()}
        case = f"{name}, {self.nbytes // MIB} MiB"
        return [
            row(f"{case}; {who}", "GB/s", rates, {"peer": who, "at_least": ratio})
            for who, ratio in ratios.items()
            if who in cases
        ]

    def to_device(self, ratio: float) -> list[dict[str, Any]]:
        cases: dict[str, Call] = {"viaduct": lambda: via.copy(self.device, self.ours)}
        if torch is not None:
            there, here = torch.from_dlpack(self.device), torch.from_numpy(self.host)
            cases["torch"] = finished(lambda: there.copy_(here))
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: (array.set(self.host), cupy.cuda.get_current_stream().synchronize())
        return self.rows("NumPy array to device", cases, {"torch": ratio, "CuPy": ratio})

    def to_host(self) -> list[dict[str, Any]]:
        cases: dict[str, Call] = {"viaduct": lambda: via.copy(self.ours, self.device)}
        if torch is not None:
            there, here = torch.from_dlpack(self.device), torch.from_numpy(self.host)
            cases["torch"] = lambda: here.copy_(there)
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: array.get(out=self.host)
        return self.rows("device to NumPy array, touched", cases, {"CuPy": 2.4})

    def to_new_host(self) -> list[dict[str, Any]]:
        cases: dict[str, Call] = {"viaduct": lambda: self.device.copy(device="cpu")}
        if torch is not None:
            there = torch.from_dlpack(self.device)
            cases["torch"] = lambda: there.cpu()
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: array.get()
        return self.rows("device to new host array", cases, {"torch": 8})


def copy_rows() -> list[dict[str, Any]]:
    found = []
    for nbytes, ratio in ((256 * MIB, 4.0), (1024 * MIB, 4.5)):
        copies = Copies(nbytes)
        found += copies.to_device(ratio) + copies.to_host() + copies.to_new_host()
    return found


# ------------------------------------------------------------------------------------------------ all together


def rows() -> list[dict[str, Any]]:
    block, found = Block(), []
    for part in (own_part_rows, torch_rows, cupy_rows, numba_rows, jax_rows):
        try:
            found += part(block)
        except Exception:
            # What one peer cannot do must not cost the rows of the others.
            print(f"{part.__name__} failed", file=sys.stderr)
            traceback.print_exc()
    return found + copy_rows()


if __name__ == "__main__":
    for line in rows():
        print(line)
