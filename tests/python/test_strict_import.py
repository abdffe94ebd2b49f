"""Every oddity of a DLPack producer is handled or refused by name; what is refused stays the producer's."""

from __future__ import annotations

from typing import Any

import pytest
import viaduct as via
from peers import peer
from tensors import CPU, FLOAT32, IS_COPIED, READ_ONLY, Producer, capsule_name

FORMS = pytest.mark.parametrize("legacy", [False, True], ids=["versioned", "legacy"])


def take(producer: Producer, **wish: Any) -> via.Array:
    return via.from_dlpack(producer.capsule(), **wish)


def refused(producer: Producer, kind: type[Exception], *words: str) -> None:
    """The tensor is refused with these words, its capsule is as it was, and its deleter has not been called."""
    capsule = producer.capsule()
    name = capsule_name(capsule)
    with pytest.raises(kind) as error:
        via.from_dlpack(capsule)
    for word in words:
        assert word in str(error.value)
    assert capsule_name(capsule) == name
    assert producer.deleted == 0


# ----------------------------------------------------------------------------------------------------- handled


@FORMS
def test_byte_offset_is_added_to_the_address(legacy: bool) -> None:
    producer = Producer(byte_offset=8, legacy=legacy)
    a = take(producer)
    assert a.ptr == producer.address + 8
    assert a.tolist() == [[2, 3, 4], [5, 6, 7]]


@FORMS
def test_null_strides_mean_row_major(legacy: bool) -> None:
    a = take(Producer(strides=None, legacy=legacy))
    assert a.element_strides == (3, 1)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


@FORMS
def test_negative_strides_go_backwards_from_the_address(legacy: bool) -> None:
    a = take(Producer(strides=(-3, -1), shift=20, legacy=legacy))
    assert a.tolist() == [[5, 4, 3], [2, 1, 0]]


@FORMS
def test_zero_strides_repeat(legacy: bool) -> None:
    assert take(Producer(strides=(0, 1), legacy=legacy)).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_strides_are_not_ignored() -> None:
    assert take(Producer(strides=(1, 2))).tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("stride", [0, 1, -5, 1 << 40, -(1 << 62)])
def test_the_stride_of_a_single_element_has_no_say(stride: int) -> None:
    a = take(Producer(shape=(1, 3), strides=(stride, 1)))
    assert a.tolist() == [[0, 1, 2]]
    assert a.c_contiguous and a.f_contiguous


@FORMS
def test_no_elements_need_no_memory(legacy: bool) -> None:
    a = take(Producer(shape=(0, 3), data=0, legacy=legacy))
    assert a.shape == (0, 3) and a.size == 0 and a.ptr == 0
    assert a.tolist() == []


@FORMS
def test_no_dimensions_need_neither_shape_nor_strides(legacy: bool) -> None:
    a = take(Producer(shape=(), strides=None, null_shape=True, legacy=legacy))
    assert a.shape == () and a.item() == 0


def test_misaligned_elements_are_marked_and_can_be_copied() -> None:
    producer = Producer(shift=2)
    a = take(producer)
    assert not a.aligned
    assert a.copy().aligned
    assert bytes(memoryview(a.copy())) == bytes(producer.memory)[2:26]


def test_lanes_are_part_of_the_element() -> None:
    a = take(Producer(shape=(2,), strides=(1,), dtype=(2, 32, 4)))
    assert a.dtype_name == "float32x4" and a.itemsize == 16
    assert a.field(4, "float32", (2,)).tolist() == [[1, 2], [5, 6]]


SIGNS = {"JAX": "block_until_ready", "TensorFlow": "backing_device", "Arrow": "__arrow_c_array__"}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS.keys())
def test_immutable_arrays_in_the_old_form_are_read_only(sign: str) -> None:
    kind = type("Immutable", (Producer,), {sign: lambda self: self})
    assert via.asarray(kind(legacy=True)).readonly
    copy = via.from_dlpack(kind(legacy=True), copy=True)
    assert copy.copied and not copy.readonly


def test_constants_of_tensorflow_are_read_only() -> None:
    """It keeps one tensor for each number: a write would change the number everywhere."""
    tensorflow = peer("tensorflow")
    constant = tensorflow.constant(3.0)
    assert via.asarray(constant).readonly and via.from_dlpack(constant).readonly
    with pytest.raises(via.ReadOnlyError):
        via.fill(constant, 5.0)
    assert float(tensorflow.constant(3.0)) == 3.0
    assert not via.from_dlpack(constant, copy=True).readonly


