"""RMM: its buffers taken, and its memory resources serving as ours."""

from __future__ import annotations

import viaduct as via
from gpu_peers import gpu_peer

rmm = gpu_peer("rmm", lambda module: bool(module.mr.get_current_device_resource()))


def test_a_device_buffer_is_taken_and_its_raw_pointer_wrapped() -> None:
    buffer = rmm.DeviceBuffer(size=4096)
    a = via.asarray(buffer)
    assert a.ptr == buffer.ptr and a.nbytes == 4096 and a.device == "cuda:0"
    b = via.wrap(buffer.ptr, (1024,), "float32", device="cuda:0", owner=buffer)
    b.fill(1)
    assert a.view("float32").copy("cpu")[5].item() == 1


def test_a_memory_resource_serves_as_ours() -> None:
    resource = rmm.mr.get_current_device_resource()
    given: list[int] = []

    def alloc(nbytes: int, alignment: int, stream: int) -> int:
        given.append(resource.allocate(nbytes))
        return given[-1]

    def free(address: int, nbytes: int, stream: int) -> None:
        resource.deallocate(address, nbytes)
        given.remove(address)

    memory = via.memory(alloc=alloc, free=free, device="cuda:0")
    a = via.empty((8, 8), "float64", memory=memory)
    a.fill(2)
    assert a.ptr in given and a.copy("cpu")[3, 3].item() == 2
    del a, memory
    via.stats()
    assert not given
