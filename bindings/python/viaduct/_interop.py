"""What the native layer asks of Python: the ways of other libraries, imported only when one of their objects is met."""

from __future__ import annotations

import operator
import re
import reprlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Array

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 8
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200


def shorten(container: object) -> str:
    """repr() for a message, of what may be long, deep or hold itself."""
    return _SHORT.repr(container)


# ------------------------------------------------------------------------------------------------------ dtypes

_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

# NumPy's kinds that have no element type here, and what to do instead.
_REFUSED_KINDS = {
    "M": "NumPy's datetime64; use view('int64')",
    "m": "NumPy's timedelta64; use view('int64')",
    "O": "Python objects, which are references and no memory to share",
    "S": 'NumPy\'s bytes; a record of that many bytes is "recordN"',
    "U": 'NumPy\'s str; a record of that many bytes is "recordN"',
    "T": "NumPy's strings of any length",
}
_TYPESTR = re.compile(r"[<=>|]?[a-zA-Z?]\d*")


def name_of_dtype(dtype: object) -> str | int:
    """The name of an element type, or the size of a record; TypeError with the reason if it is none."""
    for read in (_python_type, _ctypes_type, _torch_dtype, _tensorflow_dtype, _arrow_type, _numpy_dtype):
        found = read(dtype)
        if found is not None:
            return found
    raise TypeError(
        f"found {shorten(dtype)}, expected an element type: a name such as 'float32', a dtype of NumPy, ml_dtypes, torch or "
        "TensorFlow, a type of ctypes, or a number made by the C API"
    )


def is_fixed_dtype(dtype: object) -> bool:
    """Whether a description means the same each time, so that its meaning can be kept.

    Lists and dicts change, and so do objects and classes with a `dtype`, and structures of ctypes without fields yet.
    """
    ctypes, numpy, torch = (sys.modules.get(name) for name in ("ctypes", "numpy", "torch"))
    if numpy is not None and issubclass(type(dtype), numpy.dtype) or torch is not None and type(dtype) is torch.dtype:
        return True
    if not isinstance(dtype, type):
        return False
    if dtype in _PYTHON_TYPES or ctypes is not None and issubclass(dtype, ctypes._SimpleCData):
        return True
    return numpy is not None and issubclass(dtype, numpy.generic) and not issubclass(dtype, numpy.void)


def _python_type(dtype: object) -> str | None:
    return _PYTHON_TYPES.get(dtype) if isinstance(dtype, type) else None


