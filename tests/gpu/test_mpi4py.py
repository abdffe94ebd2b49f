"""mpi4py: its buffer specification on device memory, by address."""

from __future__ import annotations

import os

import pytest
import viaduct as via
from gpu_peers import counted, gpu_peer

os.environ.setdefault("MPI4PY_RC_INITIALIZE", "0")
mpi4py = gpu_peer("mpi4py", lambda _: True)
try:
    from mpi4py import MPI
except Exception as missing:  # noqa: BLE001  (an MPI library that cannot be loaded)
    pytest.skip(f"mpi4py finds no MPI: {missing}", allow_module_level=True)


@pytest.mark.parametrize("device", ["cpu", "pinned", "managed", "cuda:0"])
def test_a_buffer_specification_has_the_raw_address(device: str) -> None:
    a = counted(12, shape=(3, 4)).copy(device)
    make = getattr(MPI, "buffer", None) or MPI.memory
    buffer = make(a)
    assert buffer.address == a.ptr and buffer.nbytes == 48


def test_an_address_of_mpis_is_wrapped() -> None:
    make = getattr(MPI, "buffer", None) or MPI.memory
    room = make.allocate(48) if hasattr(make, "allocate") else make.fromaddress(via.empty(48, "uint8").ptr, 48)
    a = via.wrap(room.address, 12, "float32", device="any", owner=room)
    assert a.ptr == room.address and a.nbytes == 48
