"""Describes memory that already exists as strided arrays that every runtime can use.

Wrap a pointer once. Export it without a copy to NumPy, PyTorch, JAX and every library that implements DLPack, the
buffer protocol, an array interface or Arrow. Copy at the speed of the hardware. Pointers may belong to the host or to a
CUDA device. `python -m viaduct` reports what this machine can do.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import (
    Any,
    ClassVar,
    Literal,
    Never,
    NoReturn,
    Protocol,
    SupportsComplex,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

from typing_extensions import Buffer, CapsuleType

from . import _viaduct as raw

__all__ = [
    "Archive",
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
    "can_cast",
    "convert",
    "convert_explain",
    "convert_submit",
    "copy",
    "copy_explain",
    "copy_indexed",
    "copy_indexed_submit",
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
    "load",
    "memory",
    "num_threads",
    "ones",
    "ones_like",
    "open",
    "open_safetensors",
    "pointer_info",
    "raw",
    "save",
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
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Key: TypeAlias = SupportsIndex | slice | EllipsisType | None | tuple[SupportsIndex | slice | EllipsisType | None, ...]
# A window has the axes of its file.
_FileKey: TypeAlias = SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]
_Number: TypeAlias = bool | int | float | complex
# NumPy's arrays and scalars are numbers, too.
_AnyNumber: TypeAlias = SupportsFloat | SupportsComplex
_Numbers: TypeAlias = SupportsFloat | Sequence[SupportsFloat]

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

class _ExportsByDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

class _ExportsByInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

class _ExportsByCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _ExportsByArrow(Protocol):
    def __arrow_c_array__(self) -> Any: ...

class _ExportsByArrowDevice(Protocol):
    def __arrow_c_device_array__(self) -> Any: ...

_Exporter: TypeAlias = (
    Array
    | Buffer
    | _ExportsByDLPack
    | _ExportsByInterface
    | _ExportsByCudaInterface
    | _ExportsByArrow
    | _ExportsByArrowDevice
)

# Which conversions convert() may do, as NumPy names them.
_Casting: TypeAlias = Literal["equiv", "safe", "same_kind", "unsafe"]

# Row numbers of copy_indexed().
_Index: TypeAlias = list[int] | tuple[int, ...] | range | _Exporter

@final
class Array:
    """A strided array on existing memory: a view of it that also keeps it alive.

    Made by wrap(), asarray(), from_dlpack(), from_arrow(), import_ipc() and empty(). Indexing and reshaping return
    views that share the memory. Only copy(), assignment and fill() copy. The cyclic garbage collector
    does not visit arrays, nor NumPy's: an owner that refers to its own array is never released.
    """

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    @property
    def ptr(self) -> int:
        """Returns the address of the element with index 0 on every axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each axis."""

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Returns the step along each axis in bytes, as NumPy counts; None if some step is not whole bytes. The strides
        of the other languages count elements: see element_strides."""

    @property
    def element_strides(self) -> tuple[int, ...] | None:
        """Returns the step along each axis in elements, as DLPack and the other languages count; None if some step is
        not whole elements."""

    @property
    def dtype(self) -> Any:
        """Returns a numpy.dtype if NumPy (or ml_dtypes) is installed and has the type, otherwise the name."""

    @property
    def dtype_name(self) -> str:
        """Returns the name of the element type: "float32", "record12"."""

    @property
    def ndim(self) -> int:
        """Returns the number of axes."""

    @property
    def size(self) -> int:
        """Returns the number of elements."""

    @property
    def itemsize(self) -> int | float:
        """Returns the bytes of one element; a fraction where elements share bytes."""

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all elements, as a dense array would hold them."""

    @property
    def device(self) -> str:
        """Returns the kind of memory: "cpu", "cuda:0", "pinned", "managed"."""

    @property
    def readonly(self) -> bool:
        """Returns whether writes through this array are refused."""

    @property
    def copied(self) -> bool:
        """Returns whether a DLPack import copied, so that writes do not reach the original; False for what asarray()
        copies."""

    @property
    def aligned(self) -> bool:
        """Returns whether every element starts at a multiple of its natural alignment."""

    @property
    def ready(self) -> bool:
        """Returns whether no known work still writes the content."""

    @property
    def c_contiguous(self) -> bool:
        """Returns whether the array is dense in row-major order."""

    @property
    def f_contiguous(self) -> bool:
        """Returns whether the array is dense in column-major order."""

    @property
    def contiguous(self) -> bool:
        """Returns whether the array is dense, whatever the order of the axes."""

    @property
    def owner(self) -> Any:
        """Returns the Python object that keeps the memory alive; None where that is no object, as a DLPack tensor."""

    @property
    def T(self) -> Array:
        """Returns a view with the axes reversed."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Returns NumPy's description of host memory."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Returns the description of device memory, version 3; absent for host memory."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __getitem__(self, key: _Key, /) -> Array: ...
    def __contains__(self, key: Never, /) -> NoReturn: ...
    def __setitem__(self, key: _Key, value: _Exporter | _Number | bytes, /) -> None: ...
    def __delitem__(self, key: _Key, /) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def transpose(self, *axes: Any) -> Array:
        """Returns a view with the axes in another order, reversed if none is given."""

    def reshape(self, *shape: Any) -> Array:
        """Returns a view of the same elements, in row-major order, with another shape; one extent may be -1.

        Raises NeedsCopyError if only a copy could have that shape.
        """

    def broadcast_to(self, *shape: Any) -> Array:
        """Returns a read-only view that repeats extents of 1, and adds axes in front, by strides of 0."""

    def squeeze(self, axis: _Shape | None = None) -> Array:
        """Returns a view without the named axes of extent 1, or without all of them."""

    def expand_dims(self, axis: SupportsIndex, /) -> Array:
        """Returns a view with a new axis of extent 1 at position `axis`."""

    def view(self, dtype: _DType, /) -> Array:
        """Returns a view of the same bytes as elements of another type.

        If the element size differs, the last axis must be dense and hold a whole number of new elements.
        """

    def field(self, offset: SupportsIndex, dtype: _DType, shape: _Shape | None = ()) -> Array:
        """Returns a view of one field of every element, `offset` bytes into it.

        `shape` appends the axes of a field that is itself a row-major array.
        """

    def as_readonly(self) -> Array:
        """Returns a view that refuses writes."""

    def astype(
        self,
        dtype: _DType,
        device: _Device | None = None,
        *,
        casting: _Casting = "unsafe",
        overflow: Literal["infinity", "saturate"] = "infinity",
    ) -> Array:
        """Returns a new row-major array with the elements converted to `dtype`, on `device` if it is given.

        Moves the narrower of both dtypes between host and device. `casting` is 'equiv', 'safe', 'same_kind' or
        'unsafe', `overflow` 'infinity' or 'saturate': see convert().
        """

    def copy(self, device: _Device | None = None) -> Array:
        """Returns a new row-major array with the same elements, on `device` if it is given."""

    def fill(self, value: _AnyNumber | bytes, /) -> None:
        """Sets every element to a number, or to the bytes of one element (for records and every other type)."""

    def record_stream(self, stream: _Stream | None = None) -> None:
        """Records that the stream's work so far uses the memory, which is released only after that work.

        Uses the current stream if none is given.
        """

    def set_ready(self, stream: _Stream | None = None) -> None:
        """Records that the stream's work so far writes the content; reads and exports wait for it.

        Uses the current stream if none is given.
        """

    def synchronize(self) -> None:
        """Waits until the content is ready, so that the host may read pinned or managed memory."""

    def item(self) -> Any:
        """Returns the only element as a Python value."""

    def tolist(self) -> Any:
        """Returns the elements as nested lists of Python values."""

    def numpy(self) -> Any:
        """Returns a numpy.ndarray on the same memory.

        Uses NumPy's own types, ml_dtypes' for bfloat16 and float8, and void for records.
        """

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickles host memory as an out-of-band buffer with protocol 5, and device memory through the host."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Serves numpy.asarray where the buffer protocol has no format."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Exports the array as a DLPack capsule.

        Raises BufferError if DLPack cannot describe the array.
        """

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the pair of DLPack's device type and the device id."""

    def to(self, kind: type[_T], /) -> _T:
        """Returns an object of another library's type on the same memory: array.to(torch.Tensor).

        Accepts any type with __dlpack_c_exchange_api__, DLPack's table of C functions. Faster than that library's
        from_dlpack(). The memory is ready on the stream that the library uses now.
        """

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[CapsuleType, CapsuleType]:
        """Exports a row-major array of numbers or records to Arrow, as capsules of a schema and of a device array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[CapsuleType, CapsuleType]:
        """Exports a row-major array of host memory to Arrow, as capsules of a schema and of an array."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """Returns the Arrow type of the array, as a capsule."""

    def export_ipc(self) -> bytes:
        """Describes the array, in a few hundred bytes, for import_ipc() in other processes of the host.

        Requires memory of empty(..., memory="shared") or of a CUDA device. The memory stays until the last array of any
        process is released. An import needs an array here to be alive. Waits until the content is ready.
        """

@final
class Memory:
    """Memory to allocate from; made by memory()."""

@final
class Stream:
    """A queue of work on a CUDA device.

    Creates a stream that does not synchronise with the legacy stream; Stream.wrap() accepts another library's.
    Stream.legacy and Stream.per_thread are CUDA's default streams. Stream.no_sync means: do not order. As a context
    manager it is this thread's current stream, which imports and exports use by default.
    """

    legacy: ClassVar[Stream]
    per_thread: ClassVar[Stream]
    no_sync: ClassVar[Stream]
    def __new__(cls, device: _CudaDevice = 0) -> Stream: ...
    @staticmethod
    def wrap(stream: _Stream | None, device: _CudaDevice | None = None) -> Stream:
        """Returns a Stream for another library's stream, which must live as long as work is queued through it.

        Accepts objects with __cuda_stream__, streams of CuPy, torch and Numba, and the number of a CUstream. 0, 1 and
        None are the legacy stream, 2 is the calling thread's.
        """

    @staticmethod
    def current(device: _CudaDevice = 0) -> Stream:
        """Returns the calling thread's current stream of a device; the legacy stream unless set by `with`."""

    @property
    def handle(self) -> int:
        """Returns the number of the CUstream; 1 and 2 for CUDA's default streams."""

    @property
    def device(self) -> str:
        """Returns the stream's device: "cuda:0"."""

    def synchronize(self) -> None:
        """Waits until the stream's work so far is done."""

    def done(self) -> bool:
        """Returns whether the stream's work so far is done."""

    def wait(self, event: _Event, /) -> None:
        """Makes later work of the stream wait, on the device, for an event."""

    def record(self, event: Event | None = None) -> Event:
        """Records the end of the stream's work so far in an event, a new one if none is given."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Returns the pair of the protocol's version and the number of the CUstream."""

    def __enter__(self) -> Stream:
        """Makes it this thread's current stream."""

    def __exit__(self, *exception: object) -> None:
        """Restores the previous current stream."""

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

    Counts as reached until it is recorded.
    """

    def __new__(cls, device: _CudaDevice = 0) -> Event: ...
    @staticmethod
    def wrap(event: _Event, device: _CudaDevice = 0) -> Event:
        """Returns an Event for another library's event, or for the number of a CUevent; its owner keeps owning it."""

    @property
    def handle(self) -> int:
        """Returns the number of the CUevent."""

    def record(self, stream: _Stream | None = None) -> None:
        """Records the end of a stream's work so far.

        Uses the current stream of device 0 if none is given.
        """

    def synchronize(self) -> None:
        """Waits until the recorded point is reached."""

    def done(self) -> bool:
        """Returns whether the recorded point has been reached."""

