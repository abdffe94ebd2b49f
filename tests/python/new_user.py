"""A program as one writes it who knows NumPy and torch, over all that makes, copies, waits for and shares arrays."""

from __future__ import annotations

import asyncio
import multiprocessing
from pathlib import Path
from typing import Any

import viaduct as via


def make_and_copy(numpy: Any) -> None:
    pixels = numpy.arange(6, dtype="float32").reshape(2, 3)
    a = via.zeros((2, 3), numpy.float32)
    via.copyto(a, pixels)
    via.copyto(a[0], 7)
    via.copyto(a[1], via.ones_like(a[0]))
    assert a.tolist() == [[7] * 3, [1] * 3] and [len(row) for row in a] == [3, 3]
    assert via.full_like(pixels, 2, dtype="int8", device="cpu").tolist() == via.full((2, 3), 2, "int8").tolist()
    assert via.asarray(pixels, dtype=pixels.dtype, device="cpu").ptr == pixels.ctypes.data
    assert via.asarray(pixels, copy=True).ptr != pixels.ctypes.data
    same = via.wrap(pixels.ctypes.data, pixels.shape, pixels.dtype, owner=pixels, check=False, to=via.Array)
    assert same.ptr == pixels.ctypes.data


async def wait_for_many(batch: via.Batch) -> None:
    tasks = {batch.submit() for _ in range(3)}
    wait: Any = asyncio.wait
    done, pending = await wait(tasks, timeout=20)
    assert done == tasks and not pending and all(task.exception() is None for task in tasks)
    await asyncio.gather(*[batch.submit(), batch.submit()])
    await asyncio.wait_for(batch.submit(), 20)


def copy_many() -> None:
    rows, image = [via.empty(4, "int16") for _ in range(3)], via.full((3, 4), 5, "int16")
    batch = via.Batch()
    for dst, src in zip(rows, image, strict=True):
        batch.add(dst, src)
    batch.run()
    assert len(batch) == 3 and all(dst.tolist() == src.tolist() for dst, src in batch)
    batch.submit().result(timeout=20)
    asyncio.run(wait_for_many(batch))


def read_back(folder: Path) -> None:
    with via.open(folder / "a.npy", "w", dtype="float64", shape=(2, 2)) as file:
        file.write(via.ones((2, 2), "float64"))
        assert "a.npy" in repr(file) and file.read_submit(via.empty((2, 2), "float64")).result() is None


def work(image: via.Array, row: int) -> None:
    image[row].fill(row)


def share(method: str) -> None:
    image = via.zeros((3, 2), "uint8", memory="shared")
    with multiprocessing.get_context(method).Pool(2) as pool:
        pool.starmap(work, [(image, row) for row in range(3)])
    assert image.tolist() == [[0, 0], [1, 1], [2, 2]]
