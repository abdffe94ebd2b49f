"""Dictionaries of the array interfaces with anything in them: taken as what they say, or refused by name; never kept."""

from __future__ import annotations

import ctypes
import random
import sys
from typing import Any

import pytest
import viaduct as via
from peers import numbers

HUGE = [1 << 31, (1 << 31) - 1, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), -(1 << 64), 1 << 200]
ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    3,
    "3",
    b"3",
    2.0,
    1e300,
    float("nan"),
    (),
    [],
    {},
    (1,),
    object(),
    range(3),
    "\ud800",
]
TYPESTRS = [
    "<f4",
    "|u1",
    "<f8",
    "<c8",
    "|V12",
    "|b1",
    ">f4",
    "<f3",
    "|O8",
    "<U4",
    "",
    "<",
    "<f",
    "<f4\0",
    "ü4",
    "|V0",
    "|V-1",
]
KEYS = ["version", "shape", "typestr", "data", "strides", "mask", "descr", "offset", "stream"]


def random_number(rng: random.Random) -> Any:
    return rng.choice([*HUGE, *ODD]) if rng.random() < 0.2 else rng.randrange(-2, 6)


def random_tuple(rng: random.Random) -> Any:
    kind = rng.choice([tuple, tuple, tuple, list])
    return kind(random_number(rng) for _ in range(rng.choice([0, 1, 2, 2, 3, 64, 65])))


def random_value(rng: random.Random, key: str, address: int) -> Any:
    if rng.random() < 0.15:
        return rng.choice(ODD + HUGE)
    if key in ("shape", "strides"):
        return random_tuple(rng)
    if key == "typestr":
        return rng.choice(TYPESTRS)
    if key == "data":
        return rng.choice([(address, False), (address, True), (address,), (0, False), (address, rng.choice(ODD))])
    return rng.choice([2, 3, None, 1, 4, 7])


class Exporter:
    """Describes its memory as any of the two protocols would, but for some keys changed and some missing."""

    def __init__(self, rng: random.Random, protocol: str) -> None:
        self.values = numbers(12)
        address = ctypes.addressof(self.values)
        said = {"version": 3, "shape": (3, 4), "typestr": "<f4", "data": (address, False)}
        for key in rng.sample(KEYS, rng.randrange(4)):
            said[key] = random_value(rng, key, address)
        for key in rng.sample(sorted(said), rng.choice([0, 0, 0, 1])):
            del said[key]
        setattr(self, protocol, said)


def held(exporter: Exporter, said: dict[str, Any]) -> list[int]:
    """How many hold the exporter, its dictionary, and what is in it but for values that all programs share."""
    owned = [value for value in said.values() if isinstance(value, tuple | list) and value]
    return [sys.getrefcount(each) for each in (exporter, said, *owned)]


def expect_as_said(array: via.Array, said: dict[str, Any]) -> None:
    assert array.shape == said["shape"]
    assert array.readonly == bool(said["data"][1])
    assert 0 in array.shape or array.ptr == said["data"][0]
    strides = said.get("strides")
    if strides is not None and 0 not in array.shape:
        steps = array.__array_interface__["strides"]  # None where they are row-major
        assert steps is None or steps == strides


@pytest.mark.parametrize("seed", range(4))
def test_a_dictionary_is_taken_as_what_it_says_or_refused_by_name(seed: int) -> None:
    rng = random.Random(seed)
    taken = 0
    for _ in range(500):
        exporter = Exporter(rng, "__array_interface__")
        said = exporter.__array_interface__  # type: ignore[attr-defined]
        before = held(exporter, said)
        try:
            array = via.asarray(exporter)
        except BufferError as error:
            assert "Exporter" in str(error)
        else:
            expect_as_said(array, said)
            taken += 1
            del array
        assert held(exporter, said) == before
    assert taken > 50


@pytest.mark.parametrize("seed", range(2))
def test_a_dictionary_of_device_memory_is_refused_by_name(seed: int) -> None:
    """Where there is no device whose memory it could be."""
    rng = random.Random(100 + seed)
    for _ in range(500):
        exporter = Exporter(rng, "__cuda_array_interface__")
        with pytest.raises(BufferError, match="Exporter"):
            via.asarray(exporter)
