"""Memory goes in and out of every runtime at the same address, and lives as long as its last user."""

from __future__ import annotations

import array
import ctypes
import mmap
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import address_of_arrow, address_of_jax, address_of_torch, grid, is_gone, numbers, peer


class Owner:
    """Memory that can be watched: a ctypes array with weak references to what holds it."""

    def __init__(self) -> None:
        self.values = numbers(12)

    def wrap(self, **options: Any) -> via.Array:
        return via.wrap(ctypes.addressof(self.values), (3, 4), "float32", owner=self, **options)


def exported(**options: Any) -> tuple[via.Array, Any]:
    """An array, and a weak reference to the owner that nothing else holds."""
    owner = Owner()
    return owner.wrap(**options), weakref.ref(owner)


# ------------------------------------------------------------------------------------------- out: ours to theirs


def to_numpy(a: via.Array) -> tuple[Any, int]:
    found = peer("numpy").from_dlpack(a)
    return found, found.ctypes.data


def to_numpy_by_asarray(a: via.Array) -> tuple[Any, int]:
    found = peer("numpy").asarray(a)
    return found, found.ctypes.data


def to_numpy_by_method(a: via.Array) -> tuple[Any, int]:
    peer("numpy")
    found = a.numpy()
    return found, found.ctypes.data


def to_torch(a: via.Array) -> tuple[Any, int]:
    found = peer("torch").from_dlpack(a)
    return found, address_of_torch(found)


def to_torch_by_frombuffer(a: via.Array) -> tuple[Any, int]:
    torch = peer("torch")
    found = torch.frombuffer(a, dtype=torch.float32)
    return found, address_of_torch(found)


def to_jax(a: via.Array) -> tuple[Any, int]:
    peer("jax")
    import jax.numpy

    found = jax.numpy.from_dlpack(a, copy=False)
    return found, address_of_jax(found)


def to_tensorflow(a: via.Array) -> tuple[Any, int]:
    tensorflow = peer("tensorflow")
    found = tensorflow.experimental.dlpack.from_dlpack(a.__dlpack__())
    back = via.from_dlpack(tensorflow.experimental.dlpack.to_dlpack(found))
    return found, back.ptr


def to_arrow(a: via.Array) -> tuple[Any, int]:
    found = peer("pyarrow").array(a.reshape(-1))
    return found, address_of_arrow(found)


def to_tvm_ffi(a: via.Array) -> tuple[Any, int]:
    found = peer("tvm_ffi").from_dlpack(a)
    return found, found.__dlpack_data_ptr__() if hasattr(found, "__dlpack_data_ptr__") else via.from_dlpack(found).ptr


def to_memoryview(a: via.Array) -> tuple[Any, int]:
    found = memoryview(a)
    return found, ctypes.addressof(ctypes.c_char.from_buffer(found))


def to_ctypes(a: via.Array) -> tuple[Any, int]:
    found = (ctypes.c_float * 12).from_buffer(a)
    return found, ctypes.addressof(found)


def to_cffi(a: via.Array) -> tuple[Any, int]:
    ffi = peer("cffi").FFI()
    found = ffi.from_buffer("float[12]", a, require_writable=True)
    return found, int(ffi.cast("uintptr_t", found))


OUT = [
    to_numpy,
    to_numpy_by_asarray,
    to_numpy_by_method,
    to_torch,
    to_torch_by_frombuffer,
    to_jax,
    to_tensorflow,
    to_arrow,
    to_tvm_ffi,
    to_memoryview,
    to_ctypes,
    to_cffi,
]


@pytest.mark.parametrize("export", OUT)
def test_what_is_exported_lies_at_the_same_address(export: Any) -> None:
    a = grid()
    found, address = export(a)
    assert address == a.ptr
    del found


@pytest.mark.parametrize("export", OUT)
def test_the_owner_lives_until_the_consumer_releases(export: Any) -> None:
    a, owner = exported()
    found, _ = export(a)
    del a
    assert owner() is not None, "the consumer reads freed memory"
    del found
    assert is_gone(owner), "the consumer is gone, and the owner is still held"


