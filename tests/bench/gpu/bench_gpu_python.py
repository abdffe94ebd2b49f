"""The Python rows on a GPU: copies next to PyTorch's and CuPy's, and arrays made of a raw device pointer next to each
peer's own ways to that. Timed in turns, as in bench_python.py; a peer that is not here leaves its rows out."""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy
import viaduct as via
from bench_python import Call, medians, row

Take = Callable[[Any], Any]

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
pycuda = peer("pycuda.driver")


class Described:
    """The least that describes memory by the CUDA array interface: what it answers was made beforehand."""

    def __init__(self, pointer: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": SHAPE,
            "typestr": "<f4",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }


class Block:
    """Device memory that everyone here makes arrays of."""

    def __init__(self) -> None:
        nbytes = SHAPE[0] * SHAPE[1] * 4
        self.array = via.empty((nbytes,), "uint8", device=DEVICE)
        self.pointer, self.nbytes = self.array.ptr, nbytes

    def wrap(self) -> via.Array:
        return via.wrap(self.pointer, SHAPE, "float32", device=DEVICE)

    def wrap_unchecked(self) -> via.Array:
        return via.wrap(self.pointer, SHAPE, "float32", device=DEVICE, check=False)

    def capsule(self, max_version: tuple[int, int] | None = (1, 9999)) -> Any:
        return self.wrap_unchecked().__dlpack__(max_version=max_version, stream=-1)