def test_tensors_of_texts_and_resources_are_refused() -> None:
    """TensorFlow's __dlpack__ ends the process for them."""
    tensorflow = peer("tensorflow")
    for tensor in (tensorflow.constant(["a"]), tensorflow.raw_ops.VarHandleOp(dtype=tensorflow.float32, shape=())):
        for take_in in (via.asarray, via.from_dlpack):
            with pytest.raises(via.ExchangeError, match="texts, resources"):
                take_in(tensor)


def test_read_only_stays_read_only_in_every_view_and_export() -> None:
    a = take(Producer(flags=READ_ONLY))
    for view in (a, a[0], a.T, a.reshape(6), a.view("int32")):
        assert view.readonly
        with pytest.raises(via.ReadOnlyError):
            view[...] = 0
        assert memoryview(view).readonly
    assert not peer("numpy").from_dlpack(a).flags.writeable
    assert not peer("numpy").asarray(a).flags.writeable


def test_copied_says_copied() -> None:
    assert take(Producer(flags=IS_COPIED)).copied
    assert not take(Producer()).copied


def test_a_newer_minor_version_is_welcome() -> None:
    assert take(Producer(version=(1, 99))).size == 6


@pytest.mark.parametrize("name", ["float8_e4m3fn", "bfloat16", "bool", "complex64", "float4_e2m1fn", "int4"])
def test_dtypes_that_others_forgot_come_in(name: str) -> None:
    codes = {
        "float8_e4m3fn": (10, 8, 1),
        "bfloat16": (4, 16, 1),
        "bool": (6, 8, 1),
        "complex64": (5, 64, 1),
        "float4_e2m1fn": (17, 4, 1),
        "int4": (0, 4, 1),
    }
    assert take(Producer(shape=(2, 2), strides=(2, 1), dtype=codes[name])).dtype_name == name


def test_a_copy_never_is_honoured() -> None:
    producer = Producer()
    assert take(producer, copy=False).ptr == producer.address


def test_a_device_may_be_named() -> None:
    producer = Producer()
    assert take(producer, device="cpu").ptr == producer.address
    assert take(Producer(), device=(CPU, 0)).device == "cpu"


# ----------------------------------------------------------------------------------------------------- refused


def test_a_foreign_major_version_is_not_consumed() -> None:
    refused(Producer(version=(2, 0)), BufferError, "2.0", "expected 1")
    refused(Producer(version=(0, 9)), BufferError, "0.9", "expected 1")


@FORMS
def test_dimensions_below_zero_or_beyond_the_limit_are_refused(legacy: bool) -> None:
    refused(Producer(ndim=-1, legacy=legacy), ValueError, "ndim", "-1")
    refused(Producer(shape=(1,) * 65, strides=(1,) * 65, legacy=legacy), ValueError, "ndim", "65")


@FORMS
def test_a_missing_shape_is_refused(legacy: bool) -> None:
    refused(Producer(null_shape=True, legacy=legacy), (ValueError, BufferError), "shape")  # type: ignore[arg-type]


@FORMS
def test_a_negative_extent_is_refused(legacy: bool) -> None:
    refused(Producer(shape=(2, -3), legacy=legacy), ValueError, "shape", "-3")


@FORMS
def test_a_shape_whose_bytes_overflow_is_refused(legacy: bool) -> None:
    refused(Producer(shape=(1 << 40, 1 << 40), legacy=legacy), OverflowError)
    refused(Producer(strides=(1 << 62, 1), legacy=legacy), OverflowError)


@FORMS
def test_elements_without_memory_are_refused(legacy: bool) -> None:
    refused(Producer(data=0, legacy=legacy), (ValueError, BufferError), "NULL")  # type: ignore[arg-type]


def test_an_unknown_dtype_code_is_refused() -> None:
    refused(Producer(dtype=(99, 32, 1)), TypeError, "99")


def test_widths_that_a_dtype_cannot_have_are_refused() -> None:
    for dtype in ((2, 7, 1), (6, 3, 1), (2, 0, 1), (10, 16, 1)):
        refused(Producer(dtype=dtype), TypeError, "dtype")


def test_lanes_of_none_are_refused() -> None:
    refused(Producer(dtype=(2, 32, 0)), TypeError, "lanes")
    refused(Producer(dtype=(2, 32, 0xFFFF)), TypeError, "lanes")


def test_an_unknown_device_is_refused() -> None:
    refused(Producer(device=(99, 0)), (RuntimeError, NotImplementedError), "device", "99")  # type: ignore[arg-type]


def test_memory_of_a_device_that_is_not_served_here_is_refused() -> None:
    refused(Producer(device=(2, 0)), (NotImplementedError, RuntimeError), "CUDA")  # type: ignore[arg-type]


def test_a_device_id_below_zero_is_refused() -> None:
    refused(Producer(device=(CPU, -1)), RuntimeError, "device", "-1")