@pytest.mark.parametrize("export", [to_numpy, to_torch])
def test_a_write_through_the_consumer_is_seen_by_the_owner(export: Any) -> None:
    a = grid()
    found, _ = export(a)
    found[1, 2] = 42
    assert a.owner[6] == 42
    a.owner[0] = 7
    assert float(found[0, 0]) == 7


def test_a_write_by_the_owner_is_seen_through_jax_and_tensorflow_and_arrow() -> None:
    a = grid()
    views = [export(a)[0] for export in (to_jax, to_tensorflow, to_arrow)]
    a.owner[0] = 7
    jax_view, tensorflow_view, arrow_view = views
    assert float(jax_view[0, 0]) == 7
    assert float(tensorflow_view[0, 0]) == 7
    assert arrow_view[0].as_py() == 7


def test_strides_go_out_without_a_copy() -> None:
    numpy, torch = peer("numpy"), peer("torch")
    a = grid(4, 6)
    window = a[1:, ::2].T
    assert numpy.from_dlpack(window).ctypes.data == window.ptr
    assert numpy.from_dlpack(window).tolist() == window.tolist()
    assert torch.from_dlpack(window).data_ptr() == window.ptr
    assert torch.from_dlpack(window).tolist() == window.tolist()


def test_negative_strides_go_out_to_numpy_without_a_copy() -> None:
    numpy = peer("numpy")
    a = grid()[::-1, ::-1]
    found = numpy.from_dlpack(a)
    assert found.ctypes.data == a.ptr and found.strides == (-16, -4)
    assert found[0, 0] == 11


# -------------------------------------------------------------------------------------------- in: theirs to ours


def from_numpy() -> tuple[Any, int]:
    made = peer("numpy").arange(12, dtype="float32").reshape(3, 4)
    return made, made.ctypes.data


def from_torch() -> tuple[Any, int]:
    torch = peer("torch")
    made = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    return made, address_of_torch(made)


def from_jax() -> tuple[Any, int]:
    peer("jax")
    import jax.numpy

    made = jax.numpy.arange(12, dtype="float32").reshape(3, 4).block_until_ready()
    return made, address_of_jax(made)


def from_tensorflow() -> tuple[Any, int]:
    tensorflow = peer("tensorflow")
    made = tensorflow.reshape(tensorflow.range(12, dtype=tensorflow.float32), (3, 4))
    return made, via.from_dlpack(tensorflow.experimental.dlpack.to_dlpack(made)).ptr


def from_arrow() -> tuple[Any, int]:
    made = peer("pyarrow").array(range(12), type="float32")
    return made, address_of_arrow(made)


def from_tvm_ffi() -> tuple[Any, int]:
    source, address = from_torch()
    return peer("tvm_ffi").from_dlpack(source), address


def from_array() -> tuple[Any, int]:
    made = array.array("f", range(12))
    return made, made.buffer_info()[0]


def from_bytearray() -> tuple[Any, int]:
    made = bytearray(range(12))
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))


def from_bytes() -> tuple[Any, int]:
    made = bytes(range(12))
    address = ctypes.cast(ctypes.c_char_p(made), ctypes.c_void_p).value
    assert address is not None
    return made, address


def from_memoryview() -> tuple[Any, int]:
    base, address = from_bytearray()
    return memoryview(base).cast("f"), address


def from_mmap() -> tuple[Any, int]:
    made = mmap.mmap(-1, 4096)
    made[:12] = bytes(range(12))
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))


def from_ctypes() -> tuple[Any, int]:
    made = numbers(12)
    return made, ctypes.addressof(made)


def from_cffi_buffer() -> tuple[Any, int]:
    ffi = peer("cffi").FFI()
    made = ffi.new("float[12]", list(range(12)))
    return ffi.buffer(made), int(ffi.cast("uintptr_t", made))


IN = [
    from_numpy,
    from_torch,
    from_jax,
    from_tensorflow,
    from_arrow,
    from_tvm_ffi,
    from_array,
    from_bytearray,
    from_bytes,
    from_memoryview,
    from_mmap,
    from_ctypes,
    from_cffi_buffer,
]


