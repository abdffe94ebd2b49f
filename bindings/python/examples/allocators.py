"""RMM, CuPy's pool and PyTorch's caching allocator serve as Viaduct's own memory: one pool for a whole program.

Each that is installed, and finds a GPU, allocates an array, which a copy fills and reads back; then it gets its memory
back. Without a GPU, posix_memalign and free stand in for them, as any pair of functions may.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import time
from collections.abc import Callable
from typing import Any, Protocol

import viaduct as via

SHAPE = (256, 1024)


def say(text: str = "") -> None:
    print(text, flush=True)


class Allocator(Protocol):
    """What via.memory() takes, and what it says of itself. `stream` is the number of the CUstream that orders the
    allocation, 0 for the legacy one; memory comes back when nothing uses it any more, on a device neither."""

    name: str
    device: str

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int: ...
    def free(self, address: int, nbytes: int, stream: int) -> None: ...
    def in_use(self) -> int: ...


class Rmm:
    """The resource that is RMM's current one: a pool, a log, a limit, whatever the program has set up. Its memory is
    taken on the default stream, and the stream that it is meant for waits for that one."""

    name, device = "RMM", "cuda:0"

    def __init__(self) -> None:
        rmm = importlib.import_module("rmm")
        self.resource = rmm.mr.get_current_device_resource()
        self.given: dict[int, int] = {}

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        address = int(self.resource.allocate(nbytes))
        self.given[address] = nbytes
        if stream:
            via.Stream.wrap(stream).wait(via.Stream.legacy.record())
        return address

    def free(self, address: int, nbytes: int, stream: int) -> None:
        self.resource.deallocate(address, nbytes)
        del self.given[address]

    def in_use(self) -> int:
        return sum(self.given.values())


class CuPy:
    """CuPy's default pool, which keeps what it has by stream."""

    name, device = "CuPy's pool", "cuda:0"

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")
        self.cupy.cuda.Device(0).use()
        self.pool = self.cupy.get_default_memory_pool()
        self.given: dict[int, Any] = {}

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        with self.cupy.cuda.ExternalStream(stream):
            memory = self.pool.malloc(nbytes)
        self.given[memory.ptr] = memory
        return int(memory.ptr)

    def free(self, address: int, nbytes: int, stream: int) -> None:
        del self.given[address]

    def in_use(self) -> int:
        return int(self.pool.used_bytes())


class Torch:
    """PyTorch's caching allocator, by the two functions that it has for other libraries."""

    name, device = "PyTorch's allocator", "cuda:0"

    def __init__(self) -> None:
        self.cuda = importlib.import_module("torch").cuda
        self.cuda.init()

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        return int(self.cuda.caching_allocator_alloc(nbytes, 0, stream))

    def free(self, address: int, nbytes: int, stream: int) -> None:
        self.cuda.caching_allocator_delete(address)

    def in_use(self) -> int:
        return int(self.cuda.memory_allocated(0))


class Host:
    """The C library's own."""

    name, device = "posix_memalign", "cpu"

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.given: dict[int, int] = {}

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        address = ctypes.c_void_p()
        failed = self.libc.posix_memalign(ctypes.byref(address), ctypes.c_size_t(alignment), ctypes.c_size_t(nbytes))
        if failed or address.value is None:
            raise MemoryError(f"posix_memalign has no {nbytes} bytes")
        self.given[address.value] = nbytes
        return address.value

    def free(self, address: int, nbytes: int, stream: int) -> None:
        self.libc.free(address)
        del self.given[address]

    def in_use(self) -> int:
        return sum(self.given.values())


def found() -> list[Allocator]:
    """Those that can be had here; why not, of the others."""
    if via.device_count() == 0:
        say("There is no CUDA device, so host memory serves instead.")
        return [Host()]
    usable: list[Allocator] = []
    kinds: list[Callable[[], Allocator]] = [Rmm, CuPy, Torch]
    for make in kinds:
        try:
            usable.append(make())
        except Exception as error:  # noqa: BLE001  (each library has its own for a device that it cannot use)
            say(f"{make.name} is left out: {error}")  # type: ignore[attr-defined]
    if not usable:
        say("None of them can be had, so host memory serves instead.")
    return usable or [Host()]


def settle(allocator: Allocator, before: int) -> None:
    """Memory comes back once the device is done with it, a moment after the last owner has released it."""
    deadline = time.monotonic() + 5
    while allocator.in_use() > before and time.monotonic() < deadline:
        gc.collect()
        via.stats()
        time.sleep(0.001)


def use(allocator: Allocator) -> None:
    before = allocator.in_use()
    memory = via.memory(alloc=allocator.alloc, free=allocator.free, device=allocator.device)
    array = via.empty(SHAPE, "float32", memory=memory)
    say(f"\n{allocator.name}: {array}")
    say(f"  in use: {allocator.in_use() - before} bytes more than before")
    array.fill(2.5)
    rows = array[1:3]
    del array, memory
    read = rows.copy(device="cpu")
    say(f"  read back through a view: {read[1, 1023].item()}")
    say(f"  in use while the view lives: {allocator.in_use() - before} bytes more")
    del rows
    settle(allocator, before)
    say(f"  in use once it is gone: {allocator.in_use() - before} bytes more")


def main() -> None:
    for allocator in found():
        use(allocator)
    stats = via.stats()
    say(f"\nleft alive: {stats['live_arrays']} arrays, {stats['live_storages']} storages")


if __name__ == "__main__":
    main()
