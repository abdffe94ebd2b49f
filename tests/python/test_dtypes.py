"""Element types are named in whatever way the caller's library names them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import peer


def name_of(dtype: Any) -> str:
    return via.wrap(0, 0, dtype).dtype_name


NUMPY_NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
ML_NAMES = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip
OTHER_NAMES = [
    "int4", "uint4", "complex32", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "float32x4", "record12",
]  # fmt: skip


@pytest.mark.parametrize("name", NUMPY_NAMES + ML_NAMES + OTHER_NAMES)
def test_every_name_is_understood_and_given_back(name: str) -> None:
    assert name_of(name) == name
    assert name_of(str(name.encode(), "ascii")) == name


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_numpys_types_are_understood_and_given_back(name: str) -> None:
    numpy = peer("numpy")
    dtype = numpy.dtype(name)
    assert name_of(dtype) == name
    assert name_of(dtype.type) == name
    assert name_of(dtype.str) == name
    assert name_of(dtype.char) == name or name in ("uint64", "int64")
    assert via.empty((1,), name).dtype == dtype


@pytest.mark.parametrize("name", ML_NAMES)
def test_ml_dtypes_types_are_understood_and_given_back(name: str) -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    kind = getattr(ml_dtypes, name)
    assert name_of(kind) == name
    assert name_of(numpy.dtype(kind)) == name
    assert via.empty((1,), name).dtype == numpy.dtype(kind)


@pytest.mark.parametrize("name", ML_NAMES)
def test_arrays_of_ml_dtypes_types_are_taken_as_such(name: str) -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    theirs = numpy.arange(1, 13).reshape(3, 4).astype(getattr(ml_dtypes, name))[:, ::2]
    a = via.asarray(theirs)
    assert a.dtype == theirs.dtype and a.shape == (3, 2) and a.ptr == theirs.ctypes.data
    assert a.tolist() == theirs.astype("float32").tolist()
    copied = numpy.zeros((3, 2), theirs.dtype)
    via.copy(copied, theirs)
    assert (copied == theirs).all()
    theirs.flags.writeable = False
    assert via.asarray(theirs).readonly
    assert "owned by ndarray" in repr(a)


class Exporter:
    """Twelve bytes, described by the array interface; what more there is to say of them is in `dtype`, if anywhere."""

    dtype: object

    def __init__(self, typestr: str, count: int) -> None:
        self.values = (ctypes.c_uint8 * 12)()
        self.__array_interface__ = {
            "version": 3,
            "shape": (count,),
            "typestr": typestr,
            "data": (ctypes.addressof(self.values), False),
        }


@pytest.mark.parametrize("dtype", [None, "no such type", "float64", 7, object()])
def test_bytes_without_a_name_stay_so_where_their_owner_reports_nothing_that_fits(dtype: object) -> None:
    exporter = Exporter("|V2", 6)
    assert via.asarray(exporter).dtype_name == "record2"
    exporter.dtype = dtype
    assert via.asarray(exporter).dtype_name == "record2"
    exporter.dtype = "float16"
    assert via.asarray(exporter).dtype_name == "float16"


def test_floats_of_one_byte_are_refused_where_their_owner_does_not_report_which() -> None:
    exporter = Exporter("<f1", 12)
    with pytest.raises(via.ExchangeError, match="<f1"):
        via.asarray(exporter)
    exporter.dtype = "float8_e4m3fn"
    assert via.asarray(exporter).dtype_name == "float8_e4m3fn"


def test_types_that_numpy_has_not_are_names() -> None:
    for name in ("int4", "float32x4", "complex32", "float4_e2m1fn"):
        assert via.empty((2, 2), name).dtype == name


def test_records_are_void_to_numpy() -> None:
    numpy = peer("numpy")
    assert via.empty((2,), "record12").dtype == numpy.dtype("V12")
    assert name_of(numpy.dtype("V12")) == "record12"
    assert name_of(numpy.dtype([("a", "i4"), ("b", "f8")])) == "record12"
    assert name_of([("a", "i4"), ("b", "f8")]) == "record12"


def test_torchs_types_are_understood() -> None:
    torch = peer("torch")
    for name in ("bool", "int8", "int64", "uint8", "uint16", "float16", "bfloat16", "float32", "complex64"):
        assert name_of(getattr(torch, name)) == name
    assert name_of(torch.half) == "float16"
    assert name_of(torch.float8_e4m3fn) == "float8_e4m3fn"
    pairs = torch.zeros(3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert name_of(pairs.dtype) == via.asarray(pairs).dtype_name == "float4_e2m1fnx2"
    with pytest.raises(TypeError, match="qint8"):
        name_of(torch.qint8)


def test_tensorflows_types_are_understood() -> None:
    tensorflow = peer("tensorflow")
    for name in ("bool", "int8", "uint16", "bfloat16", "float32", "float64", "complex64"):
        assert name_of(getattr(tensorflow, name)) == name
    assert name_of(tensorflow.float16) == "float16"


def test_jaxs_types_are_understood() -> None:
    peer("jax")
    import jax.numpy

    for name in ("int32", "bfloat16", "float32", "complex64", "float8_e5m2"):
        assert name_of(getattr(jax.numpy, name)) == name


def test_arrows_types_are_understood() -> None:
    pyarrow = peer("pyarrow")
    assert [name_of(t()) for t in (pyarrow.float16, pyarrow.float32, pyarrow.float64, pyarrow.int16)] == [
        "float16",
        "float32",
        "float64",
        "int16",
    ]


def test_pythons_types_are_understood() -> None:
    assert [name_of(t) for t in (bool, int, float, complex)] == ["bool", "int64", "float64", "complex128"]


def test_types_of_ctypes_are_understood() -> None:
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int32), ("y", ctypes.c_double)]

    swapped = "__ctype_be__" if sys.byteorder == "little" else "__ctype_le__"
    for kind in (ctypes.c_int16, ctypes.c_int32, ctypes.c_uint64, ctypes.c_float, ctypes.c_double):
        with pytest.raises(via.DTypeError, match="byte order of this machine"):
            name_of(getattr(kind, swapped))
    assert name_of(ctypes.c_float) == "float32"
    assert name_of(ctypes.c_double) == "float64"
    assert name_of(ctypes.c_int32) == "int32"
    assert name_of(ctypes.c_size_t) == "uint64"
    assert name_of(ctypes.c_bool) == "bool"
    assert name_of(ctypes.c_char) == "uint8"
    assert name_of(Point) == "record16"
    assert name_of(ctypes.c_float * 3) == "record12"
    for wrong in (ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p):
        with pytest.raises(TypeError):
            name_of(wrong)


def test_numbers_of_the_c_api_are_understood() -> None:
    assert name_of(via.raw.VIA_FLOAT32) == "float32"
    assert name_of(-12) == "record12"


@pytest.mark.parametrize(
    "wrong",
    ["float33", "", "f3", ">f4", "record0", "float32x0", None, 7, 1 << 40, True, 3.5, object, [], "O", "M8[ns]"],
    ids=repr,
)
def test_what_is_no_type_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="wrap: dtype"):
        name_of(wrong)


def test_types_of_numpy_that_no_memory_can_have_are_refused_with_a_way_out() -> None:
    numpy, ml_dtypes = peer("numpy"), peer("ml_dtypes")
    for wrong, words in [
        (">f4", "byte order"),
        ("M8[ns]", "int64"),
        ("m8[s]", "int64"),
        ("O", "references"),
        ("S5", "recordN"),
        ("U5", "recordN"),
        ([("a", "O")], "references"),
        (ml_dtypes.int4, "packed"),
        (ml_dtypes.float4_e2m1fn, "packed"),
        (numpy.longdouble, "dtype"),
    ]:
        with pytest.raises(TypeError, match=words):
            name_of(numpy.dtype(wrong))


def test_a_type_is_reported_again_from_another_of_the_same_place() -> None:
    """Answers are remembered by identity, so a name that is made anew each time must not be mixed up."""
    for _ in range(1000):
        for name in ("float32", "int16", "complex128"):
            assert name_of("".join(list(name))) == name


def test_the_package_works_without_numpy() -> None:
    program = """
