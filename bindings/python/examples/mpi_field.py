"""The other half of bindings/c/examples/mpi_field.c: tensors of PyTorch in an MPI job, without packing.

The simulation's window arrives in a transposed tensor, in reverse, and goes back from where it is once it has been
corrected: `mpiexec -n 1 mpi_field : -n 1 python mpi_field.py`.
"""

from __future__ import annotations

from typing import Any

import torch
import viaduct as via
from mpi4py import MPI

ROWS, COLUMNS, ROWS_OF_FIELD = 3, 6, 6
TAG_FIELD, TAG_CORRECTION, TAG_WHOLE, SIMULATION = 1, 2, 3, 0


def say(text: str) -> None:
    print(f"  Python: {text}", flush=True)


def datatype_of(array: via.Array) -> Any:
    """One whole array as it lies in memory, its elements in row-major order: bytes to MPI, for a dtype of whole ones."""
    built = MPI.BYTE.Create_contiguous(int(array.itemsize))
    axes = zip(array.shape, array.strides or (), strict=True)
    for extent, step in reversed(list(axes)):
        inner, built = built, built.Create_hvector(extent, 1, step)
        inner.Free()
    return built.Commit()


def send(array: via.Array, tag: int) -> None:
    kind = datatype_of(array)
    MPI.COMM_WORLD.Send([MPI.buffer.fromaddress(array.ptr, 0), 1, kind], SIMULATION, tag)
    kind.Free()


def receive(array: via.Array, tag: int) -> None:
    kind = datatype_of(array)
    MPI.COMM_WORLD.Recv([MPI.buffer.fromaddress(array.ptr, 0), 1, kind], SIMULATION, tag)
    kind.Free()


def main() -> None:
    tensor = torch.full((COLUMNS, ROWS), -2.0, dtype=torch.float64)
    # Element (i, j) of the simulation's window, its columns from last to first.
    window = via.asarray(tensor).T[:, ::-1]
    receive(window, TAG_FIELD)
    say(f"received into strides {window.strides}: {tensor[-1, 0]:g} first, {tensor[0, -1]:g} last")
    tensor *= -1
    send(window, TAG_CORRECTION)

    # A dense array needs no datatype of its own.
    whole = torch.empty(ROWS, COLUMNS, dtype=torch.float64)
    dense = via.asarray(whole)
    MPI.COMM_WORLD.Recv([MPI.buffer.fromaddress(dense.ptr, dense.nbytes), MPI.DOUBLE], SIMULATION, TAG_WHOLE)
    same = torch.equal(whole, tensor.T.flip(1))
    say(f"the simulation's window is {'the tensor, element by element' if same else 'ANOTHER'}")

    # What rank 0 reports every rank: a column of its field, into every third element here.
    reported = torch.zeros(3 * ROWS_OF_FIELD, dtype=torch.float64)
    third = via.asarray(reported)[::3]
    kind = datatype_of(third)
    MPI.COMM_WORLD.Bcast([MPI.buffer.fromaddress(third.ptr, 0), 1, kind], SIMULATION)
    kind.Free()
    say(f"every rank was reported {', '.join(f'{value:g}' for value in reported if value)}")


if __name__ == "__main__":
    main()
