"""Helpers of the native layer for other libraries, which are imported only when one of their objects is used."""

from __future__ import annotations

import operator
import re
import reprlib
import sys
from typing import TYPE_CHECKING, Any

from ._extension import raw

if TYPE_CHECKING:
    from . import Array

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 8
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200


def shorten(container: object) -> str:
    """Returns repr() for a message, bounded in length and depth."""
    return _SHORT.repr(container)


# ------------------------------------------------------------------------------------------------------ dtypes

_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

# NumPy's kinds that have no element type here, and what to do instead.
_REFUSED_KINDS = {
    "M": "NumPy's datetime64; expected view('int64')",
    "m": "NumPy's timedelta64; expected view('int64')",
    "O": "a type of Python objects, which are references; expected plain values",
    "S": 'NumPy\'s bytes; expected a record of that many bytes, "recordN"',
    "U": 'NumPy\'s str; expected a record of that many bytes, "recordN"',
    "T": "NumPy's strings of any length; expected elements of one size",
}
_TYPESTR = re.compile(r"[<=>|]?[a-zA-Z?]\d*")


def name_of_dtype(dtype: object) -> str | int:
    """Returns the name of an element type, or the size of a record. Raises TypeError with the reason."""
    for read in (_python_type, _ctypes_type, _torch_dtype, _tensorflow_dtype, _arrow_type, _numpy_dtype):
        found = read(dtype)
        if found is not None:
            return found
    raise TypeError(
        f"{shorten(dtype)}; expected an element type: a name such as 'float32', a dtype of NumPy, ml_dtypes, torch or "
        "TensorFlow, a type of ctypes, or a number made by the C API"
    )


def is_fixed_dtype(dtype: object) -> bool:
    """Returns whether a description always means the same, so that its meaning can be cached. Lists and dicts may
    change, as may objects and classes with a `dtype`, and structures of ctypes without fields yet."""
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
    swapped = "__ctype_be__" if sys.byteorder == "little" else "__ctype_le__"
    if bits > 8 and getattr(dtype, swapped, None) is dtype:
        raise TypeError(f"{dtype!r}; expected the byte order of this machine")
    if code == "?":
        return "bool"
    if code in "bhilq":
        return f"int{bits}"
    if code in "cBHILQ":
        return f"uint{bits}"
    if code in "fd":
        return f"float{bits}"
    raise TypeError(f"{dtype!r}; expected a numeric type")


def _torch_dtype(dtype: object) -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(dtype, torch.dtype):
        return None
    return {"torch.float4_e2m1fn_x2": "float4_e2m1fnx2"}.get(str(dtype), str(dtype).removeprefix("torch."))


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
        raise TypeError(f"{dtype!r}; expected the byte order of this machine")
    if dtype.kind in _REFUSED_KINDS:
        raise TypeError(_REFUSED_KINDS[dtype.kind])
    if dtype.type.__name__ in ("longdouble", "clongdouble"):
        raise TypeError("NumPy's longdouble, whose bits differ between machines; expected another float")
    if dtype.hasobject:
        raise TypeError(_REFUSED_KINDS["O"])
    if dtype.fields is not None or dtype.type.__name__ == "void":
        return int(dtype.itemsize)
    if re.fullmatch(r"u?int[124]|float[46]_.*", dtype.name):
        raise TypeError(
            f'ml_dtypes\' {dtype.name}, whose elements have a byte each; expected the name "{dtype.name}" for packed ones'
        )
    return str(dtype.name)


def dtype_object(name: str, record_bytes: int) -> Any:
    """Returns a numpy.dtype for a name if NumPy, or ml_dtypes, has one of the same size, otherwise the name."""
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
    """Returns the address in a pointer of ctypes or cffi, or in an object with `ptr` or `data_ptr`, otherwise None."""
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
    """Returns an integer of any library, otherwise None."""
    try:
        return operator.index(number)
    except TypeError:
        return None


def hides_elements(array: Any) -> bool:
    """Returns whether the mask of an array hides an element, or a field of one."""
    import numpy

    mask = array.mask
    return mask is not None and not callable(mask) and any(numpy.asarray(mask).tobytes())


# --------------------------------------------------------------------------------------------- devices and streams


def device_name(device: object) -> str | None:
    """Returns the name of another library's device, None if it is unknown."""
    library = str(type(device).__module__).partition(".")[0]
    if library in ("jax", "jaxlib"):
        platform = getattr(device, "platform", "")
        return "cpu" if platform == "cpu" else _cuda_name(getattr(device, "local_hardware_id", None))
    name = {"cupy": "id", "numba": "id", "cuda": "device_id"}.get(library)
    return _cuda_name(getattr(device, name, None)) if name is not None else None


def _cuda_name(number: object) -> str | None:
    return f"cuda:{number}" if isinstance(number, int) else None


def stream_handle(stream: Any) -> int | None:
    """Returns the number of another library's stream, None if it is not a stream."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        return _first_number(stream, ("cuda_stream", "ptr", "handle"))
    answer = protocol() if callable(protocol) else protocol
    version, handle = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (None, None)
    number = _handle(handle)
    if version != 0 or number is None:
        raise ValueError(
            f"__cuda_stream__ of {shorten(stream)} is {shorten(answer)}; expected 0, its version, and the number of a "
            "CUstream"
        )
    return number


def event_handle(event: Any) -> int | None:
    """Returns the number of another library's event, or of a CUevent, None if it is not an event."""
    number = _handle(event)
    return _first_number(event, ("cuda_event", "ptr", "handle")) if number is None else number


