"""Memory that already exists, as strided arrays that every runtime can use.

Wrap a pointer once; lend it without a copy to NumPy, PyTorch, JAX and whatever else speaks DLPack, the buffer protocol,
an array interface or Arrow; copy it, when a copy is wanted, at the speed of the hardware. Pointers may be the host's or
a CUDA device's. `python -m viaduct` tells what this machine can do.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, ClassVar, Literal, Never, NoReturn, Protocol, SupportsIndex, TypeAlias, TypeVar, final, overload

from typing_extensions import Buffer, CapsuleType

from . import _viaduct as raw

__all__ = [
    "Array",
    "Batch",
    "Block",
    "CallbackError",
    "CancelledError",
    "CudaError",
    "DTypeError",
    "DeviceError",
    "Error",
    "Event",
    "ExchangeError",
    "ExtentOverflowError",
    "File",
    "FileError",
    "ForkedError",
    "FormatError",
    "InternalError",
    "InvalidArgumentError",
    "Memory",
    "NeedsCopyError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "OverlapError",
    "PointerError",
    "ReadOnlyError",
    "Safetensors",
    "ShapeError",
    "Stream",
    "StreamCaptureError",
    "Task",
    "UnsupportedError",
    "VersionError",
    "WouldDeadlockError",
    "__version__",
    "asarray",
    "copy",
    "copy_explain",
    "copy_submit",
    "copyto",
    "device_count",
    "device_info",
    "empty",
    "empty_like",
    "fill",
    "from_arrow",
    "from_dlpack",
    "full",
    "full_like",
    "import_ipc",
    "memory",
    "num_threads",
    "ones",
    "ones_like",
    "open",
    "open_safetensors",
    "pointer_info",
    "raw",
    "set_num_threads",
    "stats",
    "stream_blocks",
    "version",
    "wrap",
    "zeros",
    "zeros_like",
]

__version__: str

_T = TypeVar("_T")
_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
_Shape: TypeAlias = int | Sequence[SupportsIndex]
_Key: TypeAlias = SupportsIndex | slice | EllipsisType | None | tuple[SupportsIndex | slice | EllipsisType | None, ...]
_Number: TypeAlias = bool | int | float | complex

# Names, dtypes of NumPy, ml_dtypes, torch and TensorFlow, types of ctypes, numbers of the C API.
_DType: TypeAlias = Any
# "cpu", "cuda:0", "pinned", "managed", "any"; (device type, id); what prints so, as torch.device does; devices of CuPy,
# JAX, Numba and cuda.core.
_Device: TypeAlias = Any
# The number of a CUDA device, or one of the above.
_CudaDevice: TypeAlias = Any

# A Stream, whatever has __cuda_stream__, streams of CuPy (`ptr`), torch (`cuda_stream`) and Numba (`handle`), and the
# number of a CUstream.
_Stream: TypeAlias = Any
# An Event, an event of CuPy, torch or Numba, or the number of a CUevent.
_Event: TypeAlias = Any

class _LendsByDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

class _LendsByInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

class _LendsByCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _LendsByArrow(Protocol):
    def __arrow_c_array__(self) -> Any: ...

class _LendsByArrowDevice(Protocol):
    def __arrow_c_device_array__(self) -> Any: ...

_Lender: TypeAlias = (
    Array | Buffer | _LendsByDLPack | _LendsByInterface | _LendsByCudaInterface | _LendsByArrow | _LendsByArrowDevice
)

@final
class Array:
    """A strided array on memory that exists: a view of it, and a share in keeping it alive.

    Made by wrap(), asarray(), from_dlpack(), from_arrow(), import_ipc() and empty(). Indexing and reshaping give views
    that share the memory; nothing copies but copy(), assignment and fill(). Arrays take no part in the collection of
    reference cycles (as NumPy's do not): an owner that refers to its own array is never let go.
    """

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    @property
    def ptr(self) -> int:
        """The address of the element with index 0 everywhere."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""

    @property
    def strides(self) -> tuple[int, ...] | None:
        """The step along each axis in bytes, as NumPy counts; None if some step is not whole bytes. The strides of the
        other languages count elements: see element_strides."""

    @property
    def element_strides(self) -> tuple[int, ...] | None:
        """The step along each axis in elements, as DLPack and the other languages count; None if some step is not whole
        elements."""

    @property
    def dtype(self) -> Any:
        """numpy.dtype where NumPy (and ml_dtypes, for its types) can be imported and has the type; else the name."""

    @property
    def dtype_name(self) -> str:
        """The name of the element type: "float32", "record12"."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def itemsize(self) -> int | float:
        """The bytes of one element; a fraction where elements share bytes."""

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, as a dense array would hold them."""

    @property
    def device(self) -> str:
        """Where the memory is: "cpu", "cuda:0", "pinned", "managed"."""

    @property
    def readonly(self) -> bool:
        """Whether nothing may write through this array."""

    @property
    def copied(self) -> bool:
        """Whether an exchange made this array by copying, so that writes do not reach the original."""

    @property
    def aligned(self) -> bool:
        """Whether every element starts at a multiple of its natural alignment."""

    @property
    def ready(self) -> bool:
        """Whether nothing that is known of still writes the content."""

    @property
    def c_contiguous(self) -> bool:
        """Whether the array is dense in row-major order."""

    @property
    def f_contiguous(self) -> bool:
        """Whether the array is dense in column-major order."""

    @property
    def contiguous(self) -> bool:
        """Whether the array is dense, whatever the order of the axes."""

    @property
    def owner(self) -> Any:
        """The Python object that keeps the memory alive; None if it is not kept alive by one."""

    @property
    def T(self) -> Array:
        """The array with its axes reversed; a view."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's description of host memory."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The description of device memory, version 3; absent for host memory."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __getitem__(self, key: _Key, /) -> Array: ...
    def __contains__(self, key: Never, /) -> NoReturn: ...
    def __setitem__(self, key: _Key, value: _Lender | _Number | bytes, /) -> None: ...
    def __delitem__(self, key: _Key, /) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def transpose(self, *axes: Any) -> Array:
        """The array with its axes in another order, reversed if none is given; a view."""

    def reshape(self, *shape: Any) -> Array:
        """The same elements in row-major order under another shape; one extent may be -1.

        Always a view: raises NeedsCopyError where only a copy could do it.
        """

    def broadcast_to(self, *shape: Any) -> Array:
        """Repeats extents of 1, and adds axes in front, by strides of 0; a read-only view."""

    def squeeze(self, axis: _Shape | None = None) -> Array:
        """The array without the axes named, or without all axes, of extent 1; a view."""

    def expand_dims(self, axis: SupportsIndex, /) -> Array:
        """The array with an axis of extent 1 added so that it becomes `axis`; a view."""

    def view(self, dtype: _DType, /) -> Array:
        """The same bytes as elements of another type.

        With another element size the last axis must be dense and hold a whole number of the new elements.
        """

    def field(self, offset: SupportsIndex, dtype: _DType, shape: _Shape | None = ()) -> Array:
        """One field of every element, `offset` bytes into it.

        `shape` appends the axes of a field that is itself a row-major array. A view.
        """

    def as_readonly(self) -> Array:
        """The same array, through which nothing may write; a view."""

    def copy(self, device: _Device | None = None) -> Array:
        """A new row-major array with the same elements, on a device if one is named."""

    def fill(self, value: _Number | bytes, /) -> None:
        """Sets every element: to a number, or to the bytes of one element (for records and any other type)."""

    def record_stream(self, stream: _Stream | None = None) -> None:
        """The memory is used by a stream's work so far: it is let go only after that.

        By the current stream's if none is given.
        """

    def set_ready(self, stream: _Stream | None = None) -> None:
        """The content is written by a stream's work so far: reads and exports wait for that.

        By the current stream's if none is given.
        """

    def synchronize(self) -> None:
        """Waits until the content is ready, so that the host may read pinned or managed memory."""

    def item(self) -> Any:
        """The one element as a Python value."""

    def tolist(self) -> Any:
        """The elements as nested lists of Python values."""

    def numpy(self) -> Any:
        """A numpy.ndarray on the same memory.

        Of NumPy's own types, of ml_dtypes' for bfloat16 and float8, of void for records.
        """

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """For pickle: host memory as an out-of-band buffer with protocol 5, device memory through the host."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """For numpy.asarray, where the buffer protocol has no format."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Lends the array as a DLPack capsule. Raises BufferError for whatever DLPack cannot say."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The pair of DLPack's device type and the device id."""

    def to(self, kind: type[_T], /) -> _T:
        """An object of another library's type on the same memory: array.to(torch.Tensor).

        Of any type with DLPack's table of C functions, __dlpack_c_exchange_api__: quicker than its library's
        from_dlpack(). The object's memory is ready on the stream that its library works on now.
        """

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[CapsuleType, CapsuleType]:
        """Lends a row-major numeric array to Arrow, as capsules of a schema and of a device array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[CapsuleType, CapsuleType]:
        """Lends a row-major numeric array of host memory to Arrow, as capsules of a schema and of an array."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """The Arrow type of the array, as a capsule."""

    def export_ipc(self) -> bytes:
        """Describes the array, in a few hundred bytes, for import_ipc() in other processes of the host.

        The memory must be that of empty(..., memory="shared") or of a CUDA device's own allocation. It is the same
        memory there, until the last array of any process lets go of it; an import needs an array here to be alive.
        Waits until the content is ready.
        """

@final
class Memory:
    """A place to allocate from; made by memory()."""

@final
class Stream:
    """An order of work on a CUDA device.

    Made new, as one that does not synchronise with the legacy stream, or by Stream.wrap() from another library's.
    Stream.legacy and Stream.per_thread are CUDA's default streams; Stream.no_sync is no stream: "do not order". As a
    context manager it is this thread's current stream: the one that exchange orders by where it may choose.
    """

    legacy: ClassVar[Stream]
    per_thread: ClassVar[Stream]
    no_sync: ClassVar[Stream]
    def __new__(cls, device: _CudaDevice = 0) -> Stream: ...
    @staticmethod
    def wrap(stream: _Stream | None, device: _CudaDevice | None = None) -> Stream:
        """A Stream of another library's stream, which must live as long as work is queued through it.

        Taken are whatever has __cuda_stream__, streams of CuPy, torch and Numba, the number of a CUstream (0 and 1 are
        the legacy stream, 2 is the calling thread's), and None for the legacy stream.
        """

    @staticmethod
    def current(device: _CudaDevice = 0) -> Stream:
        """The calling thread's current stream of a device; the legacy one unless set by `with`."""

    @property
    def handle(self) -> int:
        """The number of the CUstream; 1 and 2 for CUDA's default streams."""

    @property
    def device(self) -> str:
        """The stream's device: "cuda:0"."""

    def synchronize(self) -> None:
        """Waits until the stream's work so far is done."""

    def done(self) -> bool:
        """Whether the stream's work so far is done."""

    def wait(self, event: _Event, /) -> None:
        """Makes later work of the stream wait, on the device, for an event."""

    def record(self, event: Event | None = None) -> Event:
        """Marks the end of the stream's work so far, by a new event if none is given."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The pair of the protocol's version and the number of the CUstream."""

    def __enter__(self) -> Stream:
        """Makes it this thread's current stream."""

    def __exit__(self, *exception: object) -> None:
        """Goes back to the stream before."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Event:
    """A point in a stream, without timing.

    Until it is recorded it counts as reached.
    """

    def __new__(cls, device: _CudaDevice = 0) -> Event: ...
    @staticmethod
    def wrap(event: _Event, device: _CudaDevice = 0) -> Event:
        """An Event of another library's event, or of the number of a CUevent; it stays its owner's."""

    @property
    def handle(self) -> int:
        """The number of the CUevent."""

    def record(self, stream: _Stream | None = None) -> None:
        """Marks the end of a stream's work so far; of the current stream of device 0 if none is given."""

    def synchronize(self) -> None:
        """Waits until the marked point is reached."""

    def done(self) -> bool:
        """Whether the marked point has been reached."""

@final
class Task:
    """A copy or file transfer under way.

    Made by copy_submit(), File.read_submit() and File.write_submit(). `await task` waits for it in asyncio. Letting
    go of a task does not stop it.
    """

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the end; raises what the task failed with, or TimeoutError after so many seconds.

        Ctrl-C ends the wait, not the task.
        """

    def result(self, timeout: float | None = None) -> None:
        """As wait(), by the name that futures have for it; the result is None."""

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits for the end, and returns what the task failed with; None if it did not fail.

        Raises CancelledError if the task was cancelled, TimeoutError after so many seconds.
        """

    def cancelled(self) -> bool:
        """Whether the task has ended because it was cancelled."""

    def done(self) -> bool:
        """Whether the task has ended."""

    def progress(self) -> tuple[int, int]:
        """The bytes moved so far and the bytes in all."""

    def cancel(self) -> None:
        """Asks the task to stop; it ends with CancelledError unless it was done already."""

    def join(self, stream: _Stream | None = None) -> None:
        """Makes later work of a stream wait, on the device, for the task.

        Of the current stream of device 0 if none is given.
        """

    def add_done_callback(self, function: Callable[[Task], object], /) -> None:
        """Has function(task) called once the task has ended, on a thread of the library; at once if it has ended.

        Added while an asyncio event loop runs on this thread, it is called by that loop.
        """

    def remove_done_callback(self, function: Callable[[Task], object], /) -> int:
        """Removes a function that add_done_callback() was given, however often; returns how often that was.

        0 if it has been called, or is about to be.
        """

    def __await__(self) -> Generator[Any]: ...

@final
class Batch:
    """Many copies prepared as one, to be run any number of times.

    Has a length, and is iterated over the (dst, src) that add() was given. Holds its arrays. The copies must not
    overlap one another, which is not checked.
    """

    def __new__(cls) -> Batch: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Array, Array]]: ...
    def add(self, dst: _Lender, src: _Lender) -> None:
        """Adds a copy between two arrays of equal shape and dtype; each may be whatever asarray() takes.

        Raises InvalidArgumentError while another thread runs the batch.
        """

    def run(self, stream: _Stream | None = None) -> None:
        """Makes all copies and returns when they are done; with a stream, once they are queued.

        Between arrays of host memory alone it needs no device. The first run plans the copies, and so takes longer.
        """

    def submit(self, stream: _Stream | None = None) -> Task:
        """Starts all copies as one task, after the stream's work so far, and returns at once with a Task."""