@final
class Task:
    """A copy or file transfer in progress.

    Made by copy_submit() and every other call with submit in its name. `await task` waits for it in asyncio. Releasing
    a task does not stop it.
    """

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the end. Raises the task's error, or TimeoutError after `timeout` seconds.

        Ctrl-C ends the wait, not the task.
        """

    def result(self, timeout: float | None = None) -> None:
        """Waits as wait() does; the result is None.

        Exists because futures have a method of this name.
        """

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits for the end, and returns the task's error; None if it succeeded.

        Raises CancelledError if the task was cancelled, TimeoutError after `timeout` seconds.
        """

    def cancelled(self) -> bool:
        """Returns whether the task has ended because it was cancelled."""

    def done(self) -> bool:
        """Returns whether the task has ended."""

    def progress(self) -> tuple[int, int]:
        """Returns the bytes moved so far and the bytes in all."""

    def cancel(self) -> None:
        """Requests cancellation; the task ends with CancelledError unless it was done already."""

    def join(self, stream: _Stream | None = None) -> None:
        """Makes later work of a stream wait, on the device, for the task.

        Uses the current stream of device 0 if none is given.
        """

    def add_done_callback(self, function: Callable[[Task], object], /) -> None:
        """Calls function(task) once the task has ended, on a thread of the library; at once if it has ended.

        If added while an asyncio event loop runs on this thread, that loop calls it.
        """

    def remove_done_callback(self, function: Callable[[Task], object], /) -> int:
        """Removes every registration of a function, and returns their number.

        Returns 0 if it has been called, or is about to be.
        """

    def __await__(self) -> Generator[Any]: ...