class Exporter:
    """The least that exports memory by DLPack: it has nothing to find out, and to make only the capsule."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> Any:
        return self.block.capsule(max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def dlpack_medians(block: Block, take: Take, cases: dict[str, Call]) -> dict[str, float]:
    """The medians of some cases, and what the consumer itself takes for one: its time with the least of producers, less
    that of the capsule. No producer can be quicker."""
    exporter = Exporter(block)
    found = medians({**cases, "least": lambda: take(exporter), "capsule": block.capsule})
    own = found.pop("least") - found.pop("capsule")
    return found | {"the consumer's own part": own}


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
        "as_tensor of an interface": lambda: torch.as_tensor(Described(block.pointer), device=device)
    }
    if cupy is not None:
        ways["from_dlpack of CuPy"] = lambda: torch.from_dlpack(cupy_array(block))
    if hasattr(torch._C, "_construct_storage_from_data_pointer"):
        ways["set_ of a storage"] = lambda: torch_storage(block, device)
    return ways


def ways_to_torch(block: Block) -> dict[str, Call]:
    """Ours, the quickest last: a capsule goes straight to PyTorch's C++, and recent PyTorch has a table of C functions
    that makes tensors without one."""
    pointer, device = block.pointer, torch.device(DEVICE)
    ways: dict[str, Call] = {
        "from_dlpack(via.wrap)": lambda: torch.from_dlpack(via.wrap(pointer, SHAPE, "float32", device=DEVICE)),
        "as_tensor(via.wrap)": lambda: torch.as_tensor(
            via.wrap(pointer, SHAPE, "float32", device=DEVICE), device=device
        ),
        "from_dlpack(capsule)": lambda: torch.from_dlpack(
            via.wrap(pointer, SHAPE, "float32", device=DEVICE).__dlpack__(max_version=(1, 9999), stream=-1)
        ),
    }
    kind = torch.Tensor
    if hasattr(kind, "__dlpack_c_exchange_api__"):
        ways["via.wrap, to(torch.Tensor)"] = lambda: via.wrap(pointer, SHAPE, "float32", device=DEVICE).to(kind)
        ways["via.wrap, to=torch.Tensor"] = lambda: via.wrap(pointer, SHAPE, "float32", device=DEVICE, to=kind)
    return ways


def torch_rows(block: Block) -> list[dict[str, Any]]:
    if torch is None:
        return []
    ways, ours = torch_ways(block), ways_to_torch(block)
    found = dlpack_medians(block, torch.from_dlpack, {**ours, **ways})
    peers = {name: value for name, value in found.items() if name not in ours}
    fastest = min(ways, key=lambda name: found[name])
    return [
        row(
            f"raw pointer to torch: {name}",
            "ns",
            peers | {"viaduct": found[name]},
            {"peer": fastest, "at_most": 0.6 if name in ("from_dlpack(capsule)", "via.wrap, to=torch.Tensor") else 1.0},
        )
        for name in ours
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


def interface_row(name: str, take: Take, block: Block) -> dict[str, Any]:
    described = Described(block.pointer)
    found = medians({"viaduct": lambda: take(block.wrap()), "minimal producer": lambda: take(described)})
    return row(f"raw pointer to {name}", "ns", found, {"peer": "minimal producer", "plus_at_most": 600})


def dlpack_row(name: str, take: Take, block: Block, **others: Call) -> dict[str, Any]:
    found = dlpack_medians(block, take, {"viaduct": lambda: take(block.wrap()), **others})
    return row(f"raw pointer to {name}", "ns", found, {"peer": "the consumer's own part", "plus_at_most": 600})


def cupy_rows(block: Block) -> list[dict[str, Any]]:
    if cupy is None:
        return []
    return [
        dlpack_row("CuPy: from_dlpack(via.wrap)", cupy.from_dlpack, block, UnownedMemory=lambda: cupy_array(block)),
        interface_row("CuPy: asarray(via.wrap)", cupy.asarray, block),
    ]


def numba_rows(block: Block) -> list[dict[str, Any]]:
    if numba_cuda is None:
        return []
    return [interface_row("Numba: as_cuda_array(via.wrap)", numba_cuda.as_cuda_array, block)]


def jax_rows(block: Block) -> list[dict[str, Any]]:
    if jax is None or not any(device.platform == "gpu" for device in jax.devices()):
        return []
    return [dlpack_row("JAX: from_dlpack(via.wrap)", importlib.import_module("jax.dlpack").from_dlpack, block)]


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
        cases: dict[str, Call] = {"viaduct": lambda: via.copyto(self.device, self.ours)}
        if torch is not None:
            there, here = torch.from_dlpack(self.device), torch.from_numpy(self.host)
            cases["torch"] = finished(lambda: there.copy_(here))
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: (array.set(self.host), cupy.cuda.get_current_stream().synchronize())
        if pycuda is not None:
            cases["PyCUDA"] = lambda: pycuda.memcpy_htod(self.device.ptr, self.host)
        return self.rows("NumPy array to device", cases, {"torch": ratio, "CuPy": ratio})

    def to_host(self) -> list[dict[str, Any]]:
        cases: dict[str, Call] = {"viaduct": lambda: via.copyto(self.ours, self.device)}
        if torch is not None:
            there, here = torch.from_dlpack(self.device), torch.from_numpy(self.host)
            cases["torch"] = lambda: here.copy_(there)
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: array.get(out=self.host)
        if pycuda is not None:
            cases["PyCUDA"] = lambda: pycuda.memcpy_dtoh(self.host, self.device.ptr)
        return self.rows("device to NumPy array, touched", cases, {"CuPy": 2.4})

    def to_new_host(self) -> list[dict[str, Any]]:
        cases: dict[str, Call] = {"viaduct": lambda: self.device.copy(device="cpu")}
        if torch is not None:
            there = torch.from_dlpack(self.device)
            cases["torch"] = lambda: there.cpu()
        if cupy is not None:
            array = cupy.from_dlpack(self.device)
            cases["CuPy"] = lambda: array.get()
        if pycuda is not None:
            cases["PyCUDA"] = lambda: pycuda.from_device(self.device.ptr, self.nbytes, numpy.uint8)
        return self.rows("device to new host array", cases, {"torch": 8})


@contextlib.contextmanager
def context_of_pycuda() -> Iterator[None]:
    """The others' own, which it makes nobody's by itself; one that is still current at its end ends the process."""
    if pycuda is None:
        yield
        return
    pycuda.init()
    context = pycuda.Device(0).retain_primary_context()
    context.push()
    try:
        yield
    finally:
        context.pop()


@context_of_pycuda()
def copy_rows() -> list[dict[str, Any]]:
    found = []
    for nbytes, ratio in ((256 * MIB, 4.0), (1024 * MIB, 4.5)):
        copies = Copies(nbytes)
        found += copies.to_device(ratio) + copies.to_host() + copies.to_new_host()
    return found


# ------------------------------------------------------------------------------------------------ strided copies

EDGE = 8192

# Of a block of EDGE rows of twice as many floats, as any of the libraries has it: EDGE x EDGE of them.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda block: block[: EDGE // 2].reshape(EDGE, EDGE).T,
    "every 2nd column": lambda block: block[:, ::2],
    "inner columns": lambda block: block[:, EDGE // 2 : EDGE // 2 + EDGE],
    "every 2nd row": lambda block: block.reshape(2 * EDGE, EDGE)[::2],
}


class StridedCopies:
    """Views of a block of the host's, and as many floats that are adjacent on the device."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.block = via.empty((EDGE, 2 * EDGE), "float32", memory="pinned" if place == "pinned" else "host")
        self.numpy = numpy.asarray(self.block)
        self.numpy[:] = 1
        self.device = via.empty((EDGE, EDGE), "float32", device=DEVICE)
        self.torch = (torch.from_numpy(self.numpy), torch.from_dlpack(self.device)) if torch is not None else None
        self.cupy = cupy.from_dlpack(self.device) if cupy is not None else None

    def to_device(self, view: Callable[[Any], Any]) -> dict[str, Call]:
        ours, theirs = view(self.block), view(self.numpy)
        cases: dict[str, Call] = {"viaduct": lambda: via.copyto(self.device, ours)}
        if self.torch is not None:
            here, there = view(self.torch[0]), self.torch[1]
            cases["torch"] = finished(lambda: there.copy_(here))
        if self.cupy is not None:
            cases["CuPy"] = lambda: (self.cupy.set(theirs), cupy.cuda.get_current_stream().synchronize())
        return cases

    def to_host(self, view: Callable[[Any], Any]) -> dict[str, Call]:
        ours, theirs = view(self.block), view(self.numpy)
        cases: dict[str, Call] = {"viaduct": lambda: via.copyto(ours, self.device)}
        if self.torch is not None:
            here, there = view(self.torch[0]), self.torch[1]
            cases["torch"] = finished(lambda: here.copy_(there))
        if self.cupy is not None:
            cases["CuPy"] = lambda: numpy.copyto(theirs, self.cupy.get())
        return cases

    def rows(self, name: str, cases_of: Callable[[Any], dict[str, Call]], of_torch: float) -> list[dict[str, Any]]:
        found, all_rates = [], []
        for view, function in VIEWS.items():
            times = medians(cases_of(function), 3, 1)
            all_rates.append({who: EDGE * EDGE * 4 / time for who, time in times.items()})
            found.append(row(f"{name}, {view}", "GB/s", all_rates[-1], {}))
        means = {who: statistics.geometric_mean([rates[who] for rates in all_rates]) for who in all_rates[0]}
        return [*found, row(f"{name}, geometric mean of these", "GB/s", means, {"peer": "torch", "at_least": of_torch})]


def strided_rows() -> list[dict[str, Any]]:
    found = []
    for place, of_torch in (("pinned", 20), ("pageable", 15)):
        copies = StridedCopies(place)
        found += copies.rows(f"{place} to device, strided", copies.to_device, 7)
        found += copies.rows(f"device to {place}, strided", copies.to_host, of_torch)
    return found


# ------------------------------------------------------------------------------------------------ all together


def rows() -> list[dict[str, Any]]:
    block, found = Block(), []
    for part in (own_part_rows, torch_rows, cupy_rows, numba_rows, jax_rows):
        try:
            found += part(block)
        except Exception:  # noqa: BLE001  (what one peer cannot do must not cost the rows of the others)
            print(f"{part.__name__} failed", file=sys.stderr)
            traceback.print_exc()
    return found + copy_rows() + strided_rows()


if __name__ == "__main__":
    for line in rows():
        print(line)
