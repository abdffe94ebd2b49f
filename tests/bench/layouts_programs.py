"""Copies that programs make on a GPU, in turns with PyTorch, CuPy and the bound.

Images and video, attention and weights, fields and tensors of simulations, tables and signals: each by its name, with
the shape and the view that such a program copies from, or into. Times and the bound are as in layouts_gpu.py; where
rows of the destination have gaps, the sectors that are written are counted too. Nothing here is drawn at random.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import populations
import torch
from bench import describe_machine
from layouts_gpu import BANDS, measure_copy, plain_rate, random_values, sector_bytes
from populations import Row
from torch import Tensor

View = Callable[[Tensor], Tensor]

U8, I16, I64 = torch.uint8, torch.int16, torch.int64
BF16, F32, F64 = torch.bfloat16, torch.float32, torch.float64
C64, C128 = torch.complex64, torch.complex128
FLOATS, IMAGES, WEIGHTS = (F64, F32), (U8, F32), (F32, BF16)


@dataclass(frozen=True)
class Program:
    """A view of dense memory, and whether it is copied into. The other side is dense."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    view: View
    into: bool = False

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        return f"{self.name}, {name} {list(self.shape)}{', into it' if self.into else ''}"


def many(
    dtypes: tuple[torch.dtype, ...], *rows: tuple[str, tuple[int, ...], View], into: bool = False
) -> Iterator[Program]:
    for dtype in dtypes:
        for name, shape, view in rows:
            yield Program(name, dtype, shape, view, into)


def images() -> Iterator[Program]:
    yield from many(
        IMAGES,
        ("image to planes", (2160, 3840, 3), lambda x: x.permute(2, 0, 1)),
        ("images to planes", (32, 224, 224, 3), lambda x: x.permute(0, 3, 1, 2)),
        ("planes to images", (32, 3, 224, 224), lambda x: x.permute(0, 2, 3, 1)),
        ("RGB of RGBA", (2160, 3840, 4), lambda x: x[..., :3]),
        ("crop", (64, 256, 256, 3), lambda x: x[:, 16:240, 16:240]),
        ("red of RGB", (2160, 3840, 3), lambda x: x[..., 0]),
    )
    yield from many(
        (U8,),
        ("planes to image", (2160, 3840, 3), lambda x: x.permute(2, 0, 1)),
        ("RGB to RGBA", (2160, 3840, 4), lambda x: x[..., :3]),
        into=True,
    )
    yield from many(
        (U8,),
        ("pixel shuffle by 3", (4, 27, 240, 320), lambda x: x.view(4, 3, 3, 3, 240, 320).permute(0, 1, 4, 2, 5, 3)),
        ("video, time inside", (32, 64, 3, 112, 112), lambda x: x.permute(0, 2, 1, 3, 4)),
        ("video to planes", (300, 240, 320, 3), lambda x: x.permute(3, 0, 1, 2)),
        ("every second frame", (300, 240, 320, 3), lambda x: x[::2]),
        ("luma of YUYV", (2160, 7680), lambda x: x[:, ::2]),
        ("stack of 4 frames", (2000, 84, 84), lambda x: x.unfold(0, 4, 1).permute(0, 3, 1, 2)),
        ("batch of a replay buffer", (4, 50000, 84, 84), lambda x: x[:, :512].permute(1, 0, 2, 3)),
    )
    yield from many((I16,), ("plane of a Bayer mosaic", (3000, 4000), lambda x: x[1::2, ::2]))
    yield from many(
        (F32,),
        ("every second pixel", (4096, 4096), lambda x: x[::2, ::2]),
        ("windows of 3 x 3", (1024, 1024), lambda x: x.unfold(0, 3, 1).unfold(1, 3, 1)),
        ("im2col", (8, 64, 56, 56), lambda x: x.unfold(2, 3, 1).unfold(3, 3, 1).permute(0, 1, 4, 5, 2, 3)),
    )


