"""What each consumer takes without a copy, by dtype, by layout and by flag; the rest is refused in words.

`python tests/python/test_support_matrix.py` prints the table of docs/questions/consumers.md from what is asserted here.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest
import viaduct as via
from peers import address_of_arrow, peer

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
TORCH_FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
FLOAT8 = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", *TORCH_FLOAT8]
NARROW = ["int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]
NAMES = ["bool", *INTEGERS, *FLOATS, *COMPLEX, "bfloat16", *FLOAT8, *NARROW, "complex32", "float32x4", "record12"]
USUAL = {"bool", *INTEGERS, *FLOATS, *COMPLEX}


def numpy_from_dlpack(a: via.Array) -> int:
    return int(peer("numpy").from_dlpack(a).ctypes.data)


def numpy_asarray(a: via.Array) -> int:
    peer("ml_dtypes")
    return int(peer("numpy").asarray(a).ctypes.data)


def torch_from_dlpack(a: via.Array) -> int:
    return int(peer("torch").from_dlpack(a).data_ptr())


def jax_from_dlpack(a: via.Array) -> int:
    peer("jax")
    import jax
    import jax.numpy

    with jax.enable_x64(True):
        return int(jax.numpy.from_dlpack(a, copy=False).unsafe_buffer_pointer())


def tensorflow_from_dlpack(a: via.Array) -> int:
    exchange = peer("tensorflow").experimental.dlpack
    return via.from_dlpack(exchange.to_dlpack(exchange.from_dlpack(a.__dlpack__()))).ptr


def arrow_array(a: via.Array) -> int:
    return address_of_arrow(peer("pyarrow").array(a))


def tvm_ffi_from_dlpack(a: via.Array) -> int:
    return via.from_dlpack(peer("tvm_ffi").from_dlpack(a)).ptr


def buffer_protocol(a: via.Array) -> int:
    view = memoryview(a)
    return via.asarray(view).ptr


# What it takes, and the words of its refusal (its own, or ours where ours comes first).
CONSUMERS: dict[str, tuple[Callable[[via.Array], int], set[str], str]] = {
    "np.from_dlpack": (
        numpy_from_dlpack,
        USUAL,
        "Unsupported dtype|Unsupported lanes|record12, which DLPack cannot describe",
    ),
    "np.asarray, a.numpy()": (
        numpy_asarray,
        USUAL | {"bfloat16", *FLOAT8, "record12"},
        "NumPy has no type for",
    ),
    "torch.from_dlpack": (
        torch_from_dlpack,
        USUAL | {"bfloat16", *TORCH_FLOAT8, "complex32"},
        "Unsupported|unsupported|lanes|record12, which DLPack cannot describe",
    ),
    "jnp.from_dlpack": (
        jax_from_dlpack,
        USUAL | {"bfloat16", *FLOAT8},
        "nsupported|UNIMPLEMENTED|record12, which DLPack cannot describe",
    ),
    "tf.experimental.dlpack": (
        tensorflow_from_dlpack,
        USUAL | {"bfloat16"},
        "Unsupported|record12, which DLPack cannot describe",
    ),
    "pa.array": (arrow_array, {*INTEGERS, *FLOATS, "record12"}, "which Arrow cannot describe"),
    "tvm_ffi.from_dlpack": (tvm_ffi_from_dlpack, set(NAMES) - {"record12"}, "record12, which DLPack cannot describe"),
    "memoryview and buffers": (
        buffer_protocol,
        USUAL | {"record12"},
        "expected one with a format of the buffer protocol",
    ),
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_takes_these_dtypes_and_refuses_the_others_in_words(consumer: str) -> None:
    export, taken, words = CONSUMERS[consumer]
    for name in NAMES:
        if consumer == "tf.experimental.dlpack" and name == "float32x4":
            continue  # TensorFlow does not look at lanes and takes them for single numbers
        a = via.empty((8,), name)
        if name in taken:
            assert export(a) == a.ptr, name
        else:
            with pytest.raises(Exception, match=words):
                export(a)


# Whether it takes memory that may not be written, and what it makes of it.
READ_ONLY = {
    "np.from_dlpack": "kept",
    "np.asarray, a.numpy()": "kept",
    "torch.from_dlpack": "dropped",
    "jnp.from_dlpack": "refused",
    "tf.experimental.dlpack": "refused",
    "pa.array": "kept",
    "tvm_ffi.from_dlpack": "dropped",
    "memoryview and buffers": "kept",
}


@pytest.mark.parametrize("consumer", READ_ONLY)
def test_read_only_memory_is_taken_or_refused_in_words(consumer: str) -> None:
    a = via.empty((8,), "float32").as_readonly()
    export = CONSUMERS[consumer][0]
    if READ_ONLY[consumer] == "refused":
        with pytest.raises(BufferError, match="read-only.*expected a consumer of 1.0 or a copy"):
            export(a)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert export(a) == a.ptr


def test_read_only_memory_stays_read_only_where_a_consumer_can_say_it() -> None:
    numpy = peer("numpy")
    a = via.empty((8,), "float32").as_readonly()
    assert not numpy.from_dlpack(a).flags.writeable
    assert not numpy.asarray(a).flags.writeable
    assert not a.numpy().flags.writeable
    assert memoryview(a).readonly
    assert via.from_dlpack(a).readonly


LAYOUTS: dict[str, Callable[[via.Array], via.Array]] = {
    "transposed": lambda a: a.reshape(2, 4).T,
    "every second": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "no dimensions": lambda a: a[0],
    "no elements": lambda a: a[:0],
}
STRIDES = {"transposed", "every second", "backwards", "no dimensions", "no elements"}
LAYOUTS_TAKEN = {
    "np.from_dlpack": STRIDES,
    "np.asarray, a.numpy()": STRIDES,
    "torch.from_dlpack": STRIDES - {"backwards"},
    "jnp.from_dlpack": {"transposed", "no dimensions", "no elements"},
    "tf.experimental.dlpack": {"no dimensions", "no elements"},
    "pa.array": {"no elements"},
    "tvm_ffi.from_dlpack": STRIDES,
    "memoryview and buffers": STRIDES,
}
LAYOUT_WORDS = "negative stride|striding|strides|row-major|ndim is 0"


@pytest.mark.parametrize("consumer", LAYOUTS_TAKEN)
def test_a_consumer_takes_these_layouts_and_refuses_the_others_in_words(consumer: str) -> None:
    export = CONSUMERS[consumer][0]
    for layout, make in LAYOUTS.items():
        a = make(via.empty((8,), "float32"))
        if layout == "no elements":
            export(a)
        elif layout in LAYOUTS_TAKEN[consumer]:
            assert export(a) == a.ptr, layout
        else:
            with pytest.raises(Exception, match=LAYOUT_WORDS):
                export(a)


def test_broadcasts_are_exported_read_only() -> None:
    a = via.empty((1,), "float32").broadcast_to(4)
    assert numpy_from_dlpack(a) == a.ptr
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()


def test_torch_is_kept_from_ending_the_process_over_a_negative_stride() -> None:
    torch = peer("torch")
    a = via.empty((8,), "float32")
    a.fill(1)
    with pytest.raises(BufferError, match="negative stride"):
        torch.from_dlpack(a[::-1])
    assert torch.from_dlpack(a[::-1].copy()).shape == (8,)
    assert torch.from_dlpack(a[::-1], copy=True).shape == (8,)
    assert torch.from_dlpack(a[:1][::-1]).shape == (1,)


def test_jax_takes_memory_without_a_copy_only_if_it_is_aligned() -> None:
    peer("jax")
    import jax.numpy

    a = via.empty((9,), "float32")
    a.fill(2)
    with pytest.raises(ValueError, match="aligned to 64 bytes"):
        jax.numpy.from_dlpack(a[1:], copy=False)
    assert jax.numpy.from_dlpack(a[1:]).tolist() == [2] * 8


def test_numpy_takes_bfloat16_by_another_road_than_from_dlpack() -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    a = via.empty((2, 3), "bfloat16")
    a.fill(1.5)
    for n in (numpy.asarray(a), a.numpy(), a.T.numpy().T):
        assert n.dtype == ml_dtypes.bfloat16 and n.ctypes.data == a.ptr
        assert (n == 1.5).all()
    n = numpy.asarray(a, dtype="float32")
    assert n.tolist() == [[1.5] * 3] * 2


def test_asarray_never_makes_an_array_of_objects() -> None:
    numpy = peer("numpy")
    for name in ("int4", "float32x4", "complex32"):
        with pytest.raises(TypeError, match=f"NumPy has no type for {name}"):
            numpy.asarray(via.empty((2, 2), name))


def test_numpy_without_ml_dtypes_learns_what_is_missing() -> None:
    peer("numpy")
    program = """
