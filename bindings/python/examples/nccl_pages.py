"""Pages of a cache go from one GPU to another by NCCL: pack, send, unpack, in the order of one stream.

The chosen pages are packed into one buffer by one call, so that NCCL sends one message, however many pages there are.
No call waits for the GPU. Without two GPUs both ranks use host memory and Gloo.
Takes PyTorch: `torchrun --standalone --nproc-per-node 2 nccl_pages.py`.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import viaduct as via

PAGES, TOKENS, WIDTH = 64, 16, 128
SENT, WANTED = [5, 2, 11, 7, 40], [0, 9, 3, 12, 63]  # pages of rank 0, and where rank 1 puts them
HAS_GPUS = torch.cuda.device_count() >= 2


def current_stream() -> torch.cuda.Stream | None:
    """PyTorch's, which NCCL's work is ordered with; host memory has none."""
    return torch.cuda.current_stream() if HAS_GPUS else None


def send_pages(cache: torch.Tensor, pages: list[int], to: int) -> None:
    packed = torch.empty(len(pages), *cache.shape[1:], dtype=cache.dtype, device=cache.device)
    via.copy_indexed(packed, None, cache, pages, stream=current_stream())  # pack
    dist.send(packed, to)


def receive_pages(cache: torch.Tensor, pages: list[int], of: int) -> None:
    packed = torch.empty(len(pages), *cache.shape[1:], dtype=cache.dtype, device=cache.device)
    dist.recv(packed, of)
    via.copy_indexed(cache, pages, packed, None, stream=current_stream())  # unpack


def main() -> None:
    dist.init_process_group("nccl" if HAS_GPUS else "gloo")
    rank = dist.get_rank()
    if HAS_GPUS:
        torch.cuda.set_device(rank)
    device = torch.device("cuda", rank) if HAS_GPUS else torch.device("cpu")
    pages = (torch.arange(PAGES * TOKENS * WIDTH, device=device) % 2048).half().view(PAGES, TOKENS, WIDTH)
    if rank == 0:
        send_pages(pages, SENT, to=1)
    elif rank == 1:
        cache = torch.zeros_like(pages)
        receive_pages(cache, WANTED, of=0)
        expected = torch.zeros_like(pages)
        expected[WANTED] = pages[SENT]
        same = torch.equal(cache, expected)
        arrived = "arrived where they were wanted" if same else "NOT ARRIVED"
        print(f"{len(SENT)} pages on {device} have {arrived}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