def networks() -> Iterator[Program]:
    yield from many(
        (BF16,),
        ("activations to channels last", (64, 256, 56, 56), lambda x: x.permute(0, 2, 3, 1)),
        ("activations to channels first", (64, 56, 56, 256), lambda x: x.permute(0, 3, 1, 2)),
        ("activations of 7 x 7 to channels last", (256, 2048, 7, 7), lambda x: x.permute(0, 2, 3, 1)),
        ("im2col by rows", (8, 64, 56, 56), lambda x: x.unfold(2, 3, 1).unfold(3, 3, 1).permute(0, 2, 3, 1, 4, 5)),
        ("tiles of 16 x 8", (256, 16, 512, 8), lambda x: x.permute(0, 2, 1, 3)),
        ("weights of experts", (8, 4096, 1024), lambda x: x.permute(0, 2, 1)),
    )
    yield from many(
        (F32,),
        ("activations of 14 x 14 to channels last", (64, 1024, 14, 14), lambda x: x.permute(0, 2, 3, 1)),
        ("blocks of 64 x 64", (64, 64, 64, 64), lambda x: x.permute(0, 2, 1, 3)),
        ("scales of blocks", (4096, 86), lambda x: x.t()),
    )
    yield from many(
        WEIGHTS,
        ("pixel shuffle", (8, 256, 128, 128), lambda x: x.view(8, 64, 2, 2, 128, 128).permute(0, 1, 4, 2, 5, 3)),
        ("pixel unshuffle", (8, 64, 256, 256), lambda x: x.view(8, 64, 128, 2, 128, 2).permute(0, 1, 3, 5, 2, 4)),
        ("patches of 16", (64, 3, 224, 224), lambda x: x.view(64, 3, 14, 16, 14, 16).permute(0, 2, 4, 3, 5, 1)),
        ("patches of 14", (64, 3, 224, 224), lambda x: x.view(64, 3, 16, 14, 16, 14).permute(0, 2, 4, 1, 3, 5)),
        ("patches to images", (64, 14, 14, 16, 16, 3), lambda x: x.permute(0, 5, 1, 3, 2, 4)),
        ("windows of 7", (32, 56, 56, 96), lambda x: x.view(32, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5)),
        ("space to depth", (16, 3, 640, 640), lambda x: x[..., ::2, ::2]),
        ("heads outside", (8, 2048, 32, 128), lambda x: x.permute(0, 2, 1, 3)),
        ("heads inside", (8, 32, 2048, 64), lambda x: x.permute(0, 2, 1, 3)),
        ("keys transposed", (8, 32, 2048, 128), lambda x: x.transpose(2, 3)),
        ("queries of QKV", (8, 1024, 3, 16, 64), lambda x: x[:, :, 0].permute(0, 2, 1, 3)),
        ("values of QKV by head", (8, 1024, 16, 3, 64), lambda x: x[:, :, :, 2].permute(0, 2, 1, 3)),
        ("even elements for a rotation", (8, 32, 2048, 128), lambda x: x[..., ::2]),
        ("part of a KV cache", (16, 32, 4096, 128), lambda x: x[:, :, :1000]),
        ("beams", (8, 1, 1024, 1024), lambda x: x.expand(8, 4, 1024, 1024)),
        ("last logits", (32, 64, 32000), lambda x: x[:, -1]),
        ("sequence first", (128, 512, 1024), lambda x: x.transpose(0, 1)),
        ("weights transposed", (4096, 11008), lambda x: x.t()),
        ("odd weights transposed", (4097, 1003), lambda x: x.t()),
        ("half of a gated layer", (8192, 8192), lambda x: x[:, :4096]),
        ("interleaved gated layer", (8192, 4096, 2), lambda x: x[..., 1]),
        ("repeated heads", (4, 8, 2048, 128), lambda x: x[:, :, None].expand(4, 8, 4, 2048, 128)),
    )
    yield from many(
        WEIGHTS,
        ("even elements for a rotation", (8, 32, 2048, 128), lambda x: x[..., ::2]),
        ("append to a KV cache", (16, 32, 4096, 128), lambda x: x[:, :, 1000:1064]),
        into=True,
    )
    yield from many(
        (BF16, F32),
        ("channels of a concatenation", (32, 512, 56, 56), lambda x: x[:, 100:356]),
        ("columns of a concatenation", (65536, 612), lambda x: x[:, 512:]),
        into=True,
    )
    yield from many(
        (U8,),
        ("order of 4-bit weights", (4096, 8, 512), lambda x: x.permute(0, 2, 1)),
        ("interleaved 4-bit weights", (4096, 512, 2, 4), lambda x: x.permute(0, 1, 3, 2)),
        ("FP8 rows to tiles", (256, 16, 128, 32), lambda x: x.permute(0, 2, 1, 3)),
        ("FP8 tiles to rows", (256, 128, 16, 32), lambda x: x.permute(0, 2, 1, 3)),
        ("mask transposed", (8192, 8192), lambda x: x.t()),
    )