import sys
sys.modules["numpy"] = None
sys.modules["ml_dtypes"] = None
import ctypes, viaduct as via
values = (ctypes.c_float * 6)(*range(6))
a = via.wrap(ctypes.addressof(values), (2, 3), "float32", owner=values)
assert a.dtype == "float32" and a.T.tolist() == [[0, 3], [1, 4], [2, 5]]
a[0] = 7
assert via.asarray(bytearray(4)).copy().tolist() == [0, 0, 0, 0]
b = via.empty((2,), "bfloat16")
b.fill(1.0)
assert b.view("uint16").tolist() == [0x3f80] * 2
c = via.empty((2,), "float4_e2m1fn")
for wrong in (b.numpy, c.tolist, lambda: c.fill(1.0), lambda: via.wrap(0, 0, "f4")):
    try:
        wrong()
    except (ImportError, TypeError) as error:
        print(type(error).__name__, error)
    else:
        raise SystemExit("no error")
b.fill(b"\\x80\\x3f")
assert b.tolist() == [1.0] * 2 and b[0].item() == 1.0
for name, element, value in (("float16", b"\\x00\\xc0", -2.0), ("float8_e5m2", b"\\x44", 4.0),
                             ("complex32", b"\\x00\\x3c\\x00\\xc0", 1 - 2j)):
    a = via.empty((3, 2), name)
    a.fill(element)
    assert a[:, ::2].tolist() == [[value]] * 3 and a.T.tolist() == [[value] * 3] * 2, a.T.tolist()
    assert a[0, 0].item() == value and a[:0].tolist() == []
