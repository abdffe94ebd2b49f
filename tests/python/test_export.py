"""`__dlpack__` as the array API standard has it: four keywords, and BufferError for whatever cannot be exported."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer
from tensors import IS_COPIED, READ_ONLY, capsule_name, open_capsule

VERSIONED = {"max_version": (1, 0)}


def record_array() -> via.Array:
    values = numbers(12)
    return via.wrap(ctypes.addressof(values), 4, "record12", owner=values)


def half_steps() -> via.Array:
    """Complex numbers, each 12 bytes after the last: no whole number of elements."""
    values = numbers(12)
    return via.wrap(ctypes.addressof(values), 3, "complex64", strides=12, owner=values)


def test_the_version_asked_for_decides_the_form() -> None:
    a = grid()
    for version, name in [
        (None, b"dltensor"),
        ((0, 8), b"dltensor"),
        ((1, 0), b"dltensor_versioned"),
        ((1, 3), b"dltensor_versioned"),
        ((2, 0), b"dltensor_versioned"),
        ((9, 9), b"dltensor_versioned"),
    ]:
        assert capsule_name(a.__dlpack__(max_version=version)) == name


def test_the_version_given_is_one_that_the_consumer_takes() -> None:
    a = grid()
    for version in ((1, 0), (1, 1), (1, 3), (2, 0)):
        capsule = a.__dlpack__(max_version=version)
        tensor = open_capsule(capsule)
        assert (tensor.major, tensor.minor) <= version
        assert tensor.major == 1


def test_every_field_says_what_the_array_is() -> None:
    a = grid()[1:, ::2]
    capsule = a.__dlpack__(**VERSIONED)
    tensor = open_capsule(capsule).tensor
    assert tensor.data == a.ptr and tensor.byte_offset == 0
    assert (tensor.device.device_type, tensor.device.device_id) == a.__dlpack_device__() == (1, 0)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (2, 32, 1)
    assert (tensor.shape[0], tensor.shape[1]) == (2, 2)
    assert (tensor.strides[0], tensor.strides[1]) == (4, 2)
    assert open_capsule(capsule).flags == 0


def test_strides_are_never_null() -> None:
    assert open_capsule(grid().__dlpack__(**VERSIONED)).tensor.strides


def test_no_elements_are_exported_as_null() -> None:
    a = grid()[:0]
    assert open_capsule(a.__dlpack__(**VERSIONED)).tensor.data is None
    assert peer("numpy").from_dlpack(a).shape == (0, 4)
    assert peer("torch").from_dlpack(a).shape == (0, 4)


def test_read_only_is_said_where_it_can_be() -> None:
    a = grid().as_readonly()
    assert open_capsule(a.__dlpack__(**VERSIONED)).flags & READ_ONLY


def test_read_only_memory_is_never_exported_as_writable() -> None:
    """The form of before 1.0 has no flag, so it gets a copy that was asked for, or nothing."""
    a = grid().as_readonly()
    for keywords in ({}, {"copy": False}, {"max_version": (0, 8)}):
        with pytest.raises(BufferError, match="read-only"):
            a.__dlpack__(**keywords)  # type: ignore[arg-type]
    capsule = a.__dlpack__(copy=True)
    assert open_capsule(capsule).tensor.data != a.ptr


def test_a_copy_is_made_when_asked_for_and_said() -> None:
    a = grid().T.as_readonly()
    capsule = a.__dlpack__(max_version=(1, 0), copy=True)
    managed = open_capsule(capsule)
    assert managed.tensor.data != a.ptr
    assert managed.flags == IS_COPIED
    copied = via.from_dlpack(capsule)
    assert copied.tolist() == a.tolist() and copied.copied and not copied.readonly


def test_no_copy_is_made_when_forbidden() -> None:
    a = grid().T
    assert open_capsule(a.__dlpack__(max_version=(1, 0), copy=False)).tensor.data == a.ptr


def test_what_needs_a_copy_gets_one_only_when_asked_for() -> None:
    """A copy that nobody asked for would take writes that never arrive."""
    a = half_steps()
    assert a.element_strides is None and a.strides == (12,)
    for keywords in ({}, {"copy": None}, {"copy": False}):
        with pytest.raises(BufferError, match="stride.*; expected a copy of it"):
            a.__dlpack__(max_version=(1, 0), **keywords)  # type: ignore[arg-type]
    copied = via.from_dlpack(a.__dlpack__(max_version=(1, 3), copy=True))
    assert copied.tolist() == a.tolist() and copied.copied


def test_records_have_no_form() -> None:
    for keywords in ({}, VERSIONED, {"copy": True}):
        with pytest.raises(BufferError, match="record"):
            record_array().__dlpack__(**keywords)  # type: ignore[arg-type]


def test_the_own_device_may_be_named() -> None:
    a = grid()
    for device in ((1, 0), None):
        assert open_capsule(a.__dlpack__(max_version=(1, 0), dl_device=device)).tensor.data == a.ptr


def test_a_device_that_is_not_served_is_refused_as_a_buffer() -> None:
    for device in ((2, 0), (99, 0), (1, 7)):
        with pytest.raises(BufferError):
            grid().__dlpack__(max_version=(1, 0), dl_device=device)


def test_streams_mean_nothing_to_host_memory() -> None:
    a = grid()
    for stream in (None, -1):
        assert capsule_name(a.__dlpack__(stream=stream)) == b"dltensor"
    for stream in (0, 1, 2, 140000000):
        with pytest.raises(BufferError, match="stream"):
            a.__dlpack__(stream=stream)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"max_version": 1}, "max_version"),
        ({"max_version": (1,)}, "max_version"),
        ({"max_version": ("1", "0")}, "max_version"),
        ({"dl_device": (1,)}, "dl_device"),
        ({"dl_device": 1}, "dl_device"),
        ({"dl_device": ("cpu", 0)}, "device"),
        ({"stream": "legacy"}, "stream"),
        ({"steam": None}, "steam"),
    ],
)
def test_malformed_keywords_are_type_errors(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        grid().__dlpack__(**keywords)


def test_positional_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        grid().__dlpack__(None)  # type: ignore[call-arg]


def test_an_enum_is_taken_as_its_number() -> None:
    import enum

    class DeviceType(enum.IntEnum):
        CPU = 1

    assert capsule_name(grid().__dlpack__(dl_device=(DeviceType.CPU, 0))) == b"dltensor"


# ---------------------------------------------------------------------------- ideas of NumPy's own tests of DLPack


NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_every_dtype_of_numpy_goes_through(name: str) -> None:
    numpy = peer("numpy")
    x = numpy.arange(5).astype(name)
    a = via.asarray(x)
    y = numpy.from_dlpack(a)
    assert y.dtype == x.dtype and a.dtype == x.dtype
    assert (x == y).all()


def test_non_contiguous_views_go_through() -> None:
    numpy = peer("numpy")
    x = numpy.arange(25).reshape((5, 5))
    for y in (x[0], x[:, 0], x[1, :], x[1:, 1:], numpy.diagonal(x), x[::-1, ::2]):
        assert (numpy.from_dlpack(via.asarray(y)) == y).all()
        assert numpy.from_dlpack(via.asarray(y)).ctypes.data == y.ctypes.data


@pytest.mark.parametrize("ndim", [0, 1, 5, 33, 64])
def test_every_number_of_dimensions_goes_through(ndim: int) -> None:
    numpy = peer("numpy")
    x = numpy.ones((1,) * ndim)
    assert numpy.from_dlpack(via.asarray(x)).shape == x.shape


def test_size_one_dimensions_keep_normal_strides() -> None:
    numpy = peer("numpy")
    x = numpy.ndarray(shape=(1, 3), strides=(999, 8), buffer=numpy.arange(3.0))
    assert numpy.from_dlpack(via.asarray(x)).tolist() == [[0, 1, 2]]


def test_memory_order_survives() -> None:
    numpy = peer("numpy")
    x = numpy.asfortranarray(numpy.arange(6).reshape(2, 3))
    a = via.asarray(x)
    assert a.f_contiguous and not a.c_contiguous
    assert numpy.from_dlpack(a).flags.f_contiguous


def test_numpys_keywords_are_understood() -> None:
    numpy = peer("numpy")
    a = grid()
    assert numpy.from_dlpack(a, device="cpu", copy=False).ctypes.data == a.ptr
    assert numpy.from_dlpack(a, copy=True).ctypes.data != a.ptr


def test_torchs_keywords_are_understood() -> None:
    torch = peer("torch")
    a = grid()
    assert torch.from_dlpack(a, device="cpu").data_ptr() == a.ptr
    assert torch.from_dlpack(a, copy=False).data_ptr() == a.ptr
    assert torch.from_dlpack(a, copy=True).data_ptr() != a.ptr


def test_jaxs_keywords_are_understood() -> None:
    peer("jax")
    import jax
    import jax.numpy

    a = grid()
    assert jax.numpy.from_dlpack(a, copy=False).unsafe_buffer_pointer() == a.ptr
    assert jax.numpy.from_dlpack(a, device=jax.devices("cpu")[0]).tolist() == a.tolist()
