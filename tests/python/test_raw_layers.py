"""The C API by ctypes and by cffi: the types of the header, and a call of every function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from abi_tools import ROOT, callbacks, enumerators, functions, parameters, run, spelled, structs
from peers import peer
from viaduct import raw_ctypes as c

cffi_layer = pytest.importorskip("viaduct.raw_cffi", reason="cffi is not installed")
ffi, lib = cffi_layer.ffi, cffi_layer.lib

FUNCTIONS = sorted(functions())

# What is fine with zeros for all it is given.
CONTENT_WITH_ZEROS = {
    *("via_require", "via_set_num_threads", "via_memcpy", "via_copy_batch"),  # require is asked for 1.0
}
# What would find a device, or stay with the thread, where there is one.
TAKES_A_DEVICE = {"via_cuda_warmup", "via_calibrate", "via_stream_set_current"}


def kind_in_ctypes(kind: str) -> Any:
    """A C type as ctypes has it, worked out here once more."""
    plain = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "via_status": ctypes.c_int, "void": None}
    if kind in plain:
        return plain[kind]
    if kind in callbacks():
        return getattr(c, kind)
    if kind in ("const char *", "char *"):
        return ctypes.c_char_p if kind.startswith("const") else ctypes.POINTER(ctypes.c_char)
    if kind == "const char * const *":
        return ctypes.POINTER(ctypes.c_char_p)
    pointee = kind.replace("const ", "").removesuffix("*").strip()
    if pointee in structs():
        return ctypes.POINTER(getattr(c, pointee))
    if pointee in ("int32_t", "int64_t"):
        return ctypes.POINTER(plain[pointee])
    pointer = getattr(c, pointee.partition(" ")[0], ctypes.c_void_p)
    return ctypes.POINTER(pointer) if kind.count("*") == 2 else pointer


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ctypes_has_the_types_of_the_header(name: str) -> None:
    declared, function = functions()[name], getattr(c, name)
    assert function.argtypes == [kind_in_ctypes(spelled(each.type)) for each in parameters(declared)]
    assert function.restype == kind_in_ctypes(spelled(declared.type))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cffi_has_the_types_of_the_header(name: str) -> None:
    declared, kind = functions()[name], ffi.typeof(getattr(lib, name))
    taken = [ffi.typeof(spelled(each.type)) for each in parameters(declared)]
    assert list(kind.args) == taken
    assert kind.result is ffi.typeof(spelled(declared.type))


def test_both_have_every_constant_and_no_other() -> None:
    values = {name: int(each.value.value, 0) for name, each in enumerators().items()}
    assert {name: getattr(c, name) for name in values} == values
    assert {name: getattr(lib, name) for name in values} == values
    assert {name for name in vars(c) if name.startswith("VIA_")} == set(values)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Sizes of structs and places of fields, as the C compiler has them."""
    lines = [f'printf("{name} %zu\\n", sizeof({name}));' for name in structs()]
    for name, fields in structs().items():
        lines += [f'printf("{name}.{each.name} %zu\\n", offsetof({name}, {each.name}));' for each in fields]
    folder = tmp_path_factory.mktemp("layout")
    text = "#include <stddef.h>\n#include <stdio.h>\n#include <viaduct/viaduct.h>\nint main(void) {\n"
    (folder / "layout.c").write_text(text + "\n".join(lines) + "\n}\n")
    run("cc", f"-I{ROOT / 'include'}", folder / "layout.c", "-o", folder / "layout")
    return {name: int(at) for name, at in (line.split() for line in run(folder / "layout").splitlines())}


def test_structs_are_laid_out_as_the_compiler_lays_them_out(layout: dict[str, int]) -> None:
    assert len(layout) > 50
    for name, at in layout.items():
        struct, _, field = name.partition(".")
        if field:
            assert getattr(getattr(c, struct), field).offset == at == ffi.offsetof(struct, field)
        else:
            assert ctypes.sizeof(getattr(c, struct)) == at == ffi.sizeof(struct)


def test_structs_of_ctypes_know_their_size() -> None:
    for name in structs():
        kind = getattr(c, name)
        assert kind().struct_size == ctypes.sizeof(kind)
    assert c.via_dlpack_options(copy=c.VIA_COPY_ALWAYS).struct_size == 24
    assert c.via_dlpack_options(struct_size=8).struct_size == 8


def zero(kind: Any) -> Any:
    """Nothing, for a parameter of ctypes."""
    if kind in (ctypes.c_int32, ctypes.c_int64):
        return 0
    return kind() if kind in {getattr(c, name) for name in callbacks()} else None