@final
class Batch:
    """Many copies prepared as one, to run any number of times.

    Has a length, and iterates over the (dst, src) pairs that were added. Keeps its arrays alive. The copies must not
    overlap one another, which is not checked.
    """

    def __new__(cls) -> Batch: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Array, Array]]: ...
    def add(self, dst: _Exporter, src: _Exporter) -> None:
        """Adds a copy between two arrays of equal shape and dtype; each may be any object that asarray() accepts.

        Raises InvalidArgumentError while another thread runs the batch.
        """

    def add_indexed(
        self,
        dst: _Exporter,
        dst_index: _Index | None,
        src: _Exporter,
        src_index: _Index | None,
        axis: SupportsIndex = 0,
        *,
        casting: _Casting | None = None,
        overflow: Literal["infinity", "saturate"] | None = None,
        byteorder: Literal["=", "<", ">"] | None = None,
        scale: _Numbers | None = None,
        offset: _Numbers | None = None,
        scale_axis: SupportsIndex | None = None,
    ) -> None:
        """Adds a copy by index, as copy_indexed() takes it; reads an index of the host now."""

    def add_convert(
        self,
        dst: _Exporter,
        src: _Exporter,
        *,
        casting: _Casting = "same_kind",
        overflow: Literal["infinity", "saturate"] = "infinity",
        byteorder: Literal["=", "<", ">"] = "=",
        scale: _Numbers | None = None,
        offset: _Numbers | None = None,
        scale_axis: SupportsIndex = 0,
    ) -> None:
        """Adds a conversion, as convert() takes it."""

    def run(self, stream: _Stream | None = None) -> None:
        """Runs all copies and returns when they are done; with a stream, once they are queued.

        Needs no device if every array is host memory. The first run plans the copies, and so takes longer.
        """

    def submit(self, stream: _Stream | None = None) -> Task:
        """Starts all copies as one task, after the stream's work so far, and returns a Task at once."""

