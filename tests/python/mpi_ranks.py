"""What two ranks of an MPI job do with arrays; test_mpi.py starts them, each with a file to report its results in.

Each function here is done by both ranks, and says on each that it is so by coming to its end.
"""

from __future__ import annotations

import ctypes
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import viaduct as via
from mpi4py import MPI
from peers import content, grid

EXAMPLES = Path(__file__).resolve().parents[2] / "bindings/python/examples"
COMM = MPI.COMM_WORLD
RANK, OTHER = COMM.Get_rank(), 1 - COMM.Get_rank()

# The example's program takes PyTorch, its datatype_of does not.
sys.modules.setdefault("torch", ModuleType("torch"))
sys.path.append(str(EXAMPLES))
from mpi_field import datatype_of


class Left(Exception):
    """Why something was left out."""


def expected() -> via.Array:
    return grid(6, 8)


def blank() -> via.Array:
    array = grid(6, 8)
    array.fill(-1)
    return array


def mine() -> via.Array:
    """The numbers at rank 0, and at rank 1 a place for them."""
    return expected() if RANK == 0 else blank()


def strided(array: via.Array) -> list[Any]:
    """An array as mpi4py takes any: an address, and one of its datatype."""
    return [MPI.buffer.fromaddress(array.ptr, 0), 1, datatype_of(array)]


def a_dense_array_is_sent_and_received_as_it_is() -> None:
    a = mine()
    COMM.Send(a, OTHER) if RANK == 0 else COMM.Recv(a, OTHER)
    assert content(a) == content(expected())


def a_dense_array_is_broadcast_as_it_is() -> None:
    a = mine()
    COMM.Bcast(a, root=0)
    assert content(a) == content(expected())


def a_strided_array_that_is_given_as_if_it_were_dense_is_refused() -> None:
    try:
        COMM.Bcast(mine()[:, ::2], root=0)
    except (BufferError, ValueError):
        return
    raise AssertionError("it was taken")


def a_window_is_broadcast_into_a_window_of_another_layout_and_nothing_next_to_it_changes() -> None:
    whole = expected() if RANK == 0 else blank().reshape(8, 6)
    window = whole[1:4, 2:7:2] if RANK == 0 else whole.T[::2, 5::-2]
    COMM.Bcast(strided(window), root=0)
    assert content(window) == content(expected()[1:4, 2:7:2])
    if RANK == 1:
        window.fill(-1)
        assert content(whole) == content(blank())


def rows_of_each_rank_are_gathered_into_one_array() -> None:
    a, whole = expected(), blank()
    COMM.Allgather(a[3 * RANK : 3 * RANK + 3], whole)
    assert content(whole) == content(a)


def elements_that_mpi_has_no_name_for_go_as_bytes() -> None:
    for dtype in ("float16", "bfloat16", "float8_e5m2", "record12"):
        room = (ctypes.c_uint8 * 120)(*(range(120) if RANK == 0 else [0] * 120))
        a = via.wrap(ctypes.addressof(room), 5, dtype, owner=room)
        COMM.Bcast([a.view("uint8"), MPI.BYTE], root=0)
        assert content(a) == bytes(range(a.nbytes))


def a_read_only_array_is_sent_and_never_received_into() -> None:
    a = mine().as_readonly()
    if RANK == 0:
        COMM.Send(a, OTHER)
        return
    try:
        COMM.Recv(a, OTHER)
    except (BufferError, ValueError, via.Error):
        taken = blank()
        COMM.Recv(taken, OTHER)
        assert content(taken) == content(expected())
        return
    raise AssertionError("it was written")


def pickled_arrays_go_as_objects() -> None:
    found = COMM.bcast(expected()[:, ::2] if RANK == 0 else None, root=0)
    assert content(found) == content(expected()[:, ::2])


def the_program_that_the_documentation_shows_runs() -> None:
    from engines import run_shown

    run_shown("mpi", MPI=MPI, pixels=mine(), datatype_of=datatype_of)


def device_memory_goes_as_it_is_where_mpi_knows_cuda() -> None:
    if via.device_count("cuda") == 0:
        raise Left("there is no CUDA device")
    if not knows_cuda():
        raise Left(f"{MPI.Get_library_version().split(',')[0].strip()} is not CUDA-aware")
    a = mine().copy(device="cuda:0")
    a.synchronize()
    COMM.Bcast(strided(a), root=0)
    assert content(a.copy(device="cpu")) == content(expected())


def knows_cuda() -> bool:
    """As the MPI that is loaded says itself; one without that question is not asked twice."""
    loaded = re.search(r"/\S*libmpi\.so\S*", Path("/proc/self/maps").read_text())
    ask = getattr(ctypes.CDLL(loaded[0]), "MPIX_Query_cuda_support", None) if loaded else None
    return ask is not None and bool(ask())


DONE: list[Callable[[], None]] = [
    a_dense_array_is_sent_and_received_as_it_is,
    a_dense_array_is_broadcast_as_it_is,
    a_strided_array_that_is_given_as_if_it_were_dense_is_refused,
    a_window_is_broadcast_into_a_window_of_another_layout_and_nothing_next_to_it_changes,
    rows_of_each_rank_are_gathered_into_one_array,
    elements_that_mpi_has_no_name_for_go_as_bytes,
    a_read_only_array_is_sent_and_never_received_into,
    pickled_arrays_go_as_objects,
    the_program_that_the_documentation_shows_runs,
    device_memory_goes_as_it_is_where_mpi_knows_cuda,
]


def result_of(step: Callable[[], None]) -> str:
    try:
        step()
    except Left as why:
        return f"left out: {why}"
    except Exception:  # noqa: BLE001  (reported, so that the other steps run)
        return traceback.format_exc().replace("\n", "\\n")
    return "ok"


def main() -> None:
    reported = Path(sys.argv[1], f"rank{RANK}")
    reported.write_text("".join(f"{step.__name__} {result_of(step)}\n" for step in DONE))


if __name__ == "__main__":
    main()
