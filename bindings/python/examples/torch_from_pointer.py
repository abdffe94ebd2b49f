"""A PyTorch tensor on a CUDA pointer, in the ways that PyTorch has and in Viaduct's. Without a GPU, on a host pointer."""

from __future__ import annotations

import ctypes
from typing import Any

import viaduct as via
from pointer_source import DEVICE, ON_GPU, Block, floats, optional, optional_on_gpu, say, say_where

ROWS, COLUMNS = 6, 8


class Pretended:
    """PyTorch takes an address only from what has this attribute: a class has to be made up for it."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.__cuda_array_interface__ = {
            "shape": (ROWS, COLUMNS),
            "typestr": "<f4",
            "data": (block.ptr, False),
            "strides": None,
            "version": 3,
        }


def in_its_own_way(torch: Any, block: Block) -> Any:
    if ON_GPU:
        return torch.as_tensor(Pretended(block), device="cuda")
    memory = (ctypes.c_float * (ROWS * COLUMNS)).from_address(block.ptr)
    return torch.frombuffer(memory, dtype=torch.float32).reshape(ROWS, COLUMNS)


def by_viaduct(torch: Any, block: Block) -> Any:
    """In one call, and the quickest; free() runs once, when the last tensor on the memory is gone."""
    return via.wrap(block.ptr, (ROWS, COLUMNS), "float32", device=DEVICE, release=block.free, to=torch.Tensor)


def with_another_layout(torch: Any, block: Block) -> Any:
    """Fortran order, of every second column; Viaduct's array may be viewed before it is exported."""
    image = via.wrap(block.ptr, (COLUMNS, ROWS), "float32", device=DEVICE, owner=block).T
    return torch.from_dlpack(image[:, ::2])


def main() -> None:
    say_where("tensors on host memory serve")
    torch = (
        optional_on_gpu("torch", "PyTorch", lambda torch: torch.cuda.is_available())
        if ON_GPU
        else optional("torch", "PyTorch")
    )
    if torch is None:
        return
    block = Block(floats(range(ROWS * COLUMNS)))

    theirs, ours = in_its_own_way(torch, block), by_viaduct(torch, block)
    same = theirs.data_ptr() == ours.data_ptr() == block.ptr
    say(f"  PyTorch's own way and Viaduct's: tensors on {ours.device}, {'both' if same else 'NOT'} at the pointer")
    theirs[1, 2] = 100
    say(f"  written through one, read through the other: {float(ours[1, 2]):g}")
    transposed = with_another_layout(torch, block)
    layout = f"{tuple(transposed.shape)}, strides {transposed.stride()}"
    say(f"  another layout of the same memory: {layout}, sum {float(transposed.sum()):g}")

    del theirs, transposed
    say(f"  freed while Viaduct's tensor lives: {'yes' if block.freed else 'no'}")
    del ours
    via.stats()
    say(f"  freed once it is gone: {'yes' if block.freed else 'no'}")


if __name__ == "__main__":
    main()