def batches() -> Iterator[Program]:
    """Many small matrices."""
    yield from many(
        (F32,),
        ("matrices of 3 x 3 transposed", (1000000, 3, 3), lambda x: x.transpose(1, 2)),
        ("matrices of 4 x 4 transposed", (1000000, 4, 4), lambda x: x.transpose(1, 2)),
        ("matrices of 64 x 5 transposed", (50000, 64, 5), lambda x: x.transpose(1, 2)),
        ("matrices of 6 x 6, batch inside", (1000000, 6, 6), lambda x: x.permute(1, 2, 0)),
        ("matrices of 6 x 6, batch outside", (6, 6, 1000000), lambda x: x.permute(2, 0, 1)),
    )
    yield from many(
        (F64,),
        ("matrices of 8 x 8 transposed", (100000, 8, 8), lambda x: x.transpose(1, 2)),
        ("matrices of 32 x 32 transposed", (20000, 32, 32), lambda x: x.transpose(1, 2)),
    )
    yield from many((C64,), ("matrices of 17 x 17 transposed", (20000, 17, 17), lambda x: x.transpose(1, 2)))


def simulations() -> Iterator[Program]:
    yield from many(
        FLOATS,
        ("3 components of structures", (4000000, 3), lambda x: x.t()),
        ("structures of 3 components", (3, 4000000), lambda x: x.t()),
        ("19 populations of cells", (1000000, 19), lambda x: x.t()),
        ("cells of 19 populations", (19, 1000000), lambda x: x.t()),
        ("a column of 7", (4000000, 7), lambda x: x[:, 3]),
        ("Fortran's order", (256, 256, 256), lambda x: x.permute(2, 1, 0)),
        ("pencils of x to y", (256, 320, 200), lambda x: x.permute(1, 2, 0)),
        ("pencils of x to z", (256, 320, 200), lambda x: x.permute(2, 0, 1)),
        ("halo along x", (514, 514, 514), lambda x: x[:, :, 1:3]),
        ("halo along y", (514, 514, 514), lambda x: x[:, 1:3, :]),
        ("interior of a field", (514, 514, 130), lambda x: x[1:-1, 1:-1, 1:-1]),
        ("every second cell", (512, 512, 512), lambda x: x[:, :, ::2]),
        ("block-cyclic part", (4096, 4096), lambda x: x.view(32, 2, 64, 32, 2, 64)[:, 0, :, :, 1]),
        ("component of a vector field", (200, 200, 200, 3), lambda x: x[..., 1]),
        ("square transposed", (2048, 2048), lambda x: x.t()),
        ("4 columns of 64", (1000000, 64), lambda x: x[:, 8:12]),
        ("contraction abcd to cbda", (48, 52, 44, 40), lambda x: x.permute(2, 1, 3, 0)),
        ("contraction abcd to adcb", (64, 24, 64, 48), lambda x: x.permute(0, 3, 2, 1)),
        ("amplitudes ijab to ijba", (30, 30, 90, 90), lambda x: x.permute(0, 1, 3, 2)),
        ("amplitudes ijab to aibj", (40, 40, 80, 80), lambda x: x.permute(2, 0, 3, 1)),
        ("lattice, site inside", (24, 24, 24, 48, 4, 3, 2), lambda x: x.permute(4, 5, 6, 0, 1, 2, 3)),
        ("part of a cube", (512, 512, 512), lambda x: x[100:300, 100:300, 100:300]),
    )
    yield from many(
        FLOATS,
        ("a column of 7", (4000000, 7), lambda x: x[:, 3]),
        ("halo along x", (514, 514, 514), lambda x: x[:, :, 0:2]),
        ("interior of a field", (514, 514, 130), lambda x: x[1:-1, 1:-1, 1:-1]),
        ("component of a vector field", (200, 200, 200, 3), lambda x: x[..., 1]),
        into=True,
    )
    yield from many((C128,), ("outer qubits exchanged", (2,) * 24, lambda x: x.transpose(0, 23)))
    yield from many((C64,), ("inner qubits exchanged", (2,) * 25, lambda x: x.transpose(5, 17)))
    yield from many(
        (F32,),
        ("levels of the weather inside", (37, 721, 1440), lambda x: x.permute(1, 2, 0)),
        ("part of the weather", (37, 721, 1440), lambda x: x[:, ::4, ::4]),
    )