@final
class File:
    """An open file: elements and nothing else, or NumPy's .npy.

    Made by open(); a context manager. Offsets are in bytes, from the first element on. Slices are windows: files of
    their own that are read, written and mapped whole, without what lies between.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all its elements."""

    @property
    def dtype(self) -> Any:
        """The element type: a numpy.dtype where NumPy has one, else its name."""

    @property
    def nbytes(self) -> int:
        """The bytes of the whole file, as it is now."""

    @property
    def order(self) -> Literal["C", "F"]:
        """The order of its elements: 'C' or 'F'."""

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""

    @property
    def _told(self) -> Any: ...
    def _keep(self, told: object, /) -> None: ...
    def array(self, shape: _Shape | None = None, dtype: _DType | None = None, offset: int = 0) -> Array:
        """The file's pages as an array, without a copy; nothing is read until it is touched.

        Shape and dtype are those of the header or of open(), unless given; one extent may be -1. Read-only unless the
        mode says otherwise. Do not touch it once the file has been cut short: read() reports that instead.
        """

    def read(
        self,
        dst: _Lender | None = None,
        offset: int = 0,
        *,
        shape: _Shape | None = None,
        dtype: _DType | None = None,
        device: _Device = "cpu",
        stream: _Stream | None = None,
    ) -> Array:
        """Reads an array, of any layout and anywhere, and returns it; a new one on `device` if none is given.

        After a stream's work so far; without one, after the legacy stream's. Ctrl-C ends it. Of a .npy file all is
        read, unless shape, dtype or offset say which part a new array has.
        """

    def write(self, src: _Lender, offset: int = 0, *, stream: _Stream | None = None) -> None:
        """Writes the elements of an array, of any layout and anywhere; ordered as read() is."""

    def read_submit(self, dst: _Lender, offset: int = 0, *, stream: _Stream | None = None) -> Task:
        """Starts a read, after the stream's work so far if one is given, and returns at once with a Task."""

    def write_submit(self, src: _Lender, offset: int = 0, *, stream: _Stream | None = None) -> Task:
        """Starts a write, after the stream's work so far if one is given, and returns at once with a Task."""

    def close(self) -> None:
        """Lets go of the file; mapped arrays and transfers under way keep what they need."""

    def __getitem__(self, key: _Key, /) -> File: ...
    def __enter__(self) -> File:
        """The file itself."""

    def __exit__(self, *args: object) -> None:
        """Closes the file."""

