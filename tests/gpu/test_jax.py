"""JAX: a raw pointer of either side in the hands of the other, without a copy."""

from __future__ import annotations

from typing import Any

import pytest
import viaduct as via
from cuda_driver import Block
from gpu_peers import INTEGERS, TORCH_FLOAT8, counted, ends, gpu_peer, on_host

jax = gpu_peer("jax", lambda module: module.default_backend() == "gpu" and bool(module.devices("gpu")))
import jax.numpy as jnp

NAMES = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128", "bfloat16", *TORCH_FLOAT8]


def export(a: via.Array) -> Any:
    with jax.enable_x64(True):
        return jnp.from_dlpack(a, copy=False)


def address(array: Any) -> int:
    return int(array.unsafe_buffer_pointer())


def test_a_raw_pointer_becomes_a_jax_array() -> None:
    a = counted(12, shape=(3, 4))
    j = export(a)
    assert address(j) == a.ptr and j.shape == (3, 4) and j.dtype == "float32"
    assert list(j.devices()) == [jax.devices("gpu")[0]]
    assert jax.device_get(j + 1).tolist() == [[v + 1 for v in row] for row in a.copy("cpu").tolist()]
    j.block_until_ready()


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_goes_both_ways(name: str) -> None:
    source = counted(16, "uint8")
    a = source.view(name) if name != "bool" else counted(8, "bool")
    try:
        j = export(a)
    except Exception as error:
        if name in TORCH_FLOAT8:
            pytest.skip(f"this JAX takes no {name}: {error}")
        raise
    assert address(j) == a.ptr and str(j.dtype) == name
    back = via.from_dlpack(j)
    assert back.ptr == a.ptr and back.dtype_name == name and back.device == "cuda:0"
    assert on_host(back) == on_host(a)
    j.block_until_ready()


@pytest.mark.parametrize("take", [via.asarray, via.from_dlpack])
def test_a_jax_array_is_taken_where_it_is(take: Any) -> None:
    j = jnp.arange(24, dtype="float32").reshape(2, 3, 4) * 2
    a = take(j)
    assert a.ptr == address(j) and a.shape == (2, 3, 4) and a.device == "cuda:0"
    assert a.copy("cpu").tolist() == jax.device_get(j).tolist()


def test_the_raw_pointer_of_a_jax_array_is_wrapped() -> None:
    j = jnp.arange(12, dtype="float32").block_until_ready()
    a = via.wrap(address(j), (3, 4), "float32", device=jax.devices("gpu")[0], owner=j, readonly=True)
    assert a.device == "cuda:0" and a.copy("cpu").tolist() == jax.device_get(j).reshape(3, 4).tolist()


def test_layouts_that_jax_cannot_take_are_refused_in_words() -> None:
    a = counted(12, shape=(3, 4))
    with pytest.raises(Exception, match="[Ss]trid|layout|contiguous"):
        export(a[::2, ::2]).block_until_ready()


def test_managed_memory_goes_as_the_devices() -> None:
    block = Block(48, "managed")
    a = via.wrap(block.ptr, 12, "float32", device="managed", owner=block)
    a.fill(3)
    j = jnp.from_dlpack(via.wrap(block.ptr, 12, "float32", device="cuda:0", owner=block), copy=False)
    assert address(j) == a.ptr and jax.device_get(j).tolist() == [3] * 12


def test_the_owner_lives_as_long_as_jax_holds_the_memory() -> None:
    block = Block(48)
    gone: list[int] = []
    j = export(via.wrap(block.ptr, 12, "float32", device="cuda:0", owner=block, release=lambda: gone.append(1)))
    j.block_until_ready()
    assert not gone
    del j
    assert ends(gone)