def by_ctypes(name: str) -> tuple[Any, bytes]:
    function = getattr(c, name)
    given = (1, 0) if name == "via_require" else tuple(map(zero, function.argtypes))
    answer = function(*given)
    return answer, c.via_last_error()


def by_cffi(name: str) -> tuple[Any, bytes]:
    kind = ffi.typeof(getattr(lib, name))
    nothing = [ffi.NULL if each.kind in ("pointer", "function") else 0 for each in kind.args]
    answer = getattr(lib, name)(*((1, 0) if name == "via_require" else nothing))
    return answer, ffi.string(lib.via_last_error())


@pytest.mark.parametrize("call", [by_ctypes, by_cffi])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_can_be_called_with_nothing(name: str, call: Callable[[str], tuple[Any, bytes]]) -> None:
    """Getters answer nothing, what releases ignores it, and what can fail says which function and which argument."""
    if name in TAKES_A_DEVICE:
        pytest.skip("it would take a device")
    answer, text = call(name)
    if spelled(functions()[name].type) != "via_status":
        return
    assert (answer == 0) == (name in CONTENT_WITH_ZEROS), text
    if answer:
        assert text.startswith(name.encode())


# ----------------------------------------------------------------------------------------------- a job with each


def ok(status: int) -> None:
    assert status == c.VIA_OK, c.via_last_error().decode()


def test_ctypes_wraps_and_releases_once_and_copies() -> None:
    released: list[int | None] = []
    on_release = c.via_release_fn(released.append)
    values = (ctypes.c_float * 6)(*range(6))
    shape = (ctypes.c_int64 * 2)(2, 3)
    array, transposed, made = c.via_array(), c.via_array(), c.via_array()
    ok(c.via_wrap(values, c.VIA_FLOAT32, 2, shape, None, c.VIA_DEVICE_CPU, 0, 0, on_release, 7, ctypes.byref(array)))
    ok(c.via_array_permute(array, None, ctypes.byref(transposed)))
    c.via_array_release(array)
    assert released == []
    assert c.via_array_shape(transposed)[:2] == [3, 2] and c.via_array_strides(transposed)[:2] == [1, 3]
    ok(c.via_empty(None, c.VIA_FLOAT32, 2, c.via_array_shape(transposed), None, ctypes.byref(made)))
    ok(c.via_copy(made, transposed))
    copied = ctypes.cast(c.via_array_data(made), ctypes.POINTER(ctypes.c_float))
    assert copied[:6] == [0, 3, 1, 4, 2, 5]
    c.via_array_release(transposed)
    c.via_array_release(made)
    assert released == [7]


HANDLES = ["array", "memory", "stream", "event", "task", "batch", "file"]


@pytest.mark.parametrize("kind", HANDLES)
def test_a_handle_of_another_kind_is_refused_by_ctypes(kind: str) -> None:
    """Otherwise the library would take one struct for another."""
    release = getattr(c, f"via_{kind}_release")
    release(None)
    release(getattr(c, f"via_{kind}")())
    for other in HANDLES:
        if other != kind:
            with pytest.raises(ctypes.ArgumentError):
                release(getattr(c, f"via_{other}")())


def test_a_result_of_another_kind_is_refused_by_ctypes() -> None:
    shape = (ctypes.c_int64 * 1)(4)
    with pytest.raises(ctypes.ArgumentError):
        c.via_empty(None, c.VIA_FLOAT32, 1, shape, None, ctypes.byref(c.via_file()))
    with pytest.raises(ctypes.ArgumentError):
        c.via_copy_batch(1, (c.via_file * 1)(), (c.via_array * 1)(), None)


def test_a_handle_that_a_function_of_ctypes_returns_has_its_kind() -> None:
    assert isinstance(c.via_stream_legacy(), c.via_stream)
    with pytest.raises(ctypes.ArgumentError):
        c.via_array_release(c.via_stream_legacy())


def test_ctypes_fills_structs_and_texts() -> None:
    stats, name = c.via_stats_info(), ctypes.create_string_buffer(32)
    ok(c.via_stats(stats))
    assert stats.live_arrays >= 0
    ok(c.via_dtype_name(c.VIA_BFLOAT16, len(name), name))
    assert name.value == b"bfloat16"


