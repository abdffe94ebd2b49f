"""What there is to know of a library: how to make an array, have it take a tensor, and see what it took."""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass, field, replace
from typing import Any

from ._abi import CPU, CUDA
from ._memory import DeviceMemory, Memory
from ._producer import DEFAULT_BYTES, Producer
from ._reader import Absent

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_ENABLE_X64", "1")


@dataclass(frozen=True)
class Peer:
    """A library by expressions, in which `m` is its module, `x` an array of it and `p` whatever exports memory.

    `array` is float32 of any shape. `content` gives the bytes of the elements in row-major order as the library itself
    sees them, `writable` whether it would write into them. `on_stream` is a context in which it works on stream `s`.
    """

    module: str
    array: str = ""
    from_dlpack: str = "m.from_dlpack(p, **keywords)"
    content: str = ""
    writable: str = ""
    ranks: tuple[int, ...] = ()
    device: str = "cpu"
    from_cuda_interface: str = ""
    fill: str = ""
    on_stream: str = ""
    namespace: dict[str, Any] = field(default_factory=dict, compare=False)

    def names(self) -> dict[str, Any]:
        if not self.namespace:
            self.namespace["m"] = importlib.import_module(self.module.partition(":")[0])
            self._complain_if_nothing_is_known()
        return self.namespace

    def _complain_if_nothing_is_known(self) -> None:
        if self.from_dlpack == Peer.from_dlpack and not hasattr(self.namespace["m"], "from_dlpack"):
            raise AttributeError(f"{self.module} has no from_dlpack(): say how it takes p, and how it makes an array")

    def evaluate(self, expression: str, **values: Any) -> Any:
        return eval(expression, self.names() | values)

    @property
    def version(self) -> str:
        top = importlib.import_module(self.module.partition(":")[0].partition(".")[0])
        return str(getattr(top, "__version__", "unknown"))

    def memory(self, content: bytes = DEFAULT_BYTES) -> Memory:
        return DeviceMemory(content) if self.device == "cuda" else Memory(content)

    @property
    def device_type(self) -> int:
        return CUDA if self.device == "cuda" else CPU

    def take(self, p: Any, **keywords: Any) -> Any:
        if not self.from_dlpack:
            raise Absent("it takes no DLPack")
        return self.evaluate(self.from_dlpack, p=p, keywords=keywords)

    def make(self) -> Any:
        if self.array:
            return self.evaluate(self.array)
        return self.take(plain(self))


@functools.cache
def takes(peer: Peer, legacy: bool) -> bool:
    """Whether the library takes a vector in this form at all."""
    producer = Producer(peer.memory(), (3,), (1,), legacy=legacy)
    try:
        peer.take(producer)
    except Exception:  # noqa: BLE001  (of any kind that the library has)
        producer.end_unused()
        return False
    return True


def plain(peer: Peer, **more: Any) -> Producer:
    """A vector, which every library takes, in the newest form that it does."""
    return Producer(peer.memory(), (3,), (1,), **{"legacy": not takes(peer, False)} | more)


# On the CPU.
PEERS = {
    "viaduct": Peer(
        "viaduct",
        "m.empty((2, 3), 'float32')",
        content="bytes(memoryview(x.copy().reshape(x.size).view('uint8'))) if x.size else b''",
        writable="not x.readonly",
        on_stream="m.Stream.wrap(s)",
    ),
    "numpy": Peer(
        "numpy",
        "m.arange(6, dtype='float32').reshape(2, 3)",
        content="x.tobytes()",
        writable="x.flags.writeable",
    ),
    "torch": Peer(
        "torch",
        "m.arange(6, dtype=m.float32).reshape(2, 3)",
        content="x.contiguous().reshape(-1).view(m.uint8).cpu().numpy().tobytes()",
        writable="True",
    ),
    "jax": Peer(
        "jax.numpy",
        "m.arange(6, dtype='float32').reshape(2, 3)",
        content="__import__('numpy').asarray(x).tobytes()",
        writable="False",
    ),
    "pyarrow": Peer(
        "pyarrow",
        "m.array(range(6), m.float32())",
        "m.Array.from_dlpack(p, **keywords)",
        content="x.to_numpy(zero_copy_only=False).tobytes()",
        writable="False",
        ranks=(1,),
    ),
    "pyarrow:Tensor": Peer(
        "pyarrow:Tensor",
        "m.Tensor.from_numpy(__import__('numpy').arange(6, dtype='float32').reshape(2, 3))",
        "m.Tensor.from_dlpack(p, **keywords)",
        content="x.to_numpy().tobytes()",
        writable="x.is_mutable",
    ),
    "tvm_ffi": Peer("tvm_ffi", writable="True"),
    "tensorflow": Peer(
        "tensorflow",
        "m.reshape(m.range(6, dtype=m.float32), (2, 3))",
        "m.experimental.dlpack.from_dlpack(p.__dlpack__(**keywords))",
        content="x.numpy().tobytes()",
        writable="False",
    ),
}

# On a CUDA device, where they differ.
_TORCH_CUDA = replace(
    PEERS["torch"],
    array="m.arange(6, dtype=m.float32, device='cuda').reshape(2, 3)",
    from_cuda_interface="m.as_tensor(p, device='cuda')",
    fill="x.fill_(7)",
    on_stream="m.cuda.stream(m.cuda.ExternalStream(s))",
)
CUDA_PEERS = {
    "viaduct": replace(
        PEERS["viaduct"],
        array="m.empty((2, 3), 'float32', device='cuda:0')",
        content="bytes(memoryview(x.copy('cpu').reshape(x.size).view('uint8'))) if x.size else b''",
        from_cuda_interface="m.asarray(p)",
        fill="m.fill(x, 7, stream=m.Stream.current())",
    ),
    "torch": _TORCH_CUDA,
    "jax": PEERS["jax"],
    "cupy": Peer(
        "cupy",
        "m.arange(6, dtype='float32').reshape(2, 3)",
        content="x.get().tobytes()",
        writable="True",
        from_cuda_interface="m.asarray(p)",
        fill="x.fill(7)",
        on_stream="m.cuda.ExternalStream(s)",
    ),
    "numba": Peer(
        "numba.cuda",
        "m.to_device(__import__('numpy').arange(6, dtype='float32').reshape(2, 3))",
        "",
        content="x.copy_to_host().tobytes()",
        writable="True",
        from_cuda_interface="m.as_cuda_array(p)",
    ),
    "tvm_ffi": PEERS["tvm_ffi"],
}


def find_peer(name: str, device: str = "cpu") -> Peer:
    """One of the table, or a module that is expected to have from_dlpack()."""
    known = (CUDA_PEERS if device == "cuda" else PEERS).get(name)
    return replace(known or Peer(name), device=device, namespace={})
