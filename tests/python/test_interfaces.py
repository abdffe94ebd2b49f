"""The array interface of NumPy and that of CUDA."""

from __future__ import annotations

import ctypes
import gc
import itertools
import weakref
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers, peer


class Exporter:
    """An object that describes memory by __array_interface__ and nothing else."""

    def __init__(self, **changes: Any) -> None:
        self.values = numbers(12)
        self.__array_interface__ = {
            "version": 3,
            "shape": (3, 4),
            "typestr": "<f4",
            "data": (ctypes.addressof(self.values), False),
        } | changes


def test_the_array_interface_says_what_the_array_is() -> None:
    a = grid()[1:, ::2].as_readonly()
    said = a.__array_interface__
    assert said["data"] == (a.ptr, True)
    assert said["shape"] == (2, 2)
    assert said["strides"] == (16, 8)
    assert said["typestr"] == "<f4"
    assert said["version"] == 3


def test_arrays_in_turn_say_each_its_own() -> None:
    """Whatever is kept from one description for the next shows in none."""
    values = numbers(64)
    address = ctypes.addressof(values)
    shapes = [(4,), (4,), (2, 2), (), (4, 1), (4,), (1, 1, 2, 1, 2), (1, 1, 2, 2, 1), (0, 3), (2, 2)]
    for dtype, typestr in (("float32", "<f4"), ("uint8", "|u1"), ("complex64", "<c8"), ("record12", "|V12")):
        for shape, (offset, readonly) in itertools.product(shapes, ((0, False), (0, True), (16, True), (16, False))):
            at = address + offset
            said = via.wrap(at, shape, dtype, owner=values, readonly=readonly).__array_interface__
            assert said == {
                "shape": shape,
                "typestr": typestr,
                "data": (0 if 0 in shape else at, readonly),
                "strides": None,
                "version": 3,
            }


def test_a_description_is_its_takers_to_change() -> None:
    a = grid()
    first = a.__array_interface__
    first["shape"], first["typestr"], first["extra"] = (1,), "|u1", "of mine"
    assert a.__array_interface__ == {
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (a.ptr, False),
        "strides": None,
        "version": 3,
    }


def test_more_dtypes_than_are_kept_are_all_described() -> None:
    values = numbers(200)
    for _ in range(2):
        for size in range(1, 200):
            a = via.wrap(ctypes.addressof(values), 1, f"record{size}", owner=values)
            assert a.__array_interface__["typestr"] == f"|V{size}"


def test_numpy_takes_it() -> None:
    numpy = peer("numpy")
    a = grid()

    class Only:
        __array_interface__ = a.__array_interface__

    assert numpy.asarray(Only()).ctypes.data == a.ptr


def test_records_are_void_and_what_has_no_typestr_has_no_interface() -> None:
    values = numbers(12)
    assert via.wrap(ctypes.addressof(values), 4, "record12", owner=values).__array_interface__["typestr"] == "|V12"
    for name in ("bfloat16", "float8_e5m2", "int4"):
        assert not hasattr(via.empty((2, 2), name), "__array_interface__")


def test_an_interface_is_taken_and_its_object_held() -> None:
    exporter = Exporter()
    address = ctypes.addressof(exporter.values)
    a = via.asarray(exporter)
    assert a.ptr == address and a.owner is exporter
    del exporter
    assert a.tolist() == grid().tolist()


def test_memory_that_the_description_alone_holds_is_held() -> None:
    """NumPy's scalars describe an array that is made for the description."""

    class Describer:
        @property
        def __array_interface__(self) -> dict[str, Any]:
            made = Exporter()
            values.append(weakref.ref(made))
            return made.__array_interface__ | {"__ref": made}

    values: list[weakref.ref[Exporter]] = []
    a = via.asarray(Describer())
    gc.collect()
    assert values[-1]() is not None
    assert a.tolist() == grid().tolist()
    del a
    assert values[-1]() is None


def test_a_scalar_of_ml_dtypes_keeps_its_value() -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    kept = [via.asarray(ml_dtypes.bfloat16(number)) for number in range(8)]
    overwriting = [numpy.full((), 99, ml_dtypes.bfloat16) for _ in range(8)]
    assert [float(a.item()) for a in kept] == list(range(8))
    assert len({a.ptr for a in kept}) == len(kept) == len(overwriting)


def test_strides_and_the_read_only_flag_are_taken() -> None:
    exporter = Exporter(shape=(4, 3), strides=(4, 16))
    assert via.asarray(exporter).tolist() == grid().T.tolist()
    values = exporter.values
    assert via.asarray(Exporter(data=(ctypes.addressof(values), True))).readonly


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 9}, "version"),
        ({"version": "three"}, "version"),
        ({"typestr": None}, "typestr"),
        ({"typestr": "<f3"}, "<f3"),
        ({"typestr": ">f4"}, ">f4"),
        ({"typestr": "|O8"}, "O8"),
        ({"typestr": "<" + "f" * 40}, "typestr"),
        ({"shape": None}, "shape"),
        ({"shape": [3, 4]}, "shape"),
        ({"shape": (3, "4")}, r"shape\W+ is .*integers"),
        ({"shape": (3, 1 << 70)}, r"shape\W+ is .*integers"),
        ({"shape": (1,) * 65}, r"shape\W+ is .*integers"),
        ({"strides": (16, 4.0)}, r"strides\W+ is .*integers"),
        ({"shape": (-3, 4)}, "shape"),
        ({"shape": (1 << 40, 1 << 40)}, "overflow|fit|large"),
        ({"strides": (4,)}, "strides"),
        ({"strides": [16, 4]}, "strides"),
        ({"data": None}, "data"),
        ({"data": 4096}, "data"),
        ({"data": ("here", False)}, "data"),
        ({"data": (-1, False)}, "data"),
        ({"data": (0, False)}, "NULL"),
        ({"mask": object()}, "mask"),
    ],
)
def test_a_malformed_interface_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BufferError, match=f"asarray.*Exporter.*({words})"):
        via.asarray(Exporter(**changes))