def signals() -> Iterator[Program]:
    """Signals and tables."""
    yield from many(
        (C64,),
        ("transforms of a batch", (64, 512, 512), lambda x: x.transpose(1, 2)),
        ("corner turn of a radar", (8192, 2048), lambda x: x.t()),
        ("antennas outside", (2048, 4, 64, 32), lambda x: x.permute(3, 0, 2, 1)),
    )
    yield from many(
        (I16,),
        ("corner turn of samples", (65536, 64), lambda x: x.t()),
        ("stereo interleaved", (2, 10000000), lambda x: x.t()),
    )
    yield from many(
        (F32,),
        ("real parts", (4096, 4096, 2), lambda x: x[..., 0]),
        ("frames of 400 by 160", (16, 160000), lambda x: x.unfold(1, 400, 160)),
        ("6 channels apart", (4000000, 6), lambda x: x.t()),
        ("a field of records of 20 bytes", (3000000, 5), lambda x: x[:, 2]),
        ("points without intensity", (4000000, 4), lambda x: x[:, :3]),
        ("time first", (512, 1000, 17), lambda x: x.transpose(0, 1)),
        ("genes and cells exchanged", (20000, 3000), lambda x: x.t()),
    )
    yield from many(
        (F32,),
        ("real parts", (4096, 4096, 2), lambda x: x[..., 0]),
        ("points with intensity", (4000000, 4), lambda x: x[:, :3]),
        into=True,
    )
    yield from many(
        (U8,),
        ("bytes of 4 apart", (16000000, 4), lambda x: x.t()),
        ("bytes of 4 together", (4, 16000000), lambda x: x.t()),
        ("bytes of 8 apart", (8000000, 8), lambda x: x.t()),
        ("4 bytes of records of 13", (5000000, 13), lambda x: x[:, 4:8]),
        ("genotypes by sample", (2504, 100000), lambda x: x.t()),
    )
    yield from many((F64,), ("every fifth column", (1000000, 40), lambda x: x[:, ::5]))
    yield from many((I64,), ("pairs apart", (8000000, 2), lambda x: x.t()))


def programs() -> Iterator[Program]:
    for family in (images, networks, batches, simulations, signals):
        yield from family()


def measure(program: Program, rate: float) -> Row:
    base = random_values(math.prod(program.shape) * program.dtype.itemsize).view(program.dtype)
    strided = program.view(base.view(program.shape))
    dense = random_values(strided.numel() * base.element_size()).view(program.dtype).view(strided.shape)
    dst, src = (strided, dense) if program.into else (dense, strided)
    nbytes = strided.numel() * base.element_size()
    return measure_copy(str(program), dst, src, nbytes + sector_bytes(strided, base.nbytes), rate)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench layouts programs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows and their summary there")
    given = parser.parse_args()
    rate = plain_rate()
    rows = [measure(program, rate) for program in programs()]
    populations.show(f"programs, plain copy {rate / 1e9:.0f} GB/s", rows, BANDS, "the bound")
    settings = {"plain_gb_per_s": rate / 1e9}
    populations.write(given.json, populations.report("programs", rows, BANDS, describe_machine("gpu"), **settings))


if __name__ == "__main__":
    main()
