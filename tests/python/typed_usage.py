"""A program as users write it, for mypy --strict: every public name with the types that the stubs promise."""

from __future__ import annotations

import array
import ctypes
from fractions import Fraction

import viaduct as via


class Integer:
    """A number as NumPy's integers are: no int, and taken for one."""

    def __index__(self) -> int:
        return 3


def wrap_and_view() -> via.Array:
    values = (ctypes.c_float * 12)(*range(12))
    a: via.Array = via.wrap(ctypes.addressof(values), (3, 4), "float32", strides=(16, 4), owner=values, readonly=True)
    shape: tuple[int, ...] = a.shape
    strides: tuple[int, ...] | None = a.strides
    size: int = a.size + a.nbytes + a.ndim + a.ptr
    flags: list[bool] = [a.readonly, a.copied, a.aligned, a.c_contiguous, a.f_contiguous, a.contiguous]
    names: list[str] = [a.dtype_name, a.device]
    views: list[via.Array] = [
        a[0],
        a[1:, ::2],
        a[..., None],
        a.T,
        a.transpose(1, 0),
        a.reshape(2, 6),
        a.reshape((12,)),
        a.squeeze(),
        a.squeeze(axis=(0, 1)),
        a.expand_dims(0),
        a.broadcast_to((2, 3, 4)),
        a.view("int32"),
        a.field(0, "uint8", shape=(4,)),
        a.as_readonly(),
        a.copy(device="cpu"),
    ]
    del shape, strides, size, flags, names
    return views[0]


def exchange() -> None:
    a = via.asarray(array.array("f", [1, 2, 3]))
    b = via.from_dlpack(a, copy=True)
    c = via.from_dlpack(a.__dlpack__(max_version=(1, 0)))
    d = via.from_arrow(a.__arrow_c_array__())
    device: tuple[int, int] = a.__dlpack_device__()
    e: via.Array = a.to(via.Array)
    f: via.Array = via.wrap(b.ptr, 3, "float32", owner=b, to=via.Array)
    g: via.Array = via.wrap(e.ptr, f.shape, f.dtype, owner=e, check=False)
    d = via.from_dlpack(g.__dlpack__())
    via.copy(b, c)
    via.copy(bytearray(12), a.view("uint8"))
    via.fill(b, 1.5)
    b[0] = 2
    b[:] = d
    b.fill(1 + 0)
    via.copyto(b, 2.5)
    via.copyto(bytearray(12), a.view("uint8"), stream=None)
    h: via.Array = via.asarray(bytearray(4), "uint8", device="cpu", copy=True)
    rows: list[via.Array] = [row for row in h.reshape(2, 2)]
    explained: str = via.copy_explain(b, a)
    via.convert(b, a, scale=Fraction(1, 255), offset=[Fraction(1), 2])
    via.convert(b, c, scale=a)
    del device, explained, rows


def allocate() -> via.Array:
    def alloc(nbytes: int, alignment: int, stream: int) -> int:
        return nbytes + alignment + stream

    def free(address: int, nbytes: int, stream: int) -> None:
        del address, nbytes, stream

    own: via.Memory = via.memory(alloc=alloc, free=free)
    host: via.Memory = via.memory("host", device="cpu")
    via.empty(4, "int8", memory=own)
    return via.empty((2, 3), "float32", device="cpu", memory=host)


def make() -> list[via.Array]:
    a = via.zeros((2, 3), "float32", device="cpu", memory="shared")
    b = via.full(3, 1 + 2j, "complex64")
    via.fill(a, Fraction(1, 2))
    a.fill(Fraction(1, 2))
    via.full(Integer(), Fraction(1, 2), "float32")
    via.copy_indexed(a, None, a, [0, 1], Integer())
    via.stream_blocks("numbers.npy", Integer(), depth=Integer())
    return [a, b, via.ones(3, "int8"), via.empty_like(a), via.zeros_like(a, "int8"), via.full_like(bytearray(3), 7)]


def copy_many() -> tuple[int, BaseException | None]:
    batch = via.Batch()
    batch.add(via.zeros(3, "int8"), bytearray(3))
    pairs: list[tuple[via.Array, via.Array]] = list(batch)
    batch.run(stream=None)
    task: via.Task = batch.submit()

    def heard(_task: via.Task) -> None: ...

    task.add_done_callback(heard)
    removed: int = task.remove_done_callback(heard)
    task.result(timeout=1.5)
    del pairs
    return removed + len(batch) + task.cancelled(), task.exception()


def fail() -> int:
    try:
        via.empty((-1,), "float32")
    except via.ShapeError as error:
        return error.status + error.code
    except (via.Error, ValueError):
        pass
    return via.raw.VIA_ERROR_SHAPE


def settings() -> tuple[int, int, int]:
    via.set_num_threads(0)
    counts: dict[str, int] = via.stats()
    threads: int = via.num_threads()
    text: str = via.__version__
    del counts, threads, text
    return via.version()
