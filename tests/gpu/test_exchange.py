"""CUDA arrays exported and taken by DLPack and the CUDA array interface: addresses, devices, layouts, strictness."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import cuda_driver
import pytest
import viaduct as via
from cuda_driver import Block
from tensors import Producer, open_capsule

CUDA, PINNED, MANAGED = 2, 3, 13
KINDS = {"device": ("cuda:0", CUDA), "pinned": ("pinned", PINNED), "managed": ("managed", MANAGED)}


def wrap(block: Block, shape: Any = (3, 4), dtype: str = "float32", **options: Any) -> via.Array:
    return via.wrap(block.ptr, shape, dtype, device=KINDS[block.kind][0], owner=block, **options)


class Described:
    """An object that describes its memory as a dictionary says."""

    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {"shape": (3, 4), "typestr": "<f4", "strides": None, "version": 3} | fields


def produced(block: Block, device: tuple[int, int] = (CUDA, 0), **options: Any) -> Producer:
    producer = Producer(data=block.ptr, device=device, **options)
    producer.kept = block  # type: ignore[attr-defined]
    return producer


# ------------------------------------------------------------------------------------------------------- wrapping


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_each_kind_is_wrapped_and_found_out(kind: str) -> None:
    block = Block(48, kind)
    name, number = KINDS[kind]
    for device in (name, (number, 0), "any"):
        a = via.wrap(block.ptr, (3, 4), "float32", device=device)
        assert a.ptr == block.ptr and a.device == name and a.ready
        assert a.__dlpack_device__() == (number, 0)


@pytest.mark.parametrize("kind", [None, via.Array])
def test_pointers_that_cannot_be_right_are_refused_by_name(kind: Any) -> None:
    make = functools.partial(via.wrap, to=kind)
    block, pinned, host = Block(48), Block(48, "pinned"), ctypes.create_string_buffer(64)
    with pytest.raises(ValueError, match="12 to|bytes 0 to 52"):
        make(block.ptr, (13,), "float32", device="cuda:0")
    with pytest.raises(ValueError, match="host memory"):
        make(ctypes.addressof(host), (4,), "float32", device="cuda:0")
    with pytest.raises(RuntimeError, match="pinned memory"):
        make(pinned.ptr, (4,), "float32", device="cuda:0")
    with pytest.raises(RuntimeError, match="99"):
        make(block.ptr, (4,), "float32", device="cuda:99")
    if cuda_driver.device_count() > 1:
        with pytest.raises(RuntimeError, match="memory of device 0; expected that of device 1"):
            make(block.ptr, (4,), "float32", device="cuda:1")
    address = block.ptr
    block.free()
    with pytest.raises(ValueError, match="never allocated, or freed"):
        make(address, (4,), "float32", device="cuda:0")


def test_devices_of_other_libraries_are_understood() -> None:
    torch_like = type("device", (), {"__str__": lambda self: "cuda:0"})()
    cupy_like = type("Device", (), {"__module__": "cupy.cuda.device", "id": 0})()
    core_like = type("Device", (), {"__module__": "cuda.core._device", "device_id": 0})()
    block = Block(16)
    for device in (torch_like, cupy_like, core_like, "gpu", "cuda"):
        assert via.wrap(block.ptr, 4, "float32", device=device).device == "cuda:0"
    with pytest.raises(RuntimeError, match="device is "):
        via.wrap(block.ptr, 4, "float32", device=object())


# --------------------------------------------------------------------------------------------------- DLPack, exported


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_names_the_memory_where_it_is(kind: str) -> None:
    block = Block(48, kind)
    a = wrap(block)
    for capsule in (a.__dlpack__(max_version=(1, 3)), a.T.__dlpack__(max_version=(1, 0), stream=-1), a.__dlpack__()):
        tensor = open_capsule(capsule).tensor
        assert tensor.data == block.ptr
        assert (tensor.device.device_type, tensor.device.device_id) == (KINDS[kind][1], 0)
    assert open_capsule(a.as_readonly().__dlpack__(max_version=(1, 3))).flags == 1


def test_the_second_device_is_named() -> None:
    if cuda_driver.device_count() < 2:
        pytest.skip("there is one device")
    a = via.empty((4,), "float32", device="cuda:1")
    assert a.device == "cuda:1" and a.__dlpack_device__() == (CUDA, 1)
    tensor = open_capsule(a.__dlpack__(max_version=(1, 3), stream=1)).tensor
    assert tensor.device.device_id == 1 and tensor.data == a.ptr


@pytest.mark.parametrize("stream", [None, -1, 1, 2])
def test_the_streams_of_the_protocol_are_taken(stream: int | None) -> None:
    for kind in KINDS:
        a = wrap(Block(48, kind))
        assert open_capsule(a.__dlpack__(stream=stream)).tensor.data == a.ptr


def test_a_streams_number_is_taken_and_zero_is_not() -> None:
    own = via.Stream()
    a = wrap(Block(48))
    assert open_capsule(a.__dlpack__(stream=own.handle)).tensor.data == a.ptr
    for number in (0, -2):
        with pytest.raises(BufferError, match=f"stream is {number}; expected"):
            a.__dlpack__(stream=number)
    with pytest.raises(BufferError, match="host memory"):
        via.empty(4, "int8").__dlpack__(stream=own.handle)


def test_no_elements_need_no_address() -> None:
    a = via.wrap(None, (0, 3), "float32", device="cuda:0")
    assert open_capsule(a.__dlpack__(stream=1)).tensor.data is None
    assert a.__cuda_array_interface__["data"] == (0, False)
    taken = via.from_dlpack(a)
    assert taken.shape == (0, 3) and taken.device == "cuda:0"


def test_a_capsule_keeps_the_memory_after_its_array_has_gone() -> None:
    block = Block(48)
    gone: list[int] = []
    a = via.wrap(block.ptr, (3, 4), "float32", device="cuda:0", owner=block, release=lambda: gone.append(1))
    capsule = a.__dlpack__(max_version=(1, 0))
    del a
    tensor = open_capsule(capsule)
    assert tensor.tensor.data == block.ptr and tensor.major == 1 and not gone
    a = via.from_dlpack(capsule)
    del capsule
    assert a.shape == (3, 4) and a.ptr == block.ptr and not gone
    del a
    via.stats()
    assert gone == [1]
    old = via.wrap(block.ptr, (4, 3), "int32", strides=(4, 16), device="cuda:0").__dlpack__()
    assert via.from_dlpack(old).strides == (4, 16)
    readonly = via.wrap(block.ptr, 3, "int8", device="cuda:0", readonly=True)
    assert open_capsule(readonly.__dlpack__(max_version=(1, 0))).flags == 1


# -------------------------------------------------------------------------------------------- to another device


def test_device_memory_goes_to_the_host_as_a_copy() -> None:
    block = Block(48)
    cuda_driver.write(block.ptr, bytes(range(48)))
    a = wrap(block)
    tensor = open_capsule(a.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    assert tensor.flags == 2 and tensor.tensor.device.device_type == 1
    assert ctypes.string_at(tensor.tensor.data, 48) == bytes(range(48))
    with pytest.raises(BufferError, match="expected options.copy other than"):
        a.__dlpack__(dl_device=(1, 0), max_version=(1, 3), copy=False)
    with pytest.raises(BufferError, match="expected NULL for host memory"):
        a.__dlpack__(dl_device=(1, 0), max_version=(1, 3), stream=1)


def test_host_memory_goes_to_a_device_as_a_copy() -> None:
    a = via.asarray(bytearray(range(32)))
    with pytest.raises(BufferError, match="host memory"):
        a.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 3), stream=1)
    capsule = a.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 3))
    tensor = open_capsule(capsule)
    assert tensor.flags == 2 and tensor.tensor.device.device_type == CUDA
    assert cuda_driver.read(tensor.tensor.data, 32) == bytes(range(32))


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_pinned_and_managed_memory_is_the_hosts_without_a_copy(kind: str) -> None:
    a = wrap(Block(48, kind))
    tensor = open_capsule(a.__dlpack__(dl_device=(1, 0), max_version=(1, 3), copy=False))
    assert tensor.tensor.data == a.ptr and tensor.flags == 0
    assert (tensor.tensor.device.device_type, tensor.tensor.device.device_id) == (1, 0)
    assert via.from_dlpack(a, device="cpu", copy=False).ptr == a.ptr


def test_managed_memory_is_a_devices_without_a_copy_and_pinned_is_not() -> None:
    managed, pinned = wrap(Block(48, "managed")), wrap(Block(48, "pinned"))
    assert (
        open_capsule(managed.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 3), copy=False)).tensor.data == managed.ptr
    )
    with pytest.raises(BufferError, match="expected options.copy other than"):
        pinned.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 3), copy=False)
    assert open_capsule(pinned.__dlpack__(dl_device=(CUDA, 0), max_version=(1, 3))).flags == 2


def test_a_device_that_is_not_there_is_refused() -> None:
    a = wrap(Block(48))
    with pytest.raises(BufferError, match="options.target_device_id is 99"):
        a.__dlpack__(dl_device=(CUDA, 99), max_version=(1, 3))
    with pytest.raises(BufferError, match="options.target_device is 10:0"):
        a.__dlpack__(dl_device=(10, 0), max_version=(1, 3))


# -------------------------------------------------------------------------------------------------- DLPack, taken


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_is_taken_where_it_is_and_deleted_once(kind: str) -> None:
    block = Block(64, kind)
    producer = produced(block, (KINDS[kind][1], 0))
    a = via.from_dlpack(producer)
    assert a.ptr == block.ptr and a.device == KINDS[kind][0] and a.shape == (2, 3)
    assert producer.deleted == 0
    del a
    assert producer.deleted == 1


def test_managed_memory_may_go_as_a_devices_and_by_the_devices_number() -> None:
    block = Block(64, "managed")
    assert via.from_dlpack(produced(block)).device == "cuda:0"
    number = cuda_driver.device_count() - 1
    assert via.from_dlpack(produced(block, (MANAGED, number))).device == "managed"


@pytest.mark.parametrize(
    ("kind", "device", "error", "words"),
    [
        ("device", (CUDA, 99), RuntimeError, "tensor.device.device_id is 99"),
        ("device", (PINNED, 0), RuntimeError, "device memory.*expected pinned"),
        ("device", (MANAGED, 0), RuntimeError, "device memory.*expected managed"),
        ("pinned", (CUDA, 0), RuntimeError, "pinned memory.*expected device"),
        ("managed", (PINNED, 0), RuntimeError, "managed memory.*expected pinned"),
    ],
)
def test_a_tensor_that_lies_about_its_device_stays_its_producers(
    kind: str, device: tuple[int, int], error: type[Exception], words: str
) -> None:
    producer = produced(Block(64, kind), device)
    capsule = producer.capsule()
    with pytest.raises(error, match=words):
        via.from_dlpack(capsule)
    assert producer.deleted == 0
    assert open_capsule(capsule).tensor.ndim == 2


@pytest.mark.parametrize("reported", [CUDA, MANAGED])
@pytest.mark.parametrize("legacy", [False, True])
def test_host_memory_of_a_producer_that_reports_a_device_is_refused_by_name(legacy: bool, reported: int) -> None:
    producer = Producer(legacy=legacy)

    class Liar:
        def __dlpack__(self, **_: object) -> Any:
            return producer.capsule()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (reported, 0)

    for call in (via.from_dlpack, via.asarray):
        with pytest.raises(BufferError, match=r"tensor of host memory; expected .* as x.__dlpack_device__\(\) reports"):
            call(Liar())


def test_a_tensor_past_the_end_of_its_allocation_is_refused() -> None:
    block = Block(64)
    producer = produced(block, shape=(2, 3), strides=(100000000, 1))
    with pytest.raises(ValueError, match="tensor.address is .*expected it within the allocation"):
        via.from_dlpack(producer)
    assert producer.deleted == 0


def test_pinned_memory_that_goes_as_the_hosts_stays_the_hosts() -> None:
    assert via.from_dlpack(produced(Block(64, "pinned"), (1, 0))).device == "cpu"


def test_a_tensor_is_copied_to_where_it_is_wanted() -> None:
    block = Block(64)
    cuda_driver.write(block.ptr, bytes(range(64)))
    producer = produced(block, dtype=(1, 8, 1))
    a = via.from_dlpack(producer, device="cpu")
    assert a.device == "cpu" and a.copied and a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert producer.deleted == 1
    kept = produced(block, dtype=(1, 8, 1))
    with pytest.raises(ValueError, match="expected options.copy other than"):
        via.from_dlpack(kept, device="cpu", copy=False)
    assert kept.deleted == 0
    b = via.from_dlpack(Producer(), device="cuda:0")
    assert b.device == "cuda:0" and b.copied and b.copy("cpu").tolist() == [[0, 1, 2], [3, 4, 5]]
    c = via.from_dlpack(produced(block, dtype=(1, 8, 1)), copy=True)
    assert c.device == "cuda:0" and c.ptr != block.ptr and c.copy("cpu").tolist() == [[0, 1, 2], [3, 4, 5]]


class Asked(Producer):
    """Notes with which keywords it was asked."""

    def __dlpack__(self, **keywords: object) -> Any:
        self.asked = keywords
        return super().__dlpack__(**keywords)


def test_a_producer_is_asked_with_our_current_stream() -> None:
    stream = via.Stream()
    for kind, (_, number) in KINDS.items():
        block = Block(64, kind)
        producer = Asked(data=block.ptr, device=(number, 0))
        via.from_dlpack(producer)
        assert producer.asked == {"max_version": (1, 3)} | ({} if kind == "pinned" else {"stream": 1})
        with stream:
            via.asarray(producer)
        assert producer.asked == {"max_version": (1, 3)} | ({} if kind == "pinned" else {"stream": stream.handle})


class Old(Asked):
    def __dlpack__(self, stream: int | None = None) -> Any:  # type: ignore[override]
        self.asked = {"stream": stream}
        return self.capsule()


def test_a_producer_of_before_the_versions_is_reported_the_stream_too() -> None:
    block = Block(64)
    producer = Old(data=block.ptr, device=(CUDA, 0), legacy=True)
    assert via.from_dlpack(producer).ptr == block.ptr
    assert producer.asked == {"stream": 1}


# ------------------------------------------------------------------------------------------- CUDA array interface


def test_the_interface_says_what_the_array_is() -> None:
    a = wrap(Block(48))
    assert a.__cuda_array_interface__ == {
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (a.ptr, False),
        "strides": None,
        "version": 3,
        "stream": None,
    }
    assert a.T.__cuda_array_interface__["strides"] == (4, 16)
    assert a[:, ::-1].__cuda_array_interface__["strides"] == (16, -4)
    assert a.as_readonly().__cuda_array_interface__["data"] == (a.ptr, True)


def test_a_description_is_its_takers_to_change() -> None:
    a = wrap(Block(48))
    said = a.__cuda_array_interface__
    kept = dict(said)
    said.update(shape=(1,), typestr="|u1", strides=(9,), version=2, stream=77)
    assert a.__cuda_array_interface__ == kept
    said.clear()
    assert a.T.T.__cuda_array_interface__ == kept


def test_arrays_in_turn_say_each_its_own() -> None:
    block = Block(48)
    for shape in ((3, 4), (12,), (3, 4), (2, 1, 3, 1, 2), (2, 1, 3, 2, 1), (3, 4), (), (0, 4)):
        for dtype, typestr in (("float32", "<f4"), ("int32", "<i4")):
            said = wrap(block, shape, dtype).__cuda_array_interface__
            assert (said["shape"], said["typestr"], said["strides"]) == (shape, typestr, None)


def test_the_name_of_a_device_means_the_same_however_it_was_made() -> None:
    block = Block(16)
    for _ in range(3):
        for name in ("cuda:0", "cuda:" + str(0), type("Name", (str,), {})("cuda:0")):
            assert via.wrap(block.ptr, 4, "float32", device=name).device == "cuda:0"
        for number in range(5, 60):
            with pytest.raises((RuntimeError, ValueError)):
                via.wrap(block.ptr, 4, "float32", device=f"cuda:{number}")
        with pytest.raises(RuntimeError, match="device is "):
            via.wrap(block.ptr, 4, "float32", device="cuda:x")


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_that_devices_reach_has_both_interfaces(kind: str) -> None:
    a = wrap(Block(48, kind))
    assert a.__cuda_array_interface__["data"] == a.__array_interface__["data"] == (a.ptr, False)
    assert memoryview(a).nbytes == 48


def test_host_and_device_memory_lack_the_others_interface() -> None:
    assert not hasattr(via.empty(4, "int8"), "__cuda_array_interface__")
    a = wrap(Block(48))
    assert not hasattr(a, "__array_interface__")
    with pytest.raises(BufferError, match="in device memory"):
        memoryview(a)
    for read in (a.tolist, a[0].tolist, a.reshape(-1)[0].item):
        with pytest.raises(via.ExchangeError, match=r"in device memory; expected host memory: use copy\(device="):
            read()
    with pytest.raises(via.ExchangeError, match=r"Array.numpy: the memory is on cuda:0"):
        a.numpy()


def test_types_without_a_typestr_have_no_interface() -> None:
    for name in ("bfloat16", "float8_e4m3fn", "int4", "complex32"):
        a = via.empty((4, 4), name, device="cuda:0")
        assert not hasattr(a, "__cuda_array_interface__"), name
    assert via.empty(4, "record12", device="cuda:0").__cuda_array_interface__["typestr"] == "|V12"


@pytest.mark.parametrize("kind", KINDS)
def test_described_memory_is_found_out(kind: str) -> None:
    block = Block(48, kind)
    a = via.asarray(Described(data=(block.ptr, False)))
    assert a.ptr == block.ptr and a.device == KINDS[kind][0] and a.shape == (3, 4) and not a.readonly
    assert a.owner.__cuda_array_interface__["data"] == (block.ptr, False)
    b = via.asarray(Described(data=(block.ptr, True), strides=(4, 12), typestr="|V4"))
    assert b.readonly and b.strides == (4, 12) and b.dtype_name == "record4"


def test_descriptions_that_cannot_be_right_are_refused() -> None:
    block, host = Block(48), ctypes.create_string_buffer(64)
    with pytest.raises(BufferError, match="which the CUDA driver does not know"):
        via.asarray(Described(data=(ctypes.addressof(host), False)))
    with pytest.raises(BufferError, match="bytes 0 to 52"):
        via.asarray(Described(data=(block.ptr, False), shape=(13,)))
    with pytest.raises(BufferError, match="stream"):
        via.asarray(Described(data=(block.ptr, False), stream=0))
    with pytest.raises(BufferError, match="mask"):
        via.asarray(Described(data=(block.ptr, False), mask=block))


@pytest.mark.parametrize("stream", [None, 1, 2, "own"])
def test_the_streams_of_a_description_are_taken(stream: Any) -> None:
    block = Block(48)
    own = via.Stream()
    a = via.asarray(Described(data=(block.ptr, False), stream=own.handle if stream == "own" else stream))
    assert a.ptr == block.ptr and a.ready


def test_described_memory_without_elements_has_no_address() -> None:
    a = via.asarray(Described(data=(0, False), shape=(0, 4)))
    assert a.shape == (0, 4) and a.device == "cuda:0" and a.size == 0


# ----------------------------------------------------------------------------------------------------------- Arrow


def test_arrow_carries_device_memory_both_ways() -> None:
    for kind, (name, _) in KINDS.items():
        a = wrap(Block(48, kind), (12,), "int32")
        b = via.from_arrow(a.__arrow_c_device_array__())
        assert b.ptr == a.ptr and b.device == name and b.readonly and b.shape == (12,)
    with pytest.raises(BufferError, match="in device memory"):
        wrap(Block(48)).__arrow_c_array__()
    pinned = wrap(Block(48, "pinned"))
    assert via.from_arrow(pinned.__arrow_c_array__()).device == "cpu"