pairs = (ctypes.c_double * 12)(*range(12))
z = via.wrap(ctypes.addressof(pairs), (2, 3), "complex128", owner=pairs)
assert z.T.tolist() == [[0 + 1j, 6 + 7j], [2 + 3j, 8 + 9j], [4 + 5j, 10 + 11j]] and z[1, ::-2].tolist() == [10 + 11j, 6 + 7j]
assert z[0, 1].item() == 2 + 3j and type(z[0, 1].item()) is complex
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NumPy is not installed" in done.stdout and "ml_dtypes" in done.stdout


def test_a_numpy_that_fails_to_import_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('libopenblas.so.0 is missing')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    program = "import viaduct as via; via.empty(2, 'float32').numpy()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("ImportError: libopenblas.so.0 is missing\n")


def test_importing_the_package_imports_no_peer() -> None:
    program = "import sys, viaduct; print([m for m in ('numpy', 'ml_dtypes', 'torch', 'ctypes') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def nbytes_of(dtype: Any) -> int:
    return via.empty(1, dtype).nbytes


def test_a_list_or_dict_that_changes_means_what_it_says_now() -> None:
    peer("numpy")
    fields: list[Any] = [("a", "i4")]
    table: dict[str, Any] = {"names": ["a"], "formats": ["i4"]}
    for grow, description in (
        (lambda: fields.append(("b", "f8")), fields),
        (lambda: table.update(names=["a", "b"], formats=["i4", "f8"]), table),
    ):
        assert nbytes_of(description) == nbytes_of(description) == 4
        grow()
        assert nbytes_of(description) == 12


def test_an_object_or_class_whose_dtype_changes_means_what_it_says_now() -> None:
    numpy = peer("numpy")

    class Described:
        dtype = numpy.dtype("i4")

    for description in (Described(), Described):
        assert nbytes_of(description) == nbytes_of(description) == 4
        description.dtype = numpy.dtype([("a", "f8"), ("b", "f8")])
        assert nbytes_of(description) == 16


def test_a_tuple_that_holds_a_list_means_what_it_says_now() -> None:
    peer("numpy")
    description = ([("a", "i4")], [2])
    assert nbytes_of((description[0], 2)) == nbytes_of(description) == 8
    description[1][0] = 3
    assert nbytes_of(description) == 12


def test_a_structure_that_gets_its_fields_later_is_as_large_as_it_is_then() -> None:
    class First(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int32)]

    class Later(First):
        pass

    assert nbytes_of(Later) == 4
    try:
        Later._fields_ = [("b", ctypes.c_double)]
    except AttributeError:
        pass
    assert nbytes_of(Later) == ctypes.sizeof(Later)


@pytest.mark.parametrize("name", ["int8\0", "int8\0x", "\0", "float32\0\0", "f4\0", "\ud800"])
def test_a_name_with_a_0_character_or_half_a_character_names_no_type(name: str) -> None:
    class Text(str):
        pass

    for given in (name, Text(name)):
        with pytest.raises(via.DTypeError, match=": dtype is "):
            via.empty(1, given)