def test_host_memory_has_no_device_id() -> None:
    """The specification says 0; producers that number their CPUs mean the same memory."""
    assert take(Producer(device=(CPU, 3))).__dlpack_device__() == (CPU, 0)


def test_what_was_refused_is_ended_by_its_capsule_alone() -> None:
    """numpy/torch style: a capsule with a destructor, dropped after the refusal, deletes the tensor once."""
    a = via.empty((2,), "float32")
    capsule = a.__dlpack__(max_version=(1, 0))
    with pytest.raises(via.Error):
        via.from_dlpack(capsule, device="cuda:0")
    del a
    assert via.stats()["outstanding_exports"] == 1
    del capsule
    assert via.stats()["outstanding_exports"] == 0


# -------------------------------------------------------------------------------------- how producers are asked


class Asked:
    """A producer in Python that notes how it was asked."""

    def __init__(self, knows: tuple[str, ...]) -> None:
        self.knows = knows
        self.calls: list[dict[str, object]] = []
        self.producer = Producer(legacy="max_version" not in knows)

    def __dlpack__(self, **keywords: object) -> object:
        self.calls.append(keywords)
        unknown = set(keywords) - set(self.knows)
        if unknown:
            raise TypeError(f"unexpected keywords {unknown}")
        return self.producer.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def test_the_newest_version_is_asked_for_first() -> None:
    asked = Asked(("max_version",))
    via.from_dlpack(asked)
    assert asked.calls == [{"max_version": (1, 3)}]


def test_a_producer_of_before_the_versions_is_asked_again() -> None:
    asked = Asked(())
    assert via.from_dlpack(asked).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert asked.calls == [{"max_version": (1, 3)}, {}]


def test_wishes_are_passed_on() -> None:
    asked = Asked(("max_version", "dl_device", "copy"))
    via.from_dlpack(asked, device="cpu", copy=False)
    assert asked.calls == [{"max_version": (1, 3), "dl_device": (1, 0), "copy": False}]


def test_an_error_of_the_producer_arrives_as_it_is() -> None:
    class Broken:
        def __dlpack__(self, **_: object) -> object:
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        via.from_dlpack(Broken())


def test_what_is_no_capsule_is_refused() -> None:
    class Wrong:
        def __dlpack__(self, **_: object) -> object:
            return 7

    with pytest.raises(TypeError, match="__dlpack__.*of type int; expected a capsule"):
        via.from_dlpack(Wrong())


def test_a_capsule_of_another_name_is_refused() -> None:
    with pytest.raises(BufferError, match="something_else"):
        via.from_dlpack(Producer().capsule(b"something_else"))


def test_asarray_goes_on_to_the_next_protocol_after_a_refusal() -> None:
    numpy = peer("numpy")

    class Reluctant:
        def __init__(self) -> None:
            self.array = numpy.arange(3, dtype="int32")
            self.__array_interface__ = self.array.__array_interface__

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("no tensor today")

    exporter = Reluctant()
    assert via.asarray(exporter).ptr == exporter.array.ctypes.data


def test_a_reason_that_cannot_be_printed_is_a_refusal_like_others() -> None:
    numpy = peer("numpy")

    class Mute(ValueError):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Reluctant:
        def __dlpack__(self, **_: object) -> object:
            raise Mute

    class Helpful(Reluctant):
        array = numpy.arange(3, dtype="int32")
        __array_interface__ = array.__array_interface__

    assert via.asarray(Helpful()).ptr == Helpful.array.ctypes.data
    with pytest.raises(BufferError, match="DLPack: <class .*Mute"):
        via.asarray(Reluctant())


def test_a_protocol_that_is_none_is_absent() -> None:
    class Silent:
        __dlpack__ = __cuda_array_interface__ = __array_interface__ = __arrow_c_array__ = None

    for call, words in (
        (via.asarray, "of type Silent; expected an object that exports its memory"),
        (via.from_dlpack, "of type Silent; expected an object with __dlpack__"),
        (via.from_arrow, "of type Silent; expected an object with __arrow_c_device_array__"),
    ):
        with pytest.raises(via.DTypeError, match=words):
            call(Silent())


def test_asarray_says_what_it_tried() -> None:
    class Hopeless:
        def __init__(self) -> None:
            usual = {"version": 3, "shape": (1,), "typestr": "<f4", "data": (1, False)}
            self.__array_interface__ = usual | {"mask": 1}

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("no tensor today")

    with pytest.raises(BufferError) as error:
        via.asarray(Hopeless())
    for word in ("asarray", "Hopeless", "DLPack: no tensor today", "the array interface", "mask"):
        assert word in str(error.value)


def test_the_shape_that_is_asked_for_in_messages_is_float32() -> None:
    assert take(Producer(dtype=FLOAT32)).dtype_name == "float32"
