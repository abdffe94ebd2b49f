"""Tensors to take: every legal oddity, and every illegal one."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from . import _abi
from ._importing import EITHER, REFUSE, TAKE, forms, hand_over
from ._peers import Peer, takes
from ._producer import Producer
from ._reader import Absent
from ._rows import Rows

VERSIONED_ONLY = {"legacy": False}


@dataclass(frozen=True)
class Case:
    name: str
    must: str
    fields: dict[str, Any] = field(default_factory=dict)
    forms: dict[str, bool] = field(default_factory=dict)
    device: str = ""

    def run_as(self, legacy: bool, peer: Peer) -> None:
        if not takes(peer, legacy):
            raise Absent("it takes no tensors of this form")
        hand_over(peer, Producer(peer.memory(), legacy=legacy, **self.fields), self.must)


def line(count: int = 3, stride: int = 1, **more: Any) -> dict[str, Any]:
    return {"shape": (count,), "strides": (stride,), **more}


BIG = 1 << 40

LEGAL = [
    Case("a row-major matrix", TAKE),
    Case("a vector", TAKE, line()),
    Case("a byte_offset", TAKE, line(byte_offset=8)),
    Case("a byte_offset before rows", TAKE, {"byte_offset": 64}),
    Case("NULL strides of before 1.2", TAKE, {"strides": None}),
    Case("strides of a column-major matrix", EITHER, {"strides": (1, 2)}),
    Case("strides with gaps", EITHER, {"strides": (12, 2)}),
    Case("a negative stride", EITHER, line(stride=-1, shift=8)),
    Case("negative strides in both directions", EITHER, {"strides": (-3, -1), "shift": 20}),
    Case("a stride of zero", EITHER, {"strides": (0, 1)}),
    Case("strides that overlap", EITHER, {"strides": (1, 1)}),
    Case("any stride along an extent of one", TAKE, {"shape": (1, 3), "strides": (7, 1)}),
    Case("a stride of zero along an extent of one", TAKE, {"shape": (3, 1), "strides": (1, 0)}),
    Case("a huge stride along an extent of one", EITHER, {"shape": (1, 3), "strides": (1 << 62, 1)}),
    Case("no dimensions", TAKE, {"shape": (), "strides": ()}),
    Case("no dimensions, shape and strides NULL", TAKE, {"shape": (), "strides": None, "null_shape": True}),
    Case("no elements, data NULL", TAKE, {"shape": (0,), "strides": (1,), "data": 0}),
    Case("no elements, data not NULL", TAKE, {"shape": (0, 3)}),
    Case("no elements in the last dimension", TAKE, {"shape": (2, 0), "strides": (0, 1), "data": 0}),
    Case("no elements, strides NULL", TAKE, {"shape": (2, 0), "strides": None, "data": 0}),
    Case("no elements, yet a huge extent", EITHER, {"shape": (BIG, 0, BIG), "strides": (0, BIG, 1), "data": 0}),
    Case("8 dimensions", TAKE, {"shape": (1,) * 7 + (3,), "strides": (3,) * 7 + (1,)}),
    Case("32 dimensions", EITHER, {"shape": (1,) * 31 + (3,), "strides": (3,) * 31 + (1,)}),
    Case("64 dimensions", EITHER, {"shape": (1,) * 64, "strides": (1,) * 64}),
    Case("65 dimensions", EITHER, {"shape": (1,) * 65, "strides": (1,) * 65}),
    Case("1000 dimensions", EITHER, {"shape": (1,) * 1000, "strides": (1,) * 1000}),
    Case("elements that are not aligned to their size", EITHER, line(shift=2)),
    Case("bytes that are not aligned to anything", EITHER, line(dtype=(1, 8, 1), shift=1)),
    Case("memory aligned to its elements alone", EITHER, line(shift=4)),
    Case("a manager_ctx of nonsense", TAKE, {"context": 0x1234567}),
    Case("a NULL deleter", TAKE, {"has_deleter": False}),
    Case(
        "the number of a second CPU", EITHER, {"device": (_abi.CPU, 3), "reported_device": (_abi.CPU, 3)}, device="cpu"
    ),
    Case("the flag of a copy", TAKE, {"flags": _abi.IS_COPIED}, VERSIONED_ONLY),
    Case("the flag of padded elements, of whole bytes", EITHER, {"flags": _abi.SUBBYTE_PADDED}, VERSIONED_ONLY),
    Case("a newer minor version", TAKE, {"version": (1, 99)}, VERSIONED_ONLY),
    Case("a flag that a newer minor version added", EITHER, {"version": (1, 99), "flags": 1 << 40}, VERSIONED_ONLY),
    Case("an unknown flag of a known version", EITHER, {"flags": 1 << 40}, VERSIONED_ONLY),
]

# Name, code, bits, lanes, and what is owed.
DTYPES = [
    ("bool", 6, 8, 1, TAKE),
    *((f"int{bits}", 0, bits, 1, TAKE) for bits in (8, 16, 32, 64)),
    *((f"uint{bits}", 1, bits, 1, TAKE if bits == 8 else EITHER) for bits in (8, 16, 32, 64)),
    ("float16", 2, 16, 1, EITHER),
    ("float64", 2, 64, 1, TAKE),
    ("bfloat16", 4, 16, 1, EITHER),
    ("complex64", 5, 64, 1, EITHER),
    ("complex128", 5, 128, 1, EITHER),
    ("float8_e4m3fn", 10, 8, 1, EITHER),
    ("float8_e5m2", 12, 8, 1, EITHER),
    ("float8_e8m0fnu", 14, 8, 1, EITHER),
    ("int4, packed", 0, 4, 1, EITHER),
    ("uint1, packed", 1, 1, 1, EITHER),
    ("float6_e2m3fn, packed", 15, 6, 1, EITHER),
    ("float4_e2m1fn, packed", 17, 4, 1, EITHER),
    ("float4_e2m1fn in pairs", 17, 4, 2, EITHER),
    ("float32 in lanes of 4", 2, 32, 4, EITHER),
    ("int8 in lanes of 3", 0, 8, 3, EITHER),
    ("an opaque handle", 3, 64, 1, EITHER),
]

ILLEGAL = [
    Case("a newer major version", REFUSE, {"version": (2, 0)}, VERSIONED_ONLY),
    Case("major version 0", EITHER, {"version": (0, 9)}, VERSIONED_ONLY),
    Case("fewer than no dimensions", REFUSE, {"ndim": -1}),
    Case("shape NULL, with dimensions", REFUSE, {"null_shape": True}),
    Case("a negative extent", REFUSE, {"shape": (2, -3)}),
    Case("a negative extent next to one of zero", REFUSE, {"shape": (0, -3), "data": 0}),
    Case("extents whose product overflows", REFUSE, {"shape": (BIG, BIG), "strides": (BIG, 1)}),
    Case("extents whose product overflows to zero", REFUSE, {"shape": (1 << 32, 1 << 32), "strides": (1 << 32, 1)}),
    Case("extents whose bytes overflow", REFUSE, line(1 << 62)),
    Case("strides that leave the address space", REFUSE, {"strides": (1 << 62, 1)}),
    Case("a byte_offset that leaves the address space", REFUSE, {"byte_offset": (1 << 64) - 64}),
    Case("elements, and data NULL", REFUSE, {"data": 0}),
    Case("an unknown dtype code", REFUSE, {"dtype": (99, 32, 1)}),
    Case("floats of 7 bits", REFUSE, {"dtype": (2, 7, 1)}),
    Case("floats of 24 bits", REFUSE, {"dtype": (2, 24, 1)}),
    Case("floats of no bits", REFUSE, {"dtype": (2, 0, 1)}),
    Case("integers of 255 bits", REFUSE, {"dtype": (0, 255, 1)}),
    Case("bool of 3 bits", REFUSE, {"dtype": (6, 3, 1)}),
    Case("complex numbers of 8 bits", REFUSE, {"dtype": (5, 8, 1)}),
    Case("float8 of 16 bits", REFUSE, {"dtype": (10, 16, 1)}),
    Case("no lanes", REFUSE, {"dtype": (2, 32, 0)}),
    Case("65535 lanes", REFUSE, {"dtype": (2, 32, 65535)}),
    Case("an unknown device type", REFUSE, {"device": (99, 0), "reported_device": (99, 0)}),
    Case("device type 0", REFUSE, {"device": (0, 0), "reported_device": (0, 0)}),
    Case("a device id below zero", REFUSE, {"device": (_abi.CPU, -1), "reported_device": (_abi.CPU, -1)}, device="cpu"),
    Case("a CUDA device that is not there", REFUSE, {"device": (_abi.CUDA, 99), "reported_device": (_abi.CUDA, 99)}),
    Case("an OpenCL buffer", REFUSE, {"device": (4, 0), "reported_device": (4, 0)}),
]


def dtype_case(name: str, code: int, bits: int, lanes: int, must: str) -> Case:
    return Case(f"elements of {name}", must, line(4, dtype=(code, bits, lanes)))


def add_case(rows: Rows, kind: str, case: Case) -> None:
    for form, legacy in forms(**case.forms):
        rows.add(f"imports {kind}: {case.name} ({form})", functools.partial(case.run_as, legacy), case.device)


def rows() -> Rows:
    made = Rows()
    for case in LEGAL + [dtype_case(*dtype) for dtype in DTYPES]:
        add_case(made, "the odd", case)
    for case in ILLEGAL:
        add_case(made, "nothing illegal", case)
    return made
