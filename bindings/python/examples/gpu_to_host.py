"""A GPU array to the CPU by pointers: at once, on a stream, and as an array of C structs.

Each next to the driver's own call, which takes bytes that lie together and pinned memory if it is to be quick.
Without a GPU the same copies stay on the host. bindings/c/examples/gpu_to_host.c is the same in C.
"""

from __future__ import annotations

import ctypes
import struct

import viaduct as via
from pointer_source import DEVICE, ON_GPU, Block, Driver, floats, say, say_where

COUNT = 1 << 16


class Particle(ctypes.Structure):
    """As a C header has it."""

    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("id", ctypes.c_int32), ("mass", ctypes.c_double)]


def by_the_driver(dst: int, block: Block) -> None:
    if ON_GPU:
        Driver().call(
            "cuMemcpyDtoH_v2", ctypes.c_void_p(dst), ctypes.c_uint64(block.ptr), ctypes.c_size_t(block.nbytes)
        )
    else:
        ctypes.memmove(dst, block.ptr, block.nbytes)


def at_once(block: Block) -> None:
    theirs, ours = (ctypes.c_float * COUNT)(), (ctypes.c_float * COUNT)()
    by_the_driver(ctypes.addressof(theirs), block)
    # Both addresses may be of any memory. In one call, if bytes are all there is to say:
    via.raw.via_memcpy(ctypes.addressof(ours), block.ptr, block.nbytes, None)
    say(f"  at once, from pointer to pointer: {'the same' if bytes(theirs) == bytes(ours) else 'ANOTHER'} content")

    # As arrays, of any layouts: every second element, backwards.
    on_device = via.wrap(block.ptr, COUNT, "float32", device=DEVICE, owner=block)
    some = (ctypes.c_float * (COUNT // 2))()
    via.copyto(some, on_device[::-2])
    say(f"  at once, every second element backwards: {some[0]:g}, {some[1]:g} ... {some[COUNT // 2 - 1]:g}")


def on_a_stream(block: Block) -> None:
    """The copy is queued behind what the stream has to do; pinned memory lets the call return before it is done."""
    on_device = via.wrap(block.ptr, COUNT, "float32", device=DEVICE, owner=block)
    if not ON_GPU:
        task = via.copy_submit(via.empty(COUNT, "float32"), on_device)
        task.wait()
        say(f"  behind the caller, as there are no streams: {task.progress()[0]} bytes")
        return
    stream, out = via.Stream(), via.empty(COUNT, "float32", device="pinned")
    via.fill(on_device, 7, stream=stream)
    via.copyto(out, on_device, stream=stream)
    stream.synchronize()
    say(f"  on a stream, behind a fill: {out[0].item():g} ... {out[COUNT - 1].item():g}")


def as_structs() -> None:
    content = b"".join(struct.pack("ffi4xd", i, 2 * i, i, i / 2) for i in range(COUNT))
    block = Block(content)
    particles = via.wrap(block.ptr, COUNT, Particle, device=DEVICE, release=block.free)

    theirs = (Particle * COUNT)()
    by_the_driver(ctypes.addressof(theirs), block)
    ours = (Particle * COUNT)()
    via.copyto(ours, particles)
    same = bytes(theirs) == bytes(ours)
    say(f"  as C structs of {ctypes.sizeof(Particle)} bytes: number 9 has x {ours[9].x:g}, mass {ours[9].mass:g}")
    say(f"  the driver's copy of them is {'the same' if same else 'ANOTHER'}")

    # One field of all: only its bytes cross the link.
    masses = particles.field(Particle.mass.offset, "float64").copy(device="cpu")
    say(f"  the masses alone, {masses.nbytes} of {particles.nbytes} bytes: {masses[9].item():g} is number 9's")


def main() -> None:
    say_where("both ends are host memory")
    block = Block(floats(range(COUNT)))
    at_once(block)
    on_a_stream(block)
    as_structs()
    block.free()


if __name__ == "__main__":
    main()