@final
class Block:
    """A part of a file in memory, while stream_blocks() is at it: rows start to stop, in `array`."""

    array: Array
    start: int
    stop: int

    def __init__(self, array: Array, start: int, stop: int, results: Any) -> None: ...
    def write(self, result: _Lender) -> None:
        """Has the rows' result written to the output, behind the caller; it must not be written meanwhile."""

def open(
    path: _Path,
    mode: Literal["r", "r+", "c", "w"] = "r",
    *,
    dtype: _DType | None = None,
    shape: _Shape | None = None,
    order: Literal["C", "F"] = "C",
    format: Literal["raw", "npy"] | None = None,
    durable: bool = False,
    atomic: bool = False,
    page_cache: Literal["auto", "use", "avoid"] = "auto",
    as_bytes: bool = False,
) -> File:
    """Opens a file of elements: raw, or .npy, which it is if it begins as one.

    Modes are those of numpy.memmap: "r" reads, "r+" reads and writes, "c" lets arrays be written and not the file; "w"
    makes the file, of that dtype and shape. Of a raw file dtype and shape may be told, else it holds bytes. `durable`
    writes survive a power cut; `atomic` ones replace the file whole, or not at all. `page_cache` "auto" reads past the
    system's cache what is not in it, "use" always goes through it, "avoid" never leaves more there than there was.

    read() and write() of a .npy file take arrays of its own shape and dtype, those of a slice of it the slice's. With
    `as_bytes` they take any, from any offset on, as those of a raw file do.
    """