def _ctypes_type(dtype: object) -> str | int | None:
    ctypes = sys.modules.get("ctypes")
    if ctypes is None or not isinstance(dtype, type):
        return None
    if issubclass(dtype, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        return int(ctypes.sizeof(dtype))
    if not issubclass(dtype, ctypes._SimpleCData):
        return None
    code = str(getattr(dtype, "_type_"))  # noqa: B009
    bits = 8 * ctypes.sizeof(dtype)
    if code == "?":
        return "bool"
    if code in "bhilq":
        return f"int{bits}"
    if code in "cBHILQ":
        return f"uint{bits}"
    if code in "fd":
        return f"float{bits}"
    raise TypeError(f"found {dtype!r}, which is no number")


def _torch_dtype(dtype: object) -> str | None:
    torch = sys.modules.get("torch")
    return str(dtype).removeprefix("torch.") if torch is not None and isinstance(dtype, torch.dtype) else None


def _tensorflow_dtype(dtype: object) -> str | None:
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(dtype, tensorflow.DType):
        return None
    return {"half": "float16"}.get(dtype.name, str(dtype.name))


def _arrow_type(dtype: object) -> str | None:
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(dtype, pyarrow.DataType):
        return None
    return {"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(dtype), str(dtype))


def _numpy_dtype(dtype: object) -> str | int | None:
    if dtype is None or isinstance(dtype, str) and not _TYPESTR.fullmatch(dtype):
        return None
    try:
        import numpy
    except ImportError:
        return None
    try:
        found = numpy.dtype(dtype)  # type: ignore[call-overload]
    except (TypeError, ValueError, RecursionError):
        return None
    return _name_of_numpy_dtype(found)


def _name_of_numpy_dtype(dtype: Any) -> str | int:
    if not dtype.isnative:
        raise TypeError(f"found {dtype!r}, expected the byte order of this machine")
    if dtype.kind in _REFUSED_KINDS:
        raise TypeError(f"found {_REFUSED_KINDS[dtype.kind]}")
    if dtype.type.__name__ in ("longdouble", "clongdouble"):
        raise TypeError("found NumPy's longdouble, whose bits differ between machines")
    if dtype.hasobject:
        raise TypeError(f"found {_REFUSED_KINDS['O']}")
    if dtype.fields is not None or dtype.type.__name__ == "void":
        return int(dtype.itemsize)
    if re.fullmatch(r"u?int[124]|float[46]_.*", dtype.name):
        raise TypeError(
            f'found ml_dtypes\' {dtype.name}, whose elements have a byte each; "{dtype.name}" by name means packed ones'
        )
    return str(dtype.name)


def dtype_object(name: str, record_bytes: int) -> object:
    """numpy.dtype for a name where NumPy, or ml_dtypes, has one whose elements are as large; else the name."""
    try:
        import numpy
    except ImportError:
        return name
    if record_bytes:
        return numpy.dtype((numpy.void, record_bytes))
    if re.fullmatch(r"(bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128))", name):
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return name
    found = getattr(ml_dtypes, name, None) if re.fullmatch(r"bfloat16|float8_.*", name) else None
    return name if found is None else numpy.dtype(found)


# --------------------------------------------------------------------------------------------------- addresses


def address_of(pointer: object) -> int | None:
    """The address in a pointer of ctypes or cffi, or in an object with `ptr` or `data_ptr`; None if it is none."""
    for read in (_ctypes_address, _cffi_address, _attribute_address, _index):
        found = read(pointer)
        if found is not None:
            return found
    return None


def _ctypes_address(pointer: object) -> int | None:
    ctypes = sys.modules.get("ctypes")
    if ctypes is None:
        return None
    if isinstance(pointer, (ctypes.Array, ctypes.Structure, ctypes.Union)):
        return int(ctypes.addressof(pointer))
    if isinstance(pointer, (ctypes._Pointer, ctypes.c_void_p, ctypes.c_char_p)):
        return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0)
    return None


def _cffi_address(pointer: object) -> int | None:
    backend = sys.modules.get("_cffi_backend")
    if backend is None or not isinstance(pointer, backend._CDataBase):
        return None
    return int(backend.FFI().cast("uintptr_t", pointer))


def _attribute_address(pointer: object) -> int | None:
    for name in ("ptr", "data_ptr"):
        found = getattr(pointer, name, None)
        number = _index(found() if callable(found) else found)
        if number is not None:
            return number
    return None


def _index(number: Any) -> int | None:
    """An integer of whatever library; None if it is none."""
    try:
        return operator.index(number)
    except TypeError:
        return None


def hides_elements(array: Any) -> bool:
    """Whether the mask of an array of NumPy's kind hides any of its elements, or any field of one."""
    import numpy

    mask = array.mask
    return not callable(mask) and any(numpy.asarray(mask).tobytes())


# --------------------------------------------------------------------------------------------- devices and streams


def device_name(device: object) -> str | None:
    """The name of another library's device; None if it is none that is known."""
    library = type(device).__module__.partition(".")[0]
    if library in ("jax", "jaxlib"):
        platform = getattr(device, "platform", "")
        return "cpu" if platform == "cpu" else _cuda_name(getattr(device, "local_hardware_id", None))
    name = {"cupy": "id", "numba": "id", "cuda": "device_id"}.get(library)
    return _cuda_name(getattr(device, name, None)) if name is not None else None


def _cuda_name(number: object) -> str | None:
    return f"cuda:{number}" if isinstance(number, int) else None


def stream_handle(stream: Any) -> int | None:
    """The number of another library's stream; None if it is no stream."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ValueError(f"__cuda_stream__ of {stream!r} is of version {version}, expected 0")
        return int(handle)
    return _first_number(stream, ("cuda_stream", "ptr", "handle"))


def event_handle(event: Any) -> int | None:
    """The number of another library's event, or of a CUevent; None if it is no event."""
    number = None if isinstance(event, bool) else _index(event)
    return _first_number(event, ("cuda_event", "ptr", "handle")) if number is None else number


def _first_number(wrapper: object, names: tuple[str, ...]) -> int | None:
    """A handle under one of the names: torch's, CuPy's, and those of Numba, PyCUDA and cuda.core (plain or wrapped)."""
    for name in names:
        found = getattr(wrapper, name, None)
        if found is None:
            continue
        value = getattr(found, "value", found)
        if isinstance(value, int):
            return value
        if value is None or hasattr(value, "__int__"):
            return int(value or 0)
    return None


def await_task(task: Any) -> Any:
    """The iterator that `await task` runs: a future of the running loop, set once the task has ended."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(_task: object) -> None:
        if future.done():
            return
        try:
            task.wait()
        except Exception as error:  # noqa: BLE001  (whatever the task ended with)
            future.set_exception(error)
        else:
            future.set_result(None)

    # The loop calls it. Who gives up waiting takes the callback along.
    task.add_done_callback(settle)
    future.add_done_callback(lambda _: task.remove_done_callback(settle))
    return future.__await__()


def prepare_for_cuda(kind: type) -> None:
    """Starts what a library starts only when it makes something on a device by its own functions."""
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor):
        torch.cuda.init()


# ---------------------------------------------------------------------------------------------------- elements


def encode(number: complex, name: str) -> bytes:
    """One element of a type that C has no number for, as bytes; of a float but for complex types."""
    if name == "complex32":
        return encode(number.real, "float16") + encode(number.imag, "float16")
    if name == "float16":
        import struct

        return struct.pack("<e", number)
    try:
        import ml_dtypes
        import numpy
    except ImportError:
        raise TypeError(f"a number becomes {name} with ml_dtypes, which is not installed; give the bytes") from None
    kind = getattr(ml_dtypes, name, None)
    if kind is None:
        raise TypeError(f"no package rounds a number to {name}; give the bytes of one element")
    return bytes(numpy.asarray(number, dtype=kind).tobytes())


# --------------------------------------------------------------------------------------------------------- NumPy


def to_numpy(array: Array) -> Any:
    """A numpy.ndarray on the same memory."""
    try:
        import numpy
    except ImportError:
        raise ImportError("Array.numpy() needs NumPy, which is not installed") from None
    if array.device.startswith("cuda:"):
        raise BufferError(f"Array.numpy(): the memory is on {array.device}; copy(device='cpu') brings it")
    dtype = array.dtype
    if isinstance(dtype, str):
        raise TypeError(_no_numpy_type(array.dtype_name))
    is_registered = dtype.isbuiltin == 2  # by another package: such types have no format
    if not is_registered:
        return numpy.asarray(memoryview(array)).view(dtype)
    # A type of ml_dtypes: taken as integers of its size, through the one protocol that keeps odd strides.
    return numpy.asarray(array.view(f"uint{8 * dtype.itemsize}")).view(dtype)


def _no_numpy_type(name: str) -> str:
    if re.fullmatch(r"bfloat16|float8_.*", name):
        return f"NumPy has no type for {name}: install ml_dtypes, or take view('uint16') or view('uint8')"
    return f"NumPy has no type for {name}: take view('uint8'), DLPack, or one lane with field()"


def array_protocol(array: Array, dtype: object, copy: object) -> Any:
    """numpy.asarray(array, dtype, copy) where the buffer protocol has no format for the elements."""
    import numpy

    found = to_numpy(array)
    if dtype is not None and numpy.dtype(dtype) != found.dtype:  # type: ignore[call-overload]
        if copy is False:
            raise ValueError(f"another dtype than {found.dtype} takes a copy, which was not allowed")
        return found.astype(dtype)
    return found.copy() if copy else found


def to_list(array: Array) -> Any:
    """Nested lists of Python values."""
    try:
        return memoryview(array).tolist()
    except (BufferError, NotImplementedError):
        return to_numpy(array).tolist()


def to_scalar(array: Array) -> Any:
    """The one element as a Python value."""
    if array.size != 1:
        raise ValueError(f"Array.item: found {array.size} elements, expected one")
    while array.ndim > 0:
        array = array[0]
    return to_list(array)
