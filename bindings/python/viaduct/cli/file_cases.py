"""What `bench` times of files: reads of what is in the page cache and of what is not, next to the system's own."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .. import Array, File, device_count, num_threads, open
from .cases import TO_DEVICE, Case, Group, touched

SCRATCH = "viaduct-bench-"
BLOCK = 4 << 20
DIRECT_READERS = 4
CACHED = ("pread by all threads, cached", "cached")
DIRECT = (f"direct reads, {DIRECT_READERS} threads", "not cached")


def file_group(folder: str | None, nbytes: int) -> Group:
    """A file of its own in that folder, gone when the group is closed. Its title says where."""
    place = tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder)
    path = Path(place.name) / "data"
    make_file(path, nbytes)
    file, pool = open(path), ThreadPoolExecutor(max(num_threads(), DIRECT_READERS))

    def close() -> None:
        file.close()
        pool.shutdown()
        place.cleanup()

    return Group(f"a file in {Path(place.name).parent}", file_cases(path, file, pool, nbytes), close)


def make_file(path: Path, nbytes: int) -> None:
    """On the disk, so that its pages may be dropped."""
    block = os.urandom(1 << 16) * (BLOCK >> 16)
    with path.open("wb") as written:
        for start in range(0, nbytes, BLOCK):
            written.write(block[: nbytes - start])
        written.flush()
        os.fsync(written.fileno())


def file_cases(path: Path, file: File, pool: ThreadPoolExecutor, nbytes: int) -> list[Case]:
    dst = touched(nbytes)
    read = functools.partial(file.read, dst)
    cases = [
        Case(CACHED[0], nbytes, functools.partial(read_cached, path, pool, dst, nbytes)),
        Case(CACHED[1], nbytes, read, CACHED),
    ]
    if device_count("cuda") > 0:
        cases.append(
            Case("cached, to device", nbytes, functools.partial(file.read, touched(nbytes, "cuda:0")), TO_DEVICE)
        )
    if has_direct_reads(path):
        drop = functools.partial(drop_pages, path)
        direct = functools.partial(read_direct, path, pool, nbytes)
        cases += [Case(DIRECT[0], nbytes, direct, before=drop), Case(DIRECT[1], nbytes, read, DIRECT, before=drop)]
    return cases


def drop_pages(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(number)


def has_direct_reads(path: Path) -> bool:
    """Memory's own file systems have none."""
    try:
        read_parts(path, os.O_DIRECT, 0, 1, BLOCK, lambda _: mmap.mmap(-1, BLOCK))
    except OSError:
        return False
    return True


def read_cached(path: Path, pool: ThreadPoolExecutor, dst: Array, nbytes: int) -> None:
    def room(offset: int) -> ctypes.Array[ctypes.c_char]:
        return (ctypes.c_char * min(BLOCK, nbytes - offset)).from_address(dst.ptr + offset)

    read_by(pool, num_threads(), path, 0, nbytes, room)


def read_direct(path: Path, pool: ThreadPoolExecutor, nbytes: int) -> None:
    """Into one block a thread, which pages begin with."""
    rooms = [mmap.mmap(-1, BLOCK) for _ in range(DIRECT_READERS)]
    read_by(pool, DIRECT_READERS, path, os.O_DIRECT, nbytes, lambda offset: rooms[offset // BLOCK % DIRECT_READERS])


Room = Callable[[int], "mmap.mmap | ctypes.Array[ctypes.c_char]"]


def read_by(pool: ThreadPoolExecutor, readers: int, path: Path, flags: int, nbytes: int, room: Room) -> None:
    """Each reader takes every so manieth block."""

    def read(number: int) -> None:
        read_parts(path, flags, number, readers, nbytes, room)

    list(pool.map(read, range(readers)))


def read_parts(path: Path, flags: int, first: int, step: int, nbytes: int, room: Room) -> None:
    number = os.open(path, os.O_RDONLY | flags)
    try:
        for offset in range(first * BLOCK, nbytes, step * BLOCK):
            os.preadv(number, [room(offset)], offset)
    finally:
        os.close(number)
