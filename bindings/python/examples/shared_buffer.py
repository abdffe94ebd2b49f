"""One buffer that CuPy, PyTorch, Numba, JAX, TensorFlow, mpi4py and RMM share: each works on it where it is.

Without a GPU NumPy stands for CuPy, and the buffer is host memory. Each pair of libraries has a way of its own
(`torch.as_tensor(cupy_array)`, `cupy.from_dlpack(tensor)`, `numba.cuda.as_cuda_array`); here one object serves them all.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import viaduct as via
from pointer_source import DEVICE, ON_GPU, Block, floats, optional, optional_on_gpu, say, say_where

ROWS, COLUMNS = 4, 16

# One GPU for all: none may take its memory at once. What they say of themselves is not asked for.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if not ON_GPU:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def take_buffer() -> via.Array:
    """From RMM where that is, so that its pool owns it; else from the driver, or the host."""
    rmm = optional_on_gpu("rmm", "RMM", lambda rmm: ON_GPU)
    if rmm is None:
        block = Block(floats([1.0] * ROWS * COLUMNS))
        return via.wrap(block.ptr, (ROWS, COLUMNS), "float32", device=DEVICE, release=block.free)
    room = rmm.DeviceBuffer(size=ROWS * COLUMNS * 4)
    buffer = via.wrap(room.ptr, (ROWS, COLUMNS), "float32", device=DEVICE, owner=room)
    buffer.fill(1)
    say("  RMM: allocated the buffer")
    return buffer


# ------------------------------------------------------------------------------------------------ those that write


def in_cupy(buffer: via.Array) -> None:
    name = "cupy" if ON_GPU else "numpy"
    library = (
        optional_on_gpu("cupy", "CuPy", lambda cupy: cupy.is_available()) if ON_GPU else optional("numpy", "NumPy")
    )
    if library is None:
        return
    array = library.from_dlpack(buffer)
    array[0] = 2
    pointer = array.data.ptr if ON_GPU else array.ctypes.data
    report("CuPy" if ON_GPU else "NumPy", buffer, pointer, f"{name}.from_dlpack, sets row 0 to 2")


def in_torch(buffer: via.Array) -> None:
    torch = optional_on_gpu("torch", "PyTorch", lambda torch: not ON_GPU or torch.cuda.is_available())
    if torch is None:
        return
    tensor = torch.from_dlpack(buffer)
    tensor[1].mul_(3)
    report("PyTorch", buffer, tensor.data_ptr(), "torch.from_dlpack, multiplies row 1 by 3")


def in_numba(buffer: via.Array) -> None:
    cuda = optional_on_gpu("numba.cuda", "Numba", lambda cuda: not ON_GPU or cuda.is_available())
    if cuda is None:
        return
    import numba

    def add(array: Any) -> None:
        for column in range(array.shape[1]):
            array[2, column] += 3

    array = cuda.as_cuda_array(buffer) if ON_GPU else buffer.numpy()
    pointer = array.device_ctypes_pointer.value if ON_GPU else array.ctypes.data
    try:
        cuda.jit(add)[1, 1](array) if ON_GPU else numba.njit(add)(array)
        report("Numba", buffer, pointer, "a kernel adds 3 to row 2")
    except Exception as error:  # noqa: BLE001  (its compiler takes some versions of NumPy, and not others)
        report("Numba", buffer, pointer, f"it compiles no kernel here ({type(error).__name__}: {error})")


# ------------------------------------------------------------------------------------------------ those that read


def in_jax(buffer: via.Array) -> None:
    numpy = optional_on_gpu("jax.numpy", "JAX", lambda _: not ON_GPU or has_jax_devices())
    if numpy is None:
        return
    array = numpy.from_dlpack(buffer, copy=False)
    report("JAX", buffer, array.unsafe_buffer_pointer(), f"reads: the sum is {float(array.sum()):g}")


def has_jax_devices() -> bool:
    import jax

    return bool(jax.devices("gpu"))


def in_tensorflow(buffer: via.Array) -> None:
    tensorflow = optional_on_gpu(
        "tensorflow", "TensorFlow", lambda tf: not ON_GPU or tf.config.list_physical_devices("GPU")
    )
    if tensorflow is None:
        return
    exchange = tensorflow.experimental.dlpack
    tensor = exchange.from_dlpack(buffer.__dlpack__())
    pointer = via.from_dlpack(exchange.to_dlpack(tensor)).ptr
    report("TensorFlow", buffer, pointer, f"reads: the sum is {float(tensorflow.reduce_sum(tensor)):g}")


def in_mpi4py(buffer: via.Array) -> None:
    """As a buffer, to this rank itself; of a GPU's memory a copy on the host: not every MPI knows CUDA."""
    mpi = optional_on_gpu("mpi4py.MPI", "mpi4py", lambda _: True)
    if mpi is None:
        return
    sent = buffer.copy(device="cpu") if ON_GPU else buffer
    received = (ctypes.c_float * (ROWS * COLUMNS))()
    mpi.COMM_SELF.Sendrecv([sent, mpi.FLOAT], dest=0, recvbuf=[received, mpi.FLOAT], source=0)
    what = f"sends it to itself: the sum is {sum(received):g}"
    if ON_GPU:
        say(f"  mpi4py: a copy on the host; {what}")
    else:
        report("mpi4py", buffer, mpi.buffer.frombuffer(sent).address, what)


def report(name: str, buffer: via.Array, pointer: int, what: str) -> None:
    say(f"  {name}: {'at the same address' if pointer == buffer.ptr else 'a COPY'}; {what}")


def main() -> None:
    say_where("NumPy and host memory serve")
    buffer = take_buffer()
    users: list[Callable[[via.Array], None]] = [in_cupy, in_torch, in_numba, in_jax, in_tensorflow, in_mpi4py]
    for use in users:
        use(buffer)
        buffer.synchronize()
    if ON_GPU:
        via.Stream.legacy.synchronize()
    rows = buffer.copy(device="cpu")
    say(f"  in the end the rows begin with {', '.join(f'{rows[i, 0].item():g}' for i in range(ROWS))}")


if __name__ == "__main__":
    main()
