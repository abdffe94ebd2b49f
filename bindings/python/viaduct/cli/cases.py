"""What `bench` times on the host and on devices: the machine's limits, and each route with the limit it is up against."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .. import Array, copy, device_info, empty, num_threads
from . import driver

LIBC = ctypes.CDLL(None)
FLOAT_BYTES = 4
CHANNELS = 64
PICTURE = 56
AT_ONCE = 8  # copies on a device, where the call would else count
TILE = 64
PLAIN = "contiguous"
TO_DEVICE = ("driver, pinned to device", "pinned to device")
TO_HOST = ("driver, device to pinned", "device to pinned")
ON_DEVICE = ("driver, on the device", "on the device")


@dataclass
class Case:
    """One thing to time. The best of `limits`, of cases before it or its own, is the limit; without any it is one
    itself, made by means that are none of the library's. `share` is the part of the limit that can be reached: who
    reads every second element has to read the others too."""

    name: str
    nbytes: int
    run: Callable[[], object]
    limits: tuple[str, ...] = ()
    share: float = 1.0
    before: Callable[[], object] | None = None


@dataclass
class Group:
    """What is timed together, with what it keeps until then."""

    title: str
    cases: Sequence[Case]
    close: Callable[[], object] = lambda: None


def copies(dst: Array, src: Array) -> Callable[[], object]:
    return functools.partial(copy, dst, src)


def touched(nbytes: int, device: str = "cpu") -> Array:
    """Bytes whose pages are there."""
    array = empty(nbytes, "uint8", device=device)
    array.fill(1)
    return array


def square(block: Array) -> Array:
    """As much of the bytes as makes a square of floats."""
    side = max(math.isqrt(block.size // FLOAT_BYTES) // TILE * TILE, 1)
    return block[: side * side * FLOAT_BYTES].view("float32").reshape(side, side)


def images(block: Array) -> Array:
    """As much of the bytes as makes what a layer of a network sees of pictures, channels first."""
    nbytes = CHANNELS * PICTURE * PICTURE * FLOAT_BYTES
    used = block.size // nbytes * nbytes
    return block[:used].view("float32").reshape(-1, CHANNELS, PICTURE, PICTURE)


def channels_last(block: Array, like: Array) -> Array:
    """The same bytes as images of that shape whose channels are adjacent."""
    count, channels, height, width = like.shape
    plain = block[: like.nbytes].view("float32").reshape(count, height, width, channels)
    return plain.transpose(0, 3, 1, 2)


def half(block: Array) -> tuple[Array, Array]:
    """Every second column of a square, and where it is put."""
    columns = square(block)[:, ::2]
    return columns, empty(columns.shape, "float32", device=block.device)


# ------------------------------------------------------------------------------------------------ the host


def host_group(nbytes: int) -> Group:
    src, dst = touched(nbytes), touched(nbytes)
    threads = num_threads()
    pool = ThreadPoolExecutor(threads)
    best = f"memcpy, {threads} threads"
    plain = [Case("memcpy, 1 thread", nbytes, functools.partial(memcpy, dst.ptr, src.ptr, nbytes))]
    if threads > 1:
        plain.append(Case(best, nbytes, functools.partial(memcpy_by, pool, threads, dst.ptr, src.ptr, nbytes)))
    limits = (*(case.name for case in plain), PLAIN)
    return Group(device_info("cpu")["name"], [*plain, *host_cases(dst, src, limits)], pool.shutdown)


def host_cases(dst: Array, src: Array, best: tuple[str, ...]) -> list[Case]:
    """Their limit is the fastest plain copy, whosever: memcpy may write through the cache what it need not."""
    columns, dense = half(src)
    return [
        Case(PLAIN, src.nbytes, copies(dst, src), best),
        Case("transposed", square(src).nbytes, copies(square(dst), square(src).T), best),
        Case("NCHW to NHWC", images(src).nbytes, copies(channels_last(dst, images(src)), images(src)), best),
        Case("every second column", dense.nbytes, copies(dense, columns), best, 2 / 3),
    ]


def memcpy(dst: int, src: int, nbytes: int) -> None:
    LIBC.memcpy(ctypes.c_void_p(dst), ctypes.c_void_p(src), ctypes.c_size_t(nbytes))


def memcpy_by(pool: ThreadPoolExecutor, threads: int, dst: int, src: int, nbytes: int) -> None:
    """A part for each thread; the calls release the interpreter."""
    part = -(-nbytes // threads)
    starts = range(0, nbytes, part)
    list(pool.map(lambda start: memcpy(dst + start, src + start, min(part, nbytes - start)), starts))


# ------------------------------------------------------------------------------------------------ devices


def device_group(number: int, nbytes: int) -> Group:
    """Pinned memory sets the limits of the link, the driver's own copy that of the device."""
    driver.use_device(number)
    device = f"cuda:{number}"
    here, there = touched(nbytes, device), touched(nbytes, device)
    locked, pageable = touched(nbytes, "pinned"), touched(nbytes)
    limits = [
        Case(TO_DEVICE[0], nbytes, functools.partial(driver.copy_to_device, here.ptr, locked.ptr, nbytes)),
        Case(TO_HOST[0], nbytes, functools.partial(driver.copy_to_host, locked.ptr, here.ptr, nbytes)),
        Case(
            ON_DEVICE[0],
            nbytes * AT_ONCE,
            functools.partial(driver.copy_on_device, there.ptr, here.ptr, nbytes, AT_ONCE),
        ),
    ]
    cases = [*link_cases(here, locked, pageable), *inside_cases(there, here)]
    return Group(f"{device}, {device_info(device)['name']}", [*limits, *cases])


def link_cases(here: Array, locked: Array, pageable: Array) -> list[Case]:
    nbytes, bytes_of_square = here.nbytes, square(here).nbytes
    return [
        Case(TO_DEVICE[1], nbytes, copies(here, locked), TO_DEVICE),
        Case(TO_HOST[1], nbytes, copies(locked, here), TO_HOST),
        Case("pageable to device", nbytes, copies(here, pageable), TO_DEVICE),
        Case("device to pageable", nbytes, copies(pageable, here), TO_HOST),
        Case("pageable to device, transposed", bytes_of_square, copies(square(here), square(pageable).T), TO_DEVICE),
        Case("device to pageable, transposed", bytes_of_square, copies(square(pageable), square(here).T), TO_HOST),
    ]


def inside_cases(there: Array, here: Array) -> list[Case]:
    columns, dense = half(here)
    return [
        Case(ON_DEVICE[1], here.nbytes, copies(there, here), ON_DEVICE),
        Case("on the device, transposed", square(here).nbytes, copies(square(there), square(here).T), ON_DEVICE),
        Case("on the device, every second column", dense.nbytes, copies(dense, columns), ON_DEVICE, 2 / 3),
    ]