@final
class File:
    """An open file: raw elements, or NumPy's .npy.

    Made by open(); a context manager. Offsets are in bytes, from the first element on. Slices are windows: files of
    their own that are read, written and mapped whole, without the bytes between.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of all elements."""

    @property
    def dtype(self) -> Any:
        """Returns the element type: a numpy.dtype if NumPy has one, otherwise its name."""

    @property
    def nbytes(self) -> int:
        """Returns the current size of the whole file in bytes."""

    @property
    def order(self) -> Literal["C", "F"]:
        """Returns the order of the elements: 'C' or 'F'."""

    @property
    def closed(self) -> bool:
        """Returns whether the file has been closed."""

    @property
    def _given(self) -> Any: ...
    def _set_given(self, given: object, /) -> None: ...
    def array(self, shape: _Shape | None = None, dtype: _DType | None = None, offset: SupportsIndex = 0) -> Array:
        """Maps the file's pages as an array, without a copy. The system reads pages on first access.

        Uses shape and dtype of the header or of open() unless given; one extent may be -1. Read-only unless the mode
        allows writes. Accessing a truncated mapping kills the process (SIGBUS); read() raises instead.
        """

    def read(
        self,
        dst: _Exporter | None = None,
        offset: SupportsIndex = 0,
        *,
        shape: _Shape | None = None,
        dtype: _DType | None = None,
        device: _Device = "cpu",
        stream: _Stream | None = None,
        astype: _DType | None = None,
        casting: _Casting = "same_kind",
    ) -> Array:
        """Reads into an array of any layout, on any device, and returns it; makes a new array on `device` if none is
        given.

        Runs after a stream's work so far, the legacy stream's by default. Ctrl-C ends it. Reads all of a .npy file
        unless shape, dtype or offset select a part. With `astype`, converts on the way, as astype() does.
        """

    def astype(
        self,
        dtype: _DType,
        *,
        casting: _Casting = "same_kind",
        overflow: Literal["infinity", "saturate"] = "infinity",
        byteorder: Literal["=", "<", ">"] = "=",
        scale: _Numbers | None = None,
        offset: _Numbers | None = None,
        scale_axis: SupportsIndex = 0,
    ) -> File:
        """Returns a file of the same elements in another dtype, whose reads and writes convert on the way.

        The arguments are those of convert(), with the file's elements in place of src for reads, and of dst for writes;
        `byteorder` is theirs.
        """

    def write(self, src: _Exporter, offset: SupportsIndex = 0, *, stream: _Stream | None = None) -> None:
        """Writes the elements of an array of any layout, on any device; ordered as read() is."""

    def read_submit(self, dst: _Exporter, offset: SupportsIndex = 0, *, stream: _Stream | None = None) -> Task:
        """Starts a read, after the stream's work so far if one is given, and returns a Task at once."""

    def write_submit(self, src: _Exporter, offset: SupportsIndex = 0, *, stream: _Stream | None = None) -> Task:
        """Starts a write, after the stream's work so far if one is given, and returns a Task at once."""

    def close(self) -> None:
        """Closes the file; mapped arrays and transfers in progress keep what they need."""

    def __getitem__(self, key: _FileKey, /) -> File: ...
    def __enter__(self) -> File:
        """Returns the file itself."""

    def __exit__(self, *args: object) -> None:
        """Closes the file."""