@pytest.mark.parametrize("make", IN)
def test_what_is_borrowed_lies_at_the_same_address(make: Any) -> None:
    made, address = make()
    a = via.asarray(made)
    assert a.ptr == address
    assert not a.copied
    if a.dtype_name == "float32" and make is not from_memoryview:
        assert a.reshape(-1).tolist() == list(range(12))


@pytest.mark.parametrize("make", IN)
def test_the_content_is_there_after_its_maker_is_gone(make: Any) -> None:
    made, _ = make()
    a = via.asarray(made)
    expected = a.tolist()
    del made
    noise = [bytearray(64) for _ in range(1000)]
    assert a.tolist() == expected
    del noise


@pytest.mark.parametrize("make", [from_numpy, from_torch, from_tvm_ffi, from_array, from_bytearray])
def test_a_write_through_ours_is_seen_by_theirs(make: Any) -> None:
    made, _ = make()
    a = via.asarray(made)
    assert not a.readonly
    a[...] = 9
    assert via.asarray(made).reshape(-1)[0].item() == 9


@pytest.mark.parametrize("make", [from_arrow, from_bytes, from_jax, from_tensorflow])
def test_what_may_not_be_written_is_read_only(make: Any) -> None:
    made, _ = make()
    a = via.asarray(made)
    assert a.readonly
    with pytest.raises(via.ReadOnlyError):
        a.fill(0)


def test_a_resize_is_held_off_while_a_bytearray_is_exported() -> None:
    made = bytearray(12)
    a = via.asarray(made)
    with pytest.raises(BufferError):
        made.extend(b"x")
    del a
    made.extend(b"x")


def test_from_dlpack_takes_what_speaks_dlpack_and_nothing_else() -> None:
    made, address = from_numpy()
    assert via.from_dlpack(made).ptr == address
    assert via.from_dlpack(made.__dlpack__()).ptr == address
    with pytest.raises(TypeError, match="from_dlpack: x is of type bytearray"):
        via.from_dlpack(bytearray(4))


def test_asarray_of_an_array_is_that_array() -> None:
    a = grid()
    assert via.asarray(a) is a


def test_a_round_trip_through_every_runtime_ends_where_it_began() -> None:
    a = grid()
    tensor = peer("torch").from_dlpack(a)
    array = peer("numpy").from_dlpack(tensor)
    back = via.asarray(peer("tvm_ffi").from_dlpack(array))
    assert back.ptr == a.ptr
    assert back.tolist() == a.tolist()


# ---------------------------------------------------------------------------------------------- pointers of others


def test_pointers_of_ctypes_are_addresses() -> None:
    values = numbers(4)
    address = ctypes.addressof(values)
    pointer = ctypes.cast(values, ctypes.POINTER(ctypes.c_float))
    for given in (address, values, pointer, ctypes.c_void_p(address), ctypes.cast(values, ctypes.c_char_p)):
        assert via.wrap(given, 4, "float32", owner=values).ptr == address


def test_pointers_of_cffi_are_addresses() -> None:
    ffi = peer("cffi").FFI()
    values = ffi.new("float[4]", [1, 2, 3, 4])
    for given in (values, ffi.cast("float *", values), ffi.cast("void *", values)):
        a = via.wrap(given, 4, "float32", owner=values)
        assert a.ptr == int(ffi.cast("uintptr_t", values))
        assert a.tolist() == [1, 2, 3, 4]


def test_objects_with_an_address_are_addresses_and_own_it() -> None:
    class Buffer:
        def __init__(self) -> None:
            self.values = numbers(4)
            self.ptr = ctypes.addressof(self.values)

    class Tensor(Buffer):
        def __init__(self) -> None:
            super().__init__()
            del self.ptr

        def data_ptr(self) -> int:
            return ctypes.addressof(self.values)

    for kind in (Buffer, Tensor):
        a = via.wrap(kind(), 4, "float32")
        assert isinstance(a.owner, kind)
        assert a.tolist() == [0, 1, 2, 3]