class Safetensors(dict[str, File]):
    """The tensors of a .safetensors file by name, and its `metadata`: texts by name, none if it has none."""

    metadata: dict[str, str]

def open_safetensors(path: _Path, *, page_cache: Literal["auto", "use", "avoid"] = "auto") -> Safetensors:
    """The tensors of a .safetensors file by name, each as a window of the file: nothing of it is read yet. What the
    file says beside them is its `metadata`.

    Each is read, mapped and sliced like any other: `open_safetensors(path)["weight"].read(device="cuda:0")`. The header
    is checked to the last character; float4 and float6 tensors are refused.
    """

def stream_blocks(
    file: File | _Path,
    block: int,
    device: _Device = "cpu",
    *,
    output: File | _Path | None = None,
    depth: int = 4,
    stream: _Stream | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> Iterator[Block]:
    """The rows of a file that need not fit in memory, `block` of them at a time, in arrays on a device.

    The next blocks arrive while one is worked on; what Block.write() is given goes to `output` behind that, a file or
    the path of one to be made. An array is good until the next but one block: it lies in one of `depth` buffers, which
    is all the memory that it takes. What is done with it on a device is to be queued on `stream`, the legacy one by
    default. `progress` is called with the bytes so far and in all; True shows them by tqdm, where it is installed.
    """

@overload
def wrap(
    ptr: Any,
    shape: _Shape,
    dtype: _DType,
    *,
    strides: _Shape | None = None,
    device: _Device = "cpu",
    owner: object = None,
    release: Callable[[], object] | None = None,
    readonly: bool = False,
    check: bool = True,
    nbytes: SupportsIndex | None = None,
    to: type[_T],
) -> _T: ...
@overload
def wrap(
    ptr: Any,
    shape: _Shape,
    dtype: _DType,
    *,
    strides: _Shape | None = None,
    device: _Device = "cpu",
    owner: object = None,
    release: Callable[[], object] | None = None,
    readonly: bool = False,
    check: bool = True,
    nbytes: SupportsIndex | None = None,
    to: None = None,
) -> Array:
    """An array on memory that exists; nothing is copied and nothing is touched.

    `ptr` is an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. `strides` are
    in bytes, row-major if not given. `owner` is kept alive until the last view and export is gone; then `release`, if
    given, is called once without arguments. On failure it is not called. With `check`, a device address is looked up in
    the driver, and the first and last byte of host memory must be readable. With `nbytes`, no element may lie outside
    of as many bytes from the address on. With `to`, a type as Array.to() takes it, returns an object of that: the
    quickest way from a pointer to a torch.Tensor, whose content is taken as ready now.
    """

def asarray(
    x: _Lender, /, dtype: _DType | None = None, *, device: _Device | None = None, copy: bool | None = None
) -> Array:
    """An array on the memory of another library's array.

    By DLPack, the CUDA array interface, the buffer protocol, the array interface or Arrow: whichever works first.
    Copies only if `copy` is True, or if `device` is another one than that of x and `copy` is not False. Raises
    DTypeError for another `dtype` than that of x, since elements are not converted.
    """

def from_dlpack(
    x: _LendsByDLPack | CapsuleType, /, *, device: _Device | None = None, copy: bool | None = None
) -> Array:
    """An array on the memory of an object with __dlpack__, or of a DLPack capsule.

    `copy` True always copies, False never, None only where it must.
    """

def from_arrow(x: _LendsByArrow | _LendsByArrowDevice | tuple[CapsuleType, CapsuleType], /) -> Array:
    """A read-only array on the memory of an Arrow array without nulls (or of its pair of capsules)."""

def import_ipc(description: Buffer, /) -> Array:
    """An array on the memory that another process described by Array.export_ipc().

    `description` is those bytes, or whatever lends them. Nothing is copied. The array holds the memory, and may outlive
    the other process. Memory of a device cannot be imported by the process it is of.
    """

def empty(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new row-major array, its elements not initialised.

    `memory` is a Memory, or "host", "pinned", "device", "pool", "managed" or "shared", which other processes can use
    too. `stream` orders the allocation of a pool, or is handed to the caller's own.
    """

def zeros(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty() makes it, of zero bytes; on a stream once that gets there."""

def ones(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty() makes it, of ones; on a stream once that gets there."""

def full(
    shape: _Shape,
    fill_value: _Number | bytes,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty() makes it, of one number, or of the bytes of one element."""

def empty_like(
    x: _Lender,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new row-major array of the shape, dtype and device of x, its elements not initialised.

    x is whatever asarray() takes. Another `dtype`, `device` or `memory` may be given.
    """

def zeros_like(
    x: _Lender,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty_like() makes it, of zero bytes."""

def ones_like(
    x: _Lender,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty_like() makes it, of ones."""

def full_like(
    x: _Lender,
    /,
    fill_value: _Number | bytes,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """A new array as empty_like() makes it, of one number, or of the bytes of one element."""

def copyto(dst: _Lender, src: _Lender | _Number | bytes, stream: _Stream | None = None) -> None:
    """Copies src into dst as numpy.copyto does: src is repeated to the shape of dst, and may be a number.

    Each may be whatever asarray() takes; the dtypes must be equal. Returns when done; with a stream, once the copy is
    queued.
    """

def copy(dst: _Lender, src: _Lender, stream: _Stream | None = None) -> None:
    """Copies as copyto() does between two arrays whose shapes are equal, as via_copy demands; repeats nothing.

    Returns when done; with a stream, once the copy is queued.
    """

def copy_submit(dst: _Lender, src: _Lender, stream: _Stream | None = None) -> Task:
    """Starts a copy as copy() makes it, after the stream's work so far, and returns at once with a Task."""

def fill(dst: _Lender, value: _Number | bytes, stream: _Stream | None = None) -> None:
    """Sets every element to a number, or to the bytes of one element."""

def copy_explain(dst: _Lender, src: _Lender) -> str:
    """How copy(dst, src) would be done, as text; nothing is copied."""

def memory(
    kind: Memory | Literal["host", "pinned", "device", "pool", "managed", "shared"] | None = None,
    device: _Device = "cpu",
    *,
    alloc: Callable[[int, int, int], int] | None = None,
    free: Callable[[int, int, int], object] | None = None,
) -> Memory:
    """A place to allocate from, for empty(): of a kind, or the usual one of the device.

    With `alloc(nbytes, alignment, stream) -> address` and `free(address, nbytes, stream)`, the caller's own.
    """

def device_count(kind: _Device = "cuda") -> int:
    """How many devices can be used; 0 on a machine without."""

def device_info(device: _Device = "cuda") -> dict[str, Any]:
    """What a device is, and which copy routes are on and why the others are not."""

def pointer_info(ptr: Any, /) -> dict[str, Any]:
    """What an address points to, as a dict: device, base and nbytes of the allocation, readonly."""

def version() -> tuple[int, int, int]:
    """The version of the library: (major, minor, patch)."""

def stats() -> dict[str, int]:
    """What is alive now, as a dict of counts."""

def set_num_threads(count: SupportsIndex, /) -> None:
    """Sets how many threads, the caller's included, one host copy may use; 0 goes back to the default."""

def num_threads() -> int:
    """How many threads one host copy may use now."""

class Error(Exception):
    """The base of every exception of this package.

    `status` is the library's status number, `code` the errno or CUresult behind it, 0 where there was none.
    """

    status: int
    code: int

class InvalidArgumentError(Error, ValueError):
    """An argument is out of its range, missing, or at odds with another."""

class DTypeError(Error, TypeError):
    """An element type is unknown, or not the one expected; or an argument is of a type that cannot serve."""

class ShapeError(Error, ValueError):
    """A shape is malformed, or not the one expected."""

class OutOfRangeError(Error, IndexError):
    """An axis or an index lies outside the array."""

class ExtentOverflowError(Error, OverflowError):
    """A number, or a product or sum of extents, does not fit."""

class OutOfMemoryError(Error, MemoryError):
    """Memory could not be had, of whichever kind."""

class ReadOnlyError(Error, ValueError):
    """The destination may not be written."""

class OverlapError(Error, ValueError):
    """Source and destination, or elements of a destination, share bytes."""

class NeedsCopyError(Error, ValueError):
    """Only a copy could do it, and a copy was not allowed."""

class ExchangeError(Error, BufferError):
    """The protocol cannot say what this array is, or what was offered breaks its rules."""

class VersionError(Error, BufferError):
    """A library, struct or protocol version that cannot be served."""

class DeviceError(Error, RuntimeError):
    """No such device, or not the device that the memory is on."""

class PointerError(Error, ValueError):
    """The address is unknown, unreadable, or ends before the array does."""

class UnsupportedError(Error, NotImplementedError):
    """This build, machine or driver cannot do it."""

class CudaError(Error, RuntimeError):
    """The CUDA driver refused; `code` is its CUresult."""

class StreamCaptureError(Error, RuntimeError):
    """It cannot be captured into a graph; nothing was touched."""

class ForkedError(Error, RuntimeError):
    """CUDA was used before fork; the child cannot use it."""

class WouldDeadlockError(Error, RuntimeError):
    """Waiting here could never end."""

class CancelledError(Error, RuntimeError):
    """The task was cancelled."""

class FileError(Error, OSError):
    """The operating system refused; `errno` and `code` say why."""

class FormatError(Error, ValueError):
    """A file is not what it claims to be."""

class CallbackError(Error, RuntimeError):
    """A callback of the caller reported failure."""

class InternalError(Error, RuntimeError):
    """A fault of this library: please report the text."""
