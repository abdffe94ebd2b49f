"""A CuPy array on a GPU pointer, in CuPy's own way and in Viaduct's. Without a GPU, a NumPy array on a host pointer."""

from __future__ import annotations

import ctypes
from typing import Any

import viaduct as via
from pointer_source import DEVICE, ON_GPU, Block, floats, optional, optional_on_gpu, say, say_where

ROWS, COLUMNS = 6, 8


def in_its_own_way(library: Any, block: Block) -> Any:
    """What is said of size and type is believed, and `block` is held as an object: nothing calls its free()."""
    if ON_GPU:
        memory = library.cuda.UnownedMemory(block.ptr, block.nbytes, owner=block)
        return library.ndarray((ROWS, COLUMNS), library.float32, library.cuda.MemoryPointer(memory, 0))
    pointer = ctypes.cast(block.ptr, ctypes.POINTER(ctypes.c_float))
    return library.ctypeslib.as_array(pointer, (ROWS, COLUMNS))


def by_viaduct(library: Any, block: Block) -> Any:
    """The address is looked up; free() runs once, when the last array on the memory is gone."""
    image = via.wrap(block.ptr, (ROWS, COLUMNS), "float32", device=DEVICE, release=block.free)
    return library.from_dlpack(image[1:, ::2])  # any view: rows and columns apart


def show_refusal(block: Block) -> None:
    try:
        via.wrap(block.ptr, (ROWS, COLUMNS, 1 << 40), "float32", device=DEVICE)
    except via.Error as error:
        say(f"  Viaduct refuses a shape that goes past the memory: {error}")


def main() -> None:
    say_where("NumPy arrays on host memory serve")
    library = (
        optional_on_gpu("cupy", "CuPy", lambda cupy: cupy.is_available()) if ON_GPU else optional("numpy", "NumPy")
    )
    if library is None:
        return
    name = "CuPy" if ON_GPU else "NumPy"
    block = Block(floats(range(ROWS * COLUMNS)))

    theirs = in_its_own_way(library, block)
    ours = by_viaduct(library, block)
    say(f"  {name}'s own way: {type(theirs).__module__}.{type(theirs).__name__} {theirs.shape}, the block at its start")
    say(f"  by Viaduct: {type(ours).__module__}.{type(ours).__name__} {ours.shape}, strides {ours.strides}")
    theirs[1, 2] = 100
    say(f"  written through one, read through the other: {float(ours[0, 1]):g}")
    show_refusal(block)

    del theirs
    say(f"  freed while Viaduct's array lives: {'yes' if block.freed else 'no'}")
    del ours
    via.stats()
    say(f"  freed once it is gone: {'yes' if block.freed else 'no'}")


if __name__ == "__main__":
    main()