def test_ctypes_shares_the_library_with_the_package() -> None:
    """One instance of it: what one makes, the other counts and takes."""
    import viaduct as via

    tensor = ctypes.c_void_p()
    array = c.via_array()
    values = (ctypes.c_double * 4)(1, 2, 3, 4)
    before = via.stats()["live_arrays"]
    shape = (ctypes.c_int64 * 1)(4)
    none = c.via_release_fn()
    ok(c.via_wrap(values, c.VIA_FLOAT64, 1, shape, None, c.VIA_DEVICE_CPU, 0, 0, none, None, ctypes.byref(array)))
    assert via.stats()["live_arrays"] == before + 1
    ok(c.via_to_dlpack(array, None, None, ctypes.byref(tensor)))
    c.via_array_release(array)
    taken = via.raw.via_from_dlpack(tensor.value, None, None)
    assert taken.ptr == ctypes.addressof(values) and taken.shape == (4,)


def test_ctypes_calls_back_when_a_task_ends() -> None:
    reported: list[tuple[int, bytes, int | None]] = []
    on_complete = c.via_complete_fn(lambda *given: reported.append(given))
    source, target = (ctypes.c_int32 * 8)(*range(8)), (ctypes.c_int32 * 8)()
    shape, none = (ctypes.c_int64 * 1)(8), c.via_release_fn()
    arrays = [c.via_array(), c.via_array()]
    for array, memory in zip(arrays, (target, source), strict=True):
        ok(c.via_wrap(memory, c.VIA_INT32, 1, shape, None, c.VIA_DEVICE_CPU, 0, 0, none, None, ctypes.byref(array)))
    task = c.via_task()
    ok(c.via_copy_submit(*arrays, None, ctypes.byref(task)))
    ok(c.via_task_wait(task))
    ok(c.via_task_on_complete(task, on_complete, 5))
    c.via_task_release(task)
    for array in arrays:
        c.via_array_release(array)
    assert reported == [(c.VIA_OK, b"", 5)] and list(target) == list(range(8))


@pytest.fixture
def made() -> Iterator[Callable[[Any], Any]]:
    """Makes handles by cffi, and releases them."""
    handles = []

    def make(call: Callable[[Any], int]) -> Any:
        out = ffi.new("via_array **")
        assert call(out) == lib.VIA_OK, ffi.string(lib.via_last_error())
        handles.append(out[0])
        return out[0]

    yield make
    for handle in handles:
        lib.via_array_release(handle)


def test_cffi_wraps_and_views_and_copies(made: Callable[[Any], Any]) -> None:
    values, null = ffi.new("double[6]", list(range(6))), ffi.NULL
    array = made(lambda out: lib.via_wrap(values, lib.VIA_FLOAT64, 2, [2, 3], null, 1, 0, 0, null, null, out))
    view = made(lambda out: lib.via_array_slice(array, [0, 2], null, [1, -2], out))
    copy = made(lambda out: lib.via_empty(null, lib.VIA_FLOAT64, 2, lib.via_array_shape(view), null, out))
    assert lib.via_copy(copy, view) == lib.VIA_OK
    assert ffi.unpack(ffi.cast("double *", lib.via_array_data(copy)), 4) == [2, 0, 5, 3]


def test_cffi_fills_structs_and_calls_back(made: Callable[[Any], Any]) -> None:
    released = []
    on_release = ffi.callback("via_release_fn", lambda context: released.append(int(ffi.cast("intptr_t", context))))
    stats = ffi.new("via_stats_info *", {"struct_size": ffi.sizeof("via_stats_info")})
    out, value = ffi.new("via_array **"), ffi.new("float *")
    context = ffi.cast("void *", 9)
    assert lib.via_wrap(value, lib.VIA_FLOAT32, 0, ffi.NULL, ffi.NULL, 1, 0, 0, on_release, context, out) == lib.VIA_OK
    assert lib.via_stats(stats) == lib.VIA_OK and stats.live_arrays >= 1
    lib.via_array_release(out[0])
    assert released == [9]


def test_the_declarations_build_a_module_ahead_of_time(tmp_path: Path) -> None:
    """As a builder of a user's own does, against the header."""
    peer("cffi")
    import cffi

    builder = cffi.FFI()
    builder.cdef(cffi_layer.DECLARATIONS)
    builder.set_source("built", "#include <viaduct/viaduct.h>", include_dirs=[str(ROOT / "include")])
    builder.emit_c_code(str(tmp_path / "built.c"))
    run("cc", "-fsyntax-only", f"-I{ROOT / 'include'}", *python_includes(), tmp_path / "built.c")


def python_includes() -> list[str]:
    import sysconfig

    return [f"-I{sysconfig.get_paths()['include']}"]
