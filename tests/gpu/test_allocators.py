"""The caller's own allocators for device memory, with the stream that an allocation is ordered on."""

from __future__ import annotations

import time

import pytest
import viaduct as via
from cuda_driver import Block
from test_allocators_example import assert_everyone_got_their_memory_back
from test_allocators_example import run as run_example


class Arena:
    """As RMM, CuPy's pool or torch's allocator would be used: two functions, and who asked for what."""

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self.asked: list[tuple[int, int]] = []
        self.returned: list[tuple[int, int, int]] = []

    def alloc(self, nbytes: int, alignment: int, stream: int) -> int:
        block = Block(nbytes)
        assert block.ptr % alignment == 0
        self.blocks[block.ptr] = block
        self.asked.append((nbytes, stream))
        return block.ptr

    def free(self, address: int, nbytes: int, stream: int) -> None:
        self.returned.append((address, nbytes, stream))
        self.blocks.pop(address).free()

    def memory(self) -> via.Memory:
        return via.memory(alloc=self.alloc, free=self.free, device="cuda:0")


def settled(arena: Arena) -> bool:
    deadline = time.monotonic() + 5
    while arena.blocks and time.monotonic() < deadline:
        via.stats()
        time.sleep(0.001)
    return not arena.blocks


def test_blocks_come_from_and_go_back_to_the_callers_functions() -> None:
    arena = Arena()
    a = via.empty((3, 4), "float32", memory=arena.memory())
    assert a.device == "cuda:0" and a.ptr in arena.blocks and arena.asked == [(48, 0)]
    address = a.ptr
    via.fill(a, 2)
    view = a[1:]
    del a
    assert arena.blocks
    del view
    assert settled(arena) and arena.returned[0][:2] == (address, 48)


@pytest.mark.parametrize("device", ["cuda:0", "pinned", "managed", "cpu"])
def test_a_memory_of_no_kind_is_the_usual_one_of_its_device(device: str) -> None:
    a = via.empty(4, "int8", memory=via.memory(device=device))
    assert a.device == via.empty(4, "int8", device=device).device == device


def test_the_stream_is_handed_on() -> None:
    arena, stream = Arena(), via.Stream()
    a = via.empty(16, "uint8", memory=arena.memory(), stream=stream)
    assert arena.asked == [(16, stream.handle)]
    via.fill(a, 1, stream=stream)
    del a
    assert settled(arena)


def test_no_block_is_asked_for_without_elements() -> None:
    arena = Arena()
    a = via.empty((0, 4), "float32", memory=arena.memory())
    assert a.size == 0 and not arena.asked


def test_the_example_uses_what_is_here_and_gives_it_all_back() -> None:
    output = run_example()
    assert assert_everyone_got_their_memory_back(output) >= 1
    for name in ("RMM", "CuPy's pool", "PyTorch's allocator"):
        assert f"{name} is left out: " in output or f"{name}: <viaduct.Array" in output


def test_a_failing_allocator_reports_its_own_error() -> None:
    def alloc(nbytes: int, alignment: int, stream: int) -> int:
        raise MemoryError("the pool is full")

    memory = via.memory(alloc=alloc, free=lambda *_: None, device="cuda:0")
    with pytest.raises(MemoryError, match="the pool is full"):
        via.empty(4, "int8", memory=memory)