def _first_number(wrapper: object, names: tuple[str, ...]) -> int | None:
    """Returns a handle under one of the names: torch's, CuPy's, Numba's, PyCUDA's and cuda.core's (plain or wrapped)."""
    for name in names:
        found = getattr(wrapper, name, None)
        if found is None:
            continue
        value = getattr(found, "value", found)
        number = 0 if value is None else _handle(value)
        if number is not None:
            return number
    return None


def _handle(value: Any) -> int | None:
    """Returns the number of a handle: an integer, or what a wrapper such as a CUstream converts to; None for a float."""
    number = None if isinstance(value, bool) else _index(value)
    is_wrapper = hasattr(value, "__int__") and not hasattr(value, "__float__")
    return int(value) if number is None and is_wrapper else number


def await_task(task: Any) -> Any:
    """Returns the iterator of `await task`: a future of the running loop, set once the task has ended."""
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
    """Initialises what a library otherwise initialises when it allocates on a device."""
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor):
        torch.cuda.init()


# ---------------------------------------------------------------------------------------------------- elements


def encode(number: complex, name: str) -> bytes:
    """Returns the bytes of one element of a type without a C type; from a float unless the type is complex."""
    if name == "complex32":
        return encode(number.real, "float16") + encode(number.imag, "float16")
    if name == "float16":
        import struct

        return struct.pack("<e", number)
    try:
        import ml_dtypes
        import numpy
    except ImportError:
        raise TypeError(
            f"a number, and ml_dtypes, which rounds to {name}, is not installed; expected the bytes of one element"
        ) from None
    kind = getattr(ml_dtypes, name, None)
    if kind is None:
        raise TypeError(f"a number, and no package rounds to {name}; expected the bytes of one element")
    return bytes(numpy.asarray(number, dtype=kind).tobytes())


# --------------------------------------------------------------------------------------------------------- NumPy


def to_numpy(array: Array) -> Any:
    """Returns a numpy.ndarray on the same memory."""
    try:
        import numpy
    except ModuleNotFoundError:
        raise ImportError("Array.numpy: NumPy is not installed") from None
    if array.device.startswith("cuda:"):
        raise raw.ExchangeError(
            f"Array.numpy: the memory is on {array.device}; expected host memory (call copy(device='cpu'))"
        )
    dtype = array.dtype
    if isinstance(dtype, str):
        dtype = dtype_object(dtype, 0)  # ml_dtypes may have been installed since
    if isinstance(dtype, str):
        raise raw.DTypeError(_no_numpy_type(array.dtype_name))
    is_registered = dtype.isbuiltin == 2  # by another package: such types have no format
    if not is_registered:
        return numpy.asarray(memoryview(array)).view(dtype)
    # A type of ml_dtypes: taken as integers of its size, through the one protocol that keeps odd strides.
    return numpy.asarray(array.view(f"uint{8 * dtype.itemsize}")).view(dtype)


def _no_numpy_type(name: str) -> str:
    if re.fullmatch(r"bfloat16|float8_.*", name):
        return f"Array.numpy: NumPy has no type for {name}; install ml_dtypes, or call view('uint16') or view('uint8')"
    return f"Array.numpy: NumPy has no type for {name}; call view('uint8'), use DLPack, or select a lane with field()"


def array_protocol(array: Array, dtype: object, copy: object) -> Any:
    """Implements numpy.asarray(array, dtype, copy) if the buffer protocol has no format for the elements."""
    import numpy

    found = to_numpy(array)
    if dtype is not None and numpy.dtype(dtype) != found.dtype:  # type: ignore[call-overload]
        if copy is False:
            raise raw.NeedsCopyError(
                f"Array.__array__: copy is False; expected True or None, since another dtype than {found.dtype} needs a copy"
            )
        return found.astype(dtype)
    return found.copy() if copy else found


def to_list(array: Array) -> Any:
    """Returns nested lists of Python values, without NumPy for all numbers that Python has."""
    try:
        return memoryview(array).tolist()
    except (BufferError, NotImplementedError):
        if array.device.startswith("cuda:"):
            raise
    name = array.dtype_name
    if re.fullmatch(r"float16|bfloat16|float8_.*", name):
        return to_list(array.astype("float32"))
    if re.fullmatch(r"complex\d+", name):
        parts = array.copy().reshape((array.size,)).view(f"float{int(name[7:]) // 2}")
        return _joined(to_list(parts.reshape((*array.shape, 2))), array.ndim)
    return to_numpy(array).tolist()


def _joined(parts: Any, depth: int) -> Any:
    """Makes complex numbers of the innermost pairs, `depth` lists down."""
    return complex(*parts) if depth == 0 else [_joined(each, depth - 1) for each in parts]


def to_scalar(array: Array) -> Any:
    """Returns the only element as a Python value."""
    if array.size != 1:
        raise raw.ShapeError(f"Array.item: the array has {array.size} elements; expected one")
    while array.ndim > 0:
        array = array[0]
    return to_list(array)
