"""The transpositions of HPTT's own benchmark, in turns with HPTT's measured and estimated plans and a plain copy.

HPTT is no package. VIADUCT_BENCH_HPTT is a checkout of github.com/springer13/hptt, built there by `make avx`. Its
benchmark/benchmark.sh lists the cases: the number of axes, their order, and their extents, the first axis fastest. HPTT
measures up to 10 seconds for each plan. Both sides have the same memory and the same number of threads.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import populations
import viaduct as via
from bench import describe_machine
from populations import Band, Row

BANDS = (Band(0),)
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Case:
    dtype: numpy.dtype
    axes: tuple[int, ...]  # the first one fastest
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {' '.join(map(str, self.axes))} of {' x '.join(map(str, self.shape))}"


def cases(checkout: Path, dtypes: list[str]) -> Iterator[Case]:
    script = (checkout / "benchmark" / "benchmark.sh").read_text()
    for dtype in dtypes:
        for line in re.findall(r"benchmark\.exe +([\d ]+)", script):
            ndim, *numbers = map(int, line.split())
            yield Case(numpy.dtype(dtype), tuple(numbers[:ndim]), tuple(numbers[ndim : 2 * ndim]))


class Memcpy:
    """The C library's memcpy, each thread with its part."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)
        self.copy = ctypes.CDLL(None).memcpy
        self.copy.restype, self.copy.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def __call__(self, dst: int, src: int, nbytes: int) -> None:
        each = -(-nbytes // self.threads)
        parts = range(0, nbytes, each)
        list(self.pool.map(lambda at: self.copy(dst + at, src + at, min(each, nbytes - at)), parts))


def compile_plans(checkout: Path, folder: Path) -> ctypes.CDLL:
    path = folder / "hptt_plans.so"
    source = Path(__file__).with_name("hptt_plans.cpp")
    built = checkout / "lib"
    options = ["-O2", "-std=c++14", "-shared", "-fPIC", "-fopenmp", f"-I{checkout / 'include'}"]
    library = [f"-L{built}", "-lhptt", f"-Wl,-rpath,{built}"]
    subprocess.run(["c++", *options, str(source), *library, "-o", str(path)], check=True)
    plans = ctypes.CDLL(str(path))
    plans.hptt_plan.restype = ctypes.c_void_p
    plans.hptt_execute.argtypes = plans.hptt_delete.argtypes = [ctypes.c_void_p]
    return plans


class Plans:
    """Both plans of HPTT for one case."""

    def __init__(self, library: ctypes.CDLL, case: Case, dst: numpy.ndarray, src: numpy.ndarray, threads: int) -> None:
        self.hptt = library
        ints = ctypes.c_int * len(case.axes)
        given = ints(*case.axes), len(case.axes), case.dtype.itemsize
        src_address, dst_address = ctypes.c_void_p(src.ctypes.data), ctypes.c_void_p(dst.ctypes.data)
        self.plans = {
            name: library.hptt_plan(*given, src_address, ints(*case.shape), dst_address, measured, threads)
            for name, measured in (("HPTT, measured", 1), ("HPTT, estimated", 0))
        }

    def calls(self) -> dict[str, Callable[[], Any]]:
        return {name: lambda plan=plan: self.hptt.hptt_execute(plan) for name, plan in self.plans.items()}

    def close(self) -> None:
        for plan in self.plans.values():
            self.hptt.hptt_delete(plan)


def measure(library: ctypes.CDLL, memcpy: Memcpy, case: Case, threads: int) -> Row:
    count = int(numpy.prod(case.shape))
    base = numpy.arange(count, dtype=numpy.int64).astype(case.dtype)
    src = base.reshape(case.shape, order="F").transpose(case.axes)
    dst = numpy.zeros(src.shape, case.dtype, order="F")
    our_dst, our_src = via.asarray(dst), via.asarray(src)
    plans = Plans(library, case, dst, base, threads)
    calls = {populations.OURS: lambda: via.copy(our_dst, our_src), **plans.calls()}
    right = all(copies(call, dst, src) for call in calls.values())
    calls["plain"] = lambda: memcpy(dst.ctypes.data, base.ctypes.data, dst.nbytes)
    seconds = populations.take_turns(calls, pause=tuple(plans.plans))
    plans.close()
    return Row(str(case), 2 * src.nbytes, seconds, seconds.pop("plain"), right)


def copies(call: Callable[[], Any], dst: numpy.ndarray, src: numpy.ndarray) -> bool:
    dst[...] = -1
    call()
    return numpy.array_equal(dst, src)


def options() -> argparse.Namespace:
    parser = populations.parser_of("hptt", 57)
    parser.add_argument("--threads", type=int, default=via.num_threads())
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    checkout = os.environ.get("VIADUCT_BENCH_HPTT")
    if not checkout:
        sys.exit("bench layouts hptt: VIADUCT_BENCH_HPTT is unset; expected the path of a checkout of HPTT")
    via.set_num_threads(chosen.threads)
    memcpy = Memcpy(chosen.threads)
    with tempfile.TemporaryDirectory() as folder:
        library = compile_plans(Path(checkout), Path(folder))
        found = [case for dtype in chosen.dtypes for case in list(cases(Path(checkout), [dtype]))[: chosen.count]]
        rows = []
        for case in found:
            rows.append(measure(library, memcpy, case, chosen.threads))
            print(f"{rows[-1].over_best():.2f} {rows[-1].of_bound():.2f} {case}", file=sys.stderr)
    populations.show(f"HPTT's cases, {chosen.threads} threads", rows, BANDS, "a plain copy")
    report = populations.report("hptt", rows, BANDS, describe_machine("cpu"), threads=chosen.threads)
    populations.write(chosen.json, report)


if __name__ == "__main__":
    main()