@final
class Block:
    """One block of a file in memory, for one step of stream_blocks(): rows start to stop, in `array`."""

    array: Array
    start: int
    stop: int

    def __init__(self, array: Array, start: int, stop: int, results: Any) -> None: ...
    def write(self, result: _Exporter) -> None:
        """Writes the rows' result to the output in the background; do not change it meanwhile."""

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
    """Opens a file of elements, raw or .npy; detects .npy by its first bytes.

    Has the modes of numpy.memmap. "r" reads; "r+" reads and writes; "c" maps arrays whose writes never reach the file;
    "w" creates the file, with the given dtype and shape. A raw file holds bytes unless dtype and shape are given.
    Those given for a .npy file have to be its header's.
    `durable` writes survive a power cut; `atomic` ones replace the file whole, or not at all. `page_cache` "auto"
    bypasses the system's cache for uncached data. "use" always goes through it. "avoid" leaves no more in it than there
    was.

    Reads and writes of a .npy file need arrays of its shape and dtype; those of a slice, of the slice's. With
    `as_bytes` they accept any array at any offset, as for a raw file.
    """

class Archive(Mapping[str, File]):
    """The tensors of files by name, each as a window of its file; `load` reads them all.

    The path is that of a safetensors, .npz or GGUF file, of an index (`*.safetensors.index.json`) or of a directory
    with safetensors files or an index; or a list of such paths. Opening reads the headers only, and checks them
    strictly. `metadata` is a dict of the headers' texts.
    """

    def __init__(
        self, path: _Path | Sequence[_Path], *, page_cache: Literal["auto", "use", "avoid"] = "auto"
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object) -> bool: ...
    def __getitem__(self, name: str) -> File: ...
    def type_name(self, name: str) -> str:
        """The name of a tensor's type in its format, such as BF16, or Q4_K for blocks that are arrays of uint8."""

    @property
    def nbytes(self) -> int:
        """The bytes of a buffer that holds all tensors."""

    @property
    def metadata(self) -> dict[str, str]:
        """The texts of the headers by name; of a name in several files, the first file's."""
    def load(
        self,
        names: Sequence[str] | None = None,
        device: _Device = "cpu",
        *,
        to: Any = None,
        stream: _Stream | None = None,
        dtype: _DType | None = None,
    ) -> dict[str, Any]:
        """Reads the tensors of `names`, or all, to a device, into one allocation of which each is a view.

        With `to`, converts each as Array.to does: `to=torch.Tensor`. With `dtype`, converts tensors of floats to it on
        the way; others stay as they are.
        """

    def astype(
        self,
        name: str,
        dtype: _DType,
        *,
        casting: _Casting = "same_kind",
        overflow: Literal["infinity", "saturate"] = "infinity",
    ) -> None:
        """Reads a tensor as another dtype from now on, for windows and loads; converts on the way, as convert() does.

        Nothing else may use the archive meanwhile.
        """

    def slice(self, name: str, axis: int, start: int, count: int) -> None:
        """Reduces a tensor to `count` indices of an axis, from `start` on, for windows and loads.

        Nothing else may use the archive meanwhile.
        """

def load(
    path: _Path | Sequence[_Path],
    device: _Device = "cpu",
    *,
    names: Sequence[str] | None = None,
    to: Any = None,
    stream: _Stream | None = None,
    page_cache: Literal["auto", "use", "avoid"] = "auto",
    dtype: _DType | None = None,
) -> Any:
    """Reads a file to a device: the array of a .npy file, otherwise a dict of the tensors of an Archive.

    With `dtype`, converts floats to it on the way; the numbers of a .npy file whatever they are.
    """

