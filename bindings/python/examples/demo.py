"""A C library exports a strided buffer that it owns; NumPy, PyTorch and JAX work on it in place.

The library is bindings/c/examples/strided_source.c. Its folder is the first argument, or VIADUCT_EXAMPLES_DIR, or
`examples` in VIADUCT_BUILD_DIR.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import viaduct as via

os.environ.setdefault("JAX_PLATFORMS", "cpu")
numbers = itertools.count(1)


def say(text: str = "") -> None:
    print(text, flush=True)


def step(title: str) -> None:
    say(f"\n{next(numbers)}. {title}")


def optional(name: str, title: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        say(f"  {title} is not installed, so this step is left out.")
        return None


def examples_folder() -> Path:
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    if "VIADUCT_EXAMPLES_DIR" in os.environ:
        return Path(os.environ["VIADUCT_EXAMPLES_DIR"])
    return Path(os.environ.get("VIADUCT_BUILD_DIR", "build/release")) / "examples"


def load_source() -> Any:
    source = ctypes.CDLL(str(examples_folder() / "libstrided_source.so"))
    source.strided_source_read.restype = ctypes.c_float
    source.strided_source_take.argtypes = [ctypes.c_void_p]
    return source


def borrow(source: Any) -> via.Array:
    tensor = ctypes.c_void_p()
    status = source.strided_source_export(ctypes.byref(tensor))
    if status != 0:
        raise RuntimeError(via.raw.via_status_name(status))
    return via.raw.via_from_dlpack(tensor.value, None, None)  # owns the tensor from here on


def give(source: Any, array: via.Array) -> None:
    tensor = via.raw.via_to_dlpack(array, None, None)
    status = source.strided_source_take(tensor)
    if status != 0:
        via.raw.via_dlpack_delete(tensor)
        raise RuntimeError(via.raw.via_status_name(status))


def in_numpy(window: via.Array, source: Any) -> Any:
    numpy = optional("numpy", "NumPy")
    if numpy is None:
        return None
    array = numpy.from_dlpack(window)
    say(f"  NumPy: {type(array).__name__} at {array.ctypes.data:#x}, strides {array.strides}, owns its data: no")
    array[0] += 1000
    say("  NumPy: array[0] += 1000")
    say(f"  C: reads {source.strided_source_read(0, 0):g} at [0, 0] through its own pointer")
    return array


def in_torch(window: via.Array, source: Any) -> Any:
    torch = optional("torch", "PyTorch")
    if torch is None:
        return None
    tensor = torch.from_dlpack(window)
    say(f"  PyTorch: Tensor at {tensor.data_ptr():#x}, strides {tensor.stride()} (it counts elements)")
    tensor[1].mul_(-1)
    say("  PyTorch: tensor[1].mul_(-1)")
    say(f"  C: reads {source.strided_source_read(1, 0):g} at [1, 0] through its own pointer")
    return tensor


def in_jax(window: via.Array) -> Any:
    jax = optional("jax.numpy", "JAX")
    if jax is None:
        return None
    try:
        jax.from_dlpack(window, copy=False)
    except Exception as error:  # noqa: BLE001  (its own kind, which need not be there)
        say(f"  JAX: refuses the whole window, as it takes dense memory only ({type(error).__name__})")
    row = jax.from_dlpack(window[0], copy=False)
    say(f"  JAX: Array of its first row at {row.unsafe_buffer_pointer():#x}; JAX arrays are for reading")
    say(f"  JAX: the sum of that row is {float(row.sum()):g}")
    return row


def main() -> None:
    source = load_source()
    step("The C library exports a window of 4 x 6 floats in its 8 x 10 image, whose rows are padded to 16")
    window = borrow(source)
    say(f"  {window}")
    say(f"  strides {window.strides} bytes; owner: the C library, which is called back when all is over")

    step("NumPy works on it in place")
    array = in_numpy(window, source)

    step("PyTorch works on it in place")
    tensor = in_torch(window, source)

    step("JAX reads it in place")
    row = in_jax(window)

    step("A transposed copy goes back to C")
    transposed = window.T.copy()
    say(f"  {transposed}")
    give(source, transposed)
    del transposed

    step("One after the other is released")
    del window
    say(f"  the Array is gone;         C still reads {source.strided_source_read(0, 0):g}")
    del array
    say(f"  NumPy's array is gone;     C still reads {source.strided_source_read(0, 0):g}")
    del tensor
    say(f"  PyTorch's tensor is gone;  C reads {source.strided_source_read(0, 0):g}")
    del row
    say(f"  JAX's array is gone;       C reads {source.strided_source_read(0, 0):g}")
    stats = via.stats()
    say(f"  left alive: {stats['live_arrays']} arrays, {stats['live_storages']} storages")


if __name__ == "__main__":
    main()