import sys
sys.modules["ml_dtypes"] = None
import numpy, viaduct as via
a = via.empty((2, 2), "bfloat16")
assert a.dtype == "bfloat16"
try:
    numpy.asarray(a)
except TypeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "install ml_dtypes" in done.stdout, done.stderr


def table() -> str:
    """The dtypes by consumer, as Markdown."""
    groups = {
        "bool": ["bool"],
        "int8 to uint64": INTEGERS,
        "float16 to float64": FLOATS,
        "complex64, complex128": COMPLEX,
        "bfloat16": ["bfloat16"],
        "float8, five of eight": TORCH_FLOAT8,
        "float8, the others": sorted(set(FLOAT8) - set(TORCH_FLOAT8)),
        "4 and 6 bits": NARROW,
        "complex32": ["complex32"],
        "lanes (float32x4)": ["float32x4"],
        "records": ["record12"],
    }
    lines = ["| | " + " | ".join(CONSUMERS) + " |", "| --- " * (len(CONSUMERS) + 1) + "|"]
    for group, names in groups.items():
        cells = ["yes" if set(names) <= taken else "-" for _, taken, _ in CONSUMERS.values()]
        lines.append(f"| {group} | " + " | ".join(cells) + " |")
    lines.append("| read-only | " + " | ".join(READ_ONLY.values()) + " |")
    for layout in LAYOUTS:
        cells = ["yes" if layout in LAYOUTS_TAKEN[consumer] else "-" for consumer in CONSUMERS]
        lines.append(f"| {layout} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