def save(
    path: _Path,
    arrays: Any,
    *,
    metadata: Mapping[str, str] | None = None,
    shard_bytes: SupportsIndex = 0,
    durable: bool = False,
    page_cache: Literal["auto", "use", "avoid"] = "auto",
    stream: _Stream | None = None,
) -> None:
    """Writes arrays of any library by name to a safetensors file; one array to a .npy file, or to a raw one.

    With `shard_bytes`, writes several files of so many bytes, and their index. A file replaces what had its path when it
    is complete; a failure leaves nothing. `durable` content survives a power cut.
    """

class Safetensors(dict[str, File]):
    """The tensors of a .safetensors file by name, and its `metadata`: a dict of texts, empty if it has none."""

    metadata: dict[str, str]

def open_safetensors(path: _Path, *, page_cache: Literal["auto", "use", "avoid"] = "auto") -> Safetensors:
    """Opens the tensors of a .safetensors file by name, each as a window of the file, as Archive does.

    The file's other texts are its `metadata`. Each tensor is read, mapped and sliced like any file:
    `open_safetensors(path)["weight"].read(device="cuda:0")`. The whole header is checked; float4 and float6 tensors are
    refused.
    """

def stream_blocks(
    file: File | _Path,
    block: SupportsIndex,
    device: _Device = "cpu",
    *,
    output: File | _Path | None = None,
    depth: SupportsIndex = 4,
    stream: _Stream | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> Iterator[Block]:
    """Yields the rows of a file, `block` of them at a time, in arrays on a device. The file need not fit in memory.

    Reads the next blocks while one is in use. Block.write() writes to `output`, a file or the path of a new one, in the
    background. An array is valid until the next but one block: it lies in one of `depth` buffers, 3 or more, which are
    all the memory used. Leaving the loop early waits for the results written so far. Queue device work on `stream`, the
    legacy stream by default. Calls `progress` with the bytes so far and in all; True shows a bar if tqdm is installed.
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
    """Returns an array on existing memory; copies nothing and accesses nothing.

    `ptr` is an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. `strides` are
    in bytes, row-major if not given. `owner` is kept alive until the last view and export is released. Then `release`,
    if given, is called once without arguments. It is not called if wrap() fails. `check` looks a device address up in
    the driver, and requires the first and last byte of host memory to be readable. `nbytes` requires every element to
    lie within that many bytes of the address. `to`, a type as for Array.to(), returns an object of that type. That is
    the fastest way from a pointer to a torch.Tensor; the content counts as ready.
    """

def asarray(
    x: _Exporter, /, dtype: _DType | None = None, *, device: _Device | None = None, copy: bool | None = None
) -> Array:
    """Returns an array on the memory of another library's array.

    Tries DLPack, the CUDA array interface, the buffer protocol, the array interface and Arrow in turn. Copies only if
    `copy` is True, or if `device` or `dtype` differs from that of x and `copy` is not False. Converts to `dtype` as
    convert() does; raises DTypeError if that is not of the same kind.
    """

def from_dlpack(
    x: _ExportsByDLPack | CapsuleType, /, *, device: _Device | None = None, copy: bool | None = None
) -> Array:
    """Returns an array on the memory of an object with __dlpack__, or of a DLPack capsule.

    `copy` True always copies, False never, None only if required.
    """

def from_arrow(x: _ExportsByArrow | _ExportsByArrowDevice | tuple[CapsuleType, CapsuleType], /) -> Array:
    """Returns a read-only array on the memory of an Arrow array without nulls, or of its pair of capsules."""

def import_ipc(description: Buffer, /) -> Array:
    """Returns an array on the memory that another process described by Array.export_ipc().

    `description` is those bytes, or an object with a buffer of them. Copies nothing. The array keeps the memory alive,
    and may outlive the other process. A process cannot import its own device memory.
    """

def empty(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new row-major array with uninitialised elements.

    `memory` is a Memory, or "host", "pinned", "device", "pool", "managed" or "shared" (which other processes can use
    too). `stream` orders the allocation of a pool, and is passed to a custom allocator.
    """

def zeros(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty() does, with all bytes zero; a stream orders the fill."""

def ones(
    shape: _Shape,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty() does, with all elements one; a stream orders the fill."""

def full(
    shape: _Shape,
    fill_value: _AnyNumber | bytes,
    dtype: _DType,
    *,
    device: _Device = "cpu",
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty() does, with all elements set to a number, or to the bytes of one element."""

def empty_like(
    x: _Exporter,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new row-major array with the shape, dtype and device of x and uninitialised elements.

    x is any object that asarray() accepts. `dtype`, `device` and `memory` override those of x.
    """

def zeros_like(
    x: _Exporter,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty_like() does, with all bytes zero."""

def ones_like(
    x: _Exporter,
    /,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty_like() does, with all elements one."""

def full_like(
    x: _Exporter,
    /,
    fill_value: _AnyNumber | bytes,
    dtype: _DType | None = None,
    *,
    device: _Device | None = None,
    memory: Memory | str | None = None,
    stream: _Stream | None = None,
) -> Array:
    """Returns a new array as empty_like() does, with all elements set to a number, or to the bytes of one element."""

def copyto(
    dst: _Exporter,
    src: _Exporter | _Number | bytes,
    stream: _Stream | None = None,
    *,
    casting: _Casting | None = None,
) -> None:
    """Copies src into dst as numpy.copyto does: broadcasts src to the shape of dst, and accepts a number.

    Both may be any object that asarray() accepts. The dtypes must be equal, unless `casting` says how src may be
    converted: see convert(). Returns when done; with a stream, once the copy is queued.
    """

def convert(
    dst: _Exporter,
    src: _Exporter,
    *,
    casting: _Casting = "same_kind",
    overflow: Literal["infinity", "saturate"] = "infinity",
    byteorder: Literal["=", "<", ">"] = "=",
    scale: _Numbers | None = None,
    offset: _Numbers | None = None,
    scale_axis: SupportsIndex = 0,
    stream: _Stream | None = None,
) -> None:
    """Copies between two arrays of equal shape, and converts to the dtype of dst on the way.

    `casting` is NumPy's: 'equiv', 'safe', 'same_kind' or 'unsafe'. `overflow` says what a float too large for float8
    and narrower becomes: 'infinity' or 'saturate'. `byteorder` is that of src: '=', '<' or '>'. With `scale` or
    `offset`, floats become src * scale + offset in float32; each is one number, or as many as dst has along
    `scale_axis`. Returns when done; with a stream, once the conversion is queued.
    """

def convert_submit(
    dst: _Exporter,
    src: _Exporter,
    *,
    casting: _Casting = "same_kind",
    overflow: Literal["infinity", "saturate"] = "infinity",
    byteorder: Literal["=", "<", ">"] = "=",
    scale: _Numbers | None = None,
    offset: _Numbers | None = None,
    scale_axis: SupportsIndex = 0,
    stream: _Stream | None = None,
) -> Task:
    """Starts a conversion as convert() does, after the stream's work so far, and returns a Task at once."""

def convert_explain(
    dst: _Exporter,
    src: _Exporter,
    *,
    casting: _Casting = "same_kind",
    overflow: Literal["infinity", "saturate"] = "infinity",
    byteorder: Literal["=", "<", ">"] = "=",
    scale: _Numbers | None = None,
    offset: _Numbers | None = None,
    scale_axis: SupportsIndex = 0,
) -> str:
    """Returns a text that says how convert() would do it, and where; converts nothing."""

def can_cast(dtype: _DType, to: _DType, casting: _Casting = "safe") -> bool:
    """Returns whether a casting rule allows convert() from one dtype to the other."""

def copy(dst: _Exporter, src: _Exporter, stream: _Stream | None = None) -> None:
    """Copies between two arrays of equal shape and dtype, as via_copy does; use copyto() to broadcast.

    Returns when done; with a stream, once the copy is queued.
    """

def copy_submit(dst: _Exporter, src: _Exporter, stream: _Stream | None = None) -> Task:
    """Starts a copy as copy() does, after the stream's work so far, and returns a Task at once."""

def copy_indexed(
    dst: _Exporter,
    dst_index: _Index | None,
    src: _Exporter,
    src_index: _Index | None,
    axis: SupportsIndex = 0,
    stream: _Stream | None = None,
    *,
    casting: _Casting | None = None,
    overflow: Literal["infinity", "saturate"] | None = None,
    byteorder: Literal["=", "<", ">"] | None = None,
    scale: _Numbers | None = None,
    offset: _Numbers | None = None,
    scale_axis: SupportsIndex | None = None,
) -> None:
    """Copies row src_index[k] of src to row dst_index[k] of dst, for each k, along an axis.

    An index is a list, a range, or an array of int32 or int64 anywhere; None is 0, 1, 2 ... Returns when done; with a
    stream, once the copy is queued. With `casting`, or another argument of convert(), dst may have another dtype, and
    rows are converted on the way.
    """

def copy_indexed_submit(
    dst: _Exporter,
    dst_index: _Index | None,
    src: _Exporter,
    src_index: _Index | None,
    axis: SupportsIndex = 0,
    stream: _Stream | None = None,
    *,
    casting: _Casting | None = None,
    overflow: Literal["infinity", "saturate"] | None = None,
    byteorder: Literal["=", "<", ">"] | None = None,
    scale: _Numbers | None = None,
    offset: _Numbers | None = None,
    scale_axis: SupportsIndex | None = None,
) -> Task:
    """Starts a copy as copy_indexed() does, after the stream's work so far, and returns a Task at once."""

def fill(dst: _Exporter, value: _AnyNumber | bytes, stream: _Stream | None = None) -> None:
    """Sets every element to a number, or to the bytes of one element."""

def copy_explain(dst: _Exporter, src: _Exporter) -> str:
    """Returns a text that says how copy(dst, src) would be done; copies nothing."""

def memory(
    kind: Memory | Literal["host", "pinned", "device", "pool", "managed", "shared"] | None = None,
    device: _Device = "cpu",
    *,
    alloc: Callable[[int, int, int], int] | None = None,
    free: Callable[[int, int, int], object] | None = None,
) -> Memory:
    """Returns memory to allocate from, for empty(): of a kind, or the usual kind of the device.

    With `alloc(nbytes, alignment, stream) -> address` and `free(address, nbytes, stream)`, allocates by these
    functions.
    """

def device_count(kind: _Device = "cuda") -> int:
    """Returns the number of usable devices."""

def device_info(device: _Device = "cuda") -> dict[str, Any]:
    """Returns the properties of a device, its copy routes, and why a route is off."""

def pointer_info(ptr: Any, /) -> dict[str, Any]:
    """Returns what an address points to, as a dict: device, base and nbytes of the allocation, readonly."""

def version() -> tuple[int, int, int]:
    """Returns the version of the library: (major, minor, patch)."""

def stats() -> dict[str, int]:
    """Returns counts of live objects and bytes, as a dict."""

def set_num_threads(count: SupportsIndex, /) -> None:
    """Sets how many threads, including the caller's, one host copy may use; 0 restores the default."""

def num_threads() -> int:
    """Returns how many threads one host copy may use now."""

class Error(Exception):
    """The base of every exception of this package.

    `status` is the library's status number; `code` is the errno or CUresult behind it, 0 if there is none.
    """

    status: int
    code: int

class InvalidArgumentError(Error, ValueError):
    """An argument is out of range, missing, or contradicts another."""

class DTypeError(Error, TypeError):
    """An element type is unknown or not the expected one, or an argument has the wrong type."""

class ShapeError(Error, ValueError):
    """A shape is malformed, or not the expected one."""

class OutOfRangeError(Error, IndexError):
    """An axis or an index lies outside the array."""

class ExtentOverflowError(Error, OverflowError):
    """A number, or a product or sum of extents, does not fit."""

class OutOfMemoryError(Error, MemoryError):
    """Memory of some kind could not be allocated."""

class ReadOnlyError(Error, ValueError):
    """The destination is read-only."""

class OverlapError(Error, ValueError):
    """Source and destination, or elements of a destination, share bytes."""

class NeedsCopyError(Error, ValueError):
    """Only a copy could do it, and a copy was not allowed."""

class ExchangeError(Error, BufferError):
    """The protocol cannot describe this array, or the imported object breaks its rules."""

class VersionError(Error, BufferError):
    """The version of a library, struct or protocol is not supported."""

class DeviceError(Error, RuntimeError):
    """The device does not exist, or is not the device of the memory."""

class PointerError(Error, ValueError):
    """The address is unknown, unreadable, or ends before the array does."""

class UnsupportedError(Error, NotImplementedError):
    """This build, machine or driver does not support it."""

class CudaError(Error, RuntimeError):
    """The CUDA driver refused; `code` is its CUresult."""

class StreamCaptureError(Error, RuntimeError):
    """The operation cannot be captured into a graph; no memory was accessed."""

class ForkedError(Error, RuntimeError):
    """CUDA was used before fork; the child cannot use it."""

class WouldDeadlockError(Error, RuntimeError):
    """Waiting here could never end."""

class CancelledError(Error, RuntimeError):
    """The task was cancelled."""

class FileError(Error, OSError):
    """The operating system refused; `errno` and `code` say why."""

class FormatError(Error, ValueError):
    """A file does not have the format it claims."""

class CallbackError(Error, RuntimeError):
    """A callback of the caller reported failure."""

class InternalError(Error, RuntimeError):
    """A bug of this library: please report the text."""
