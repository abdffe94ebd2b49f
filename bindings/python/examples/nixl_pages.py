"""Pages of a cache go from one NIXL agent to another: pack, register, send, unpack.

The chosen pages are packed into one buffer by one call, pinned where there is a GPU, so that one region is
registered and one transfer sent, however many pages there are. Both agents are in this process and talk over loopback;
in another process the descriptors and the metadata travel as bytes. Takes PyPI's `nixl`: `python nixl_pages.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import viaduct as via
from nixl._api import nixl_agent, nixl_agent_config

PAGES, TOKENS, WIDTH = 64, 16, 128
SENT, WANTED = [5, 2, 11, 7, 40], [0, 9, 3, 12, 63]  # pages of the sender, and where the receiver puts them
DEVICE = "cuda:0" if via.device_count() > 0 else "cpu"


def packed_buffer(pages: int) -> via.Array:
    """What a network card reads: pinned, so that a GPU fills it at the rate of its link."""
    return via.empty((pages, TOKENS, WIDTH), "float16", device="pinned" if DEVICE != "cpu" else "cpu")


@contextmanager
def registered(agent: Any, buffer: via.Array) -> Iterator[list[tuple[int, int, int]]]:
    """One region, registered with NIXL for as long as the buffer is used. Pinned memory is DRAM to it."""
    regions = agent.register_memory([(buffer.ptr, buffer.nbytes, 0, "")], "DRAM")
    try:
        yield [(buffer.ptr, buffer.nbytes, 0)]
    finally:
        agent.deregister_memory(regions)


def write(agent: Any, local: Any, remote: Any, name: str) -> None:
    transfer = agent.initialize_xfer("WRITE", local, remote, name, b"pages")
    state = agent.transfer(transfer)
    while state == "PROC":
        time.sleep(0)
        state = agent.check_xfer_state(transfer)
    agent.release_xfer_handle(transfer)
    if state != "DONE":
        raise RuntimeError(f"the transfer is {state}; expected DONE")


def send_pages(cache: via.Array, other: via.Array) -> None:
    settings = nixl_agent_config(backends=["UCX"])
    sender, receiver = nixl_agent("sender", settings), nixl_agent("receiver", settings)
    outgoing, incoming = packed_buffer(len(SENT)), packed_buffer(len(SENT))
    with registered(sender, outgoing) as source, registered(receiver, incoming) as target:
        peer = sender.add_remote_agent(receiver.get_agent_metadata())
        via.copy_indexed(outgoing, None, cache, SENT)  # pack: complete on return
        write(sender, sender.get_xfer_descs(source, "DRAM"), receiver.get_xfer_descs(target, "DRAM"), peer)
        via.copy_indexed(other, WANTED, incoming, None)  # unpack
        sender.remove_remote_agent(peer)


def main() -> None:
    pages = np.arange(PAGES * TOKENS * WIDTH, dtype=np.float32).reshape(PAGES, TOKENS, WIDTH) % 2048
    cache = via.asarray(pages.astype(np.float16)).copy(DEVICE)
    other = via.asarray(np.zeros((PAGES, TOKENS, WIDTH), np.float16)).copy(DEVICE)
    send_pages(cache, other)
    expected = np.zeros((PAGES, TOKENS, WIDTH), np.float16)
    expected[WANTED] = pages[SENT]
    same = np.array_equal(other.copy("cpu").numpy(), expected)
    print(
        f"{len(SENT)} pages on {DEVICE} have {'arrived where they were wanted' if same else 'NOT ARRIVED'}", flush=True
    )


if __name__ == "__main__":
    main()