class Asked:
    """A number that, when asked, takes itself out of a dictionary, and fills the memory that it had there."""

    def __init__(self, value: int, said: dict[str, Any], key: str) -> None:
        self.value, self.said, self.key = value, said, key

    def __index__(self) -> int:
        self.said.pop(self.key, None)
        self.after = [(-self.value, -7), (-self.value, -8)]
        return self.value

    def __bool__(self) -> bool:
        return self.__index__() != 0


@pytest.mark.parametrize(
    ("key", "value"), [("shape", (3, 4)), ("strides", (16, 4)), ("strides", (1, 2, 3)), ("version", 3), ("data", 0)]
)
def test_a_dictionary_that_changes_as_it_is_read_is_read_as_it_was(key: str, value: Any) -> None:
    exporter = Exporter(strides=(16, 4))
    said: dict[str, Any] = exporter.__array_interface__
    if key == "data":
        said[key] = (said["data"][0], Asked(value, said, key))
    else:
        said[key] = tuple([Asked(each, said, key) for each in value]) if key != "version" else Asked(value, said, key)
    if value == (1, 2, 3):
        with pytest.raises(BufferError, match="strides.*as long as the shape"):
            via.asarray(exporter)
    else:
        assert via.asarray(exporter).tolist() == grid().tolist()


def nested(depth: int, field: Any = "<f4") -> list[Any]:
    fields = [("last", field)]
    for _ in range(depth):
        fields = [("inner", fields)]
    return fields


def test_fields_within_fields_are_read_as_deep_as_they_may_go() -> None:
    assert via.asarray(Exporter(typestr="|V4", descr=nested(20))).dtype_name == "record4"
    with pytest.raises(BufferError, match="descr"):
        via.asarray(Exporter(typestr="|V4", descr=nested(20, "|O")))


def test_fields_that_hold_themselves_are_refused() -> None:
    fields: list[Any] = []
    fields.append(("itself", fields))
    twice: list[Any] = []
    twice += [("one", twice), ("two", twice)]
    broad: list[Any] = [("x", "<f4")]
    for _ in range(60):
        broad = [("a", broad), ("b", broad)]
    for descr in (fields, twice, broad, nested(100_000)):
        with pytest.raises(BufferError, match="descr"):
            via.asarray(Exporter(typestr="|V4", descr=descr))
    del fields[:], twice[:]


def test_an_interface_that_is_no_dict_is_refused() -> None:
    class Wrong:
        __array_interface__ = 7

    with pytest.raises(BufferError, match="__array_interface__.*of type int; expected a dict"):
        via.asarray(Wrong())


def test_host_memory_has_no_cuda_interface() -> None:
    assert not hasattr(grid(), "__cuda_array_interface__")


class OnDevice:
    def __init__(self, **changes: object) -> None:
        usual = {"version": 3, "shape": (4,), "typestr": "<f4", "data": (1 << 40, False)}
        self.__cuda_array_interface__ = usual | changes


def test_device_memory_is_refused_where_there_is_no_cuda() -> None:
    with pytest.raises(BufferError, match="CUDA array interface.*CUDA"):
        via.asarray(OnDevice())


@pytest.mark.parametrize("stream", [0, "legacy"])
def test_a_stream_that_means_nothing_is_refused(stream: object) -> None:
    with pytest.raises(BufferError, match="stream"):
        via.asarray(OnDevice(stream=stream))


@pytest.mark.parametrize("typestr", ["<f4\0", "<f4\0<f8", "\0<f4", "<\0f4"])
def test_a_typestr_that_would_be_cut_short_is_refused(typestr: str) -> None:
    with pytest.raises(via.Error, match="typestr"):
        via.asarray(Exporter(typestr=typestr))
    fields = via.raw.via_to_array_interface(grid())
    with pytest.raises(via.Error, match="typestr"):
        via.raw.via_from_array_interface({**fields, "typestr": typestr}, None, None)


def test_longdouble_is_refused_however_it_comes_in() -> None:
    """Its bits are those of x87 on some machines, where float128 is binary128 everywhere."""
    np = peer("numpy")

    class OfInterface:
        def __init__(self, array: Any) -> None:
            self.array = array
            self.__array_interface__ = array.__array_interface__

    for array in (np.ones(3, np.longdouble), np.ones(3, np.clongdouble)):
        for source in (array, OfInterface(array), memoryview(array), array[::2]):
            with pytest.raises(via.Error, match='longdouble|is a buffer of format "<?Z?g"|typestr'):
                via.asarray(source)
            with pytest.raises(via.Error):
                via.copy(via.empty(3, "float128"), source)
        for name in (array.dtype, array.dtype.type, array.dtype.str, array.dtype.char):
            with pytest.raises(via.DTypeError):
                via.empty(3, name)
    with pytest.raises(via.Error, match="<g"):
        via.asarray((ctypes.c_longdouble * 3)())


def test_float128_is_no_longdouble_to_numpy() -> None:
    np = peer("numpy")
    a = via.empty(3, "float128")
    with pytest.raises((AttributeError, BufferError, via.Error)):
        _ = a.__array_interface__
    with pytest.raises(TypeError, match="float128"):
        a.numpy()
    assert np.asarray(a.view("uint8")).nbytes == 48
