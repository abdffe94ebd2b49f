"""A Fortran solver's column-major array is a PyTorch tensor, in place: `heat.py [FOLDER]`, where libheat.so is.

PyTorch heats a corner of the field, Fortran lets the heat spread, PyTorch reads the result: nothing is copied, and the
field is freed when the last tensor has gone.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import torch
import viaduct as via

NX, NY = 6, 4


def say(text: str) -> None:
    print(text, flush=True)


def load(folder: Path) -> ctypes.CDLL:
    heat = ctypes.CDLL(str(folder / "libheat.so"))
    heat.heat_create.restype = ctypes.c_void_p
    heat.heat_create.argtypes = [ctypes.c_int32, ctypes.c_int32]
    heat.heat_export.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    heat.heat_step.restype = None
    heat.heat_step.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    heat.heat_total.restype = ctypes.c_double
    heat.heat_total.argtypes = [ctypes.c_void_p]
    return heat


def borrow(heat: ctypes.CDLL, solver: int) -> torch.Tensor:
    """The solver's field as a tensor, which keeps it alive."""
    tensor = ctypes.c_void_p()
    status = heat.heat_export(solver, ctypes.byref(tensor))
    if status:
        raise RuntimeError(f"the field could not be exported: {via.raw.via_status_name(status)}")
    return torch.utils.dlpack.from_dlpack(via.raw.via_from_dlpack(tensor.value, None, None))


def main(folder: Path) -> None:
    heat = load(folder)
    solver = heat.heat_create(NX, NY)
    field = borrow(heat, solver)
    say(f"PyTorch: a tensor of shape {tuple(field.shape)} and strides {field.stride()}, {field.dtype}")

    field[0, 0] = 100.0
    say(f"Fortran: sees {heat.heat_total(solver):g} in all, which PyTorch wrote")
    heat.heat_step(solver, 1)
    say(f"PyTorch: sees {field[0, 0]:g}, {field[1, 0]:g} and {field[0, 1]:g}, which Fortran wrote")

    hottest = field.max(dim=0).values
    say(f"PyTorch: the hottest of each column: {hottest.tolist()}")
    row = field[0]
    del field
    gc.collect()
    say(f"PyTorch: the first row still lives: {row.tolist()}")
    del row
    gc.collect()
    stats = via.stats()
    say(f"left alive: {stats['live_arrays']} arrays, {stats['live_storages']} storages")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/examples").resolve())
