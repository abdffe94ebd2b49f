"""The generated layer: complete, with every output mapped, and 64 bits wide where the header is."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import re
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import grid, numbers
from viaduct import raw

ROOT = Path(__file__).resolve().parents[2]
HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include/viaduct/viaduct.h").read_text(), flags=re.DOTALL)
SHARED = (ROOT / "bindings/swig/viaduct.i").read_text()
FUNCTIONS = {
    name: (returns.strip(), [] if parameters == "void" else [p.strip() for p in parameters.split(",")])
    for returns, name, parameters in re.findall(
        r"VIA_(?:API|CHECKED) ([\w ]+?[ *]+)(via_\w+)\(([^;]*?)\);", re.sub(r"\s+", " ", HEADER)
    )
}
RETURNS = dict(re.findall(r"^%via_returns\((\w+), (\w+)\)", SHARED, flags=re.MULTILINE))

# What a word of the list means in the header.
OUTPUTS = {
    "nothing": [],
    "filled": ["struct ArrowSchema *out_schema", "struct ArrowDeviceArray *out_array"],
    "int32": [r"int32_t *out_\w+"],
    "int64": ["int64_t *out_number"],
    "two_int64": ["int64_t *out_done", "int64_t *out_total"],
    "text": [r"char *out_\w+"],
    "bytes": ["void *out_bytes"],
    "address": [r"struct DLManagedTensor\w* **out_tensor"],
    "array": [r"via_array **out_\w+"],
    "memory": ["via_memory **out_memory"],
    "stream": ["via_stream **out_stream"],
    "event": ["via_event **out_event"],
    "task": ["via_task **out_task"],
    "batch": ["via_batch **out_batch"],
    "file": ["via_file **out_file"],
    "archive": ["via_archive **out_archive"],
    "device_properties": ["via_device_properties *out_properties"],
    "stats_info": ["via_stats_info *out_stats"],
    "pointer_info": ["via_pointer_info *out_info"],
    "array_interface": ["via_array_interface *out_description"],
    "file_properties": ["via_file_properties *out_properties"],
}


def test_the_layer_is_imported_by_its_name_as_a_module() -> None:
    from viaduct.raw import via_version

    assert importlib.import_module("viaduct.raw") is raw is via.raw and via_version() == raw.via_version()


def test_the_header_was_understood() -> None:
    assert len(FUNCTIONS) == len(re.findall(r"^VIA_(?:API|CHECKED) ", HEADER, flags=re.MULTILINE)) > 100


def test_every_function_that_returns_a_status_is_in_the_list_and_no_other() -> None:
    assert set(RETURNS) == {name for name, (returns, _) in FUNCTIONS.items() if returns == "via_status"}
    assert len(RETURNS) == len(re.findall(r"^%via_returns\(", SHARED, flags=re.MULTILINE))  # no function twice


@pytest.mark.parametrize("name", RETURNS)
def test_the_list_says_what_the_header_says(name: str) -> None:
    outputs = [p for p in FUNCTIONS[name][1] if re.search(r"\bout_\w+$", p)]
    if RETURNS[name] in ("text", "bytes"):
        outputs = [p for p in outputs if "out_length" not in p]
    wanted = [pattern.replace("*", r"\*").replace(r"\w\*", r"\w*") for pattern in OUTPUTS[RETURNS[name]]]
    assert len(outputs) == len(wanted)
    for output, pattern in zip(outputs, wanted, strict=True):
        assert re.fullmatch(pattern, output), (output, pattern)


def test_every_function_is_there_but_those_that_count_references() -> None:
    counted = {name for name in FUNCTIONS if re.fullmatch(r"via_[a-z]+_(retain|release)", name)}
    counted -= {"via_arrow_release"}
    assert {name for name in FUNCTIONS if not hasattr(raw, name)} == counted


def test_every_constant_is_there() -> None:
    constants = set(re.findall(r"\b(VIA_[A-Z0-9_]+)\s*=", HEADER))
    assert constants and not {name for name in constants if not isinstance(getattr(raw, name, None), int)}


def test_every_function_is_described() -> None:
    assert "Returns the version of the library" in (raw.via_version.__doc__ or "")
    assert not [name for name in FUNCTIONS if hasattr(raw, name) and not (getattr(raw, name).__doc__ or "").strip()]


# ------------------------------------------------------------------------------------------------ 64 bits

BIG = 1 << 40
COUNTED = r"int64_t \w+|const int64_t \*\w+"


def message_of(function: Any, *arguments: Any) -> str:
    with pytest.raises(via.Error) as error:
        function(*arguments)
    return str(error.value)


def test_every_int64_parameter_takes_more_than_32_bits(tmp_path: Path) -> None:
    a = grid()
    values = numbers(4)
    address = ctypes.addressof(values)
    seen: dict[str, set[str]] = {}

    def note(function: str, parameter: str) -> None:
        seen.setdefault(function, set()).add(parameter)

    # What comes back holds the number itself.
    lazy = raw.via_wrap(address, raw.VIA_INT8, (BIG, 0), (0, BIG), 1, 0, 0, None, None)
    assert raw.via_array_shape(lazy) == (BIG, 0)
    note("via_wrap", "shape")
    assert raw.via_array_strides(lazy)[1] == BIG
    note("via_wrap", "strides")
    repeated = raw.via_wrap(address, raw.VIA_INT8, (BIG,), (0,), 1, 0, 0, None, None)
    assert raw.via_array_size(repeated) == BIG
    view = raw.via_array_slice(repeated, (BIG - 1,), (1,), (1,))
    assert raw.via_array_shape(view) == (1,)
    note("via_array_slice", "start")
    assert raw.via_array_shape(raw.via_array_slice(repeated, None, (BIG - 7,), None)) == (BIG - 7,)
    note("via_array_slice", "count")
    assert raw.via_array_shape(raw.via_array_slice(repeated, None, (1,), (BIG,))) == (1,)
    note("via_array_slice", "step")
    one = raw.via_array_reshape(raw.via_array_select(repeated, 0, BIG - 1), (1,))
    note("via_array_select", "index")
    assert raw.via_array_shape(raw.via_array_broadcast(one, (BIG,))) == (BIG,)
    note("via_array_broadcast", "shape")
    empty = raw.via_wrap(address, raw.VIA_INT8, (0,), None, 1, 0, 0, None, None)
    assert raw.via_array_shape(raw.via_array_reshape(empty, (BIG, 0))) == (BIG, 0)
    note("via_array_reshape", "shape")
    assert raw.via_array_shape(raw.via_empty(None, raw.VIA_INT8, (BIG, 0), None)) == (BIG, 0)
    note("via_empty", "shape")

    # The refusal holds the number.
    assert str(BIG) in message_of(raw.via_array_field, a, BIG, raw.VIA_INT8, ())
    note("via_array_field", "byte_offset")
    assert str(BIG) in message_of(raw.via_array_field, a, 0, raw.VIA_INT8, (BIG,))
    note("via_array_field", "shape")
    assert raw.via_dtype_record(12) == -12 and raw.via_dtype_record((1 << 32) + 12) == 0
    note("via_dtype_record", "nbytes")
    assert str(-BIG) in message_of(raw.via_memcpy, address, address, -BIG, None)
    note("via_memcpy", "nbytes")

    # Cut to 32 bits, the length would be that of the description.
    shared = raw.via_array_export_ipc(via.empty(4, "int8", memory="shared"))
    (tmp_path / "longer").write_bytes(shared)
    os.truncate(tmp_path / "longer", (1 << 32) + len(shared))
    with (tmp_path / "longer").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as longer:
        assert "their number" in message_of(raw.via_array_import_ipc, longer)
    note("via_array_import_ipc", "length")

    # A number of no tensor.
    (tmp_path / "none.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    archive = raw.via_archive_open(tmp_path / "none.safetensors", None)
    assert raw.via_archive_name(archive, BIG) is None
    note("via_archive_name", "number")
    assert raw.via_archive_type_name(archive, BIG) is None
    note("via_archive_type_name", "number")
    assert str(BIG) in message_of(raw.via_archive_file, archive, BIG)
    note("via_archive_file", "number")
    assert str(BIG) in message_of(raw.via_archive_select, archive, (BIG,))
    note("via_archive_select", "numbers")
    assert str(BIG) in message_of(raw.via_archive_array, archive, BIG, a)
    note("via_archive_array", "number")
    assert str(BIG) in message_of(raw.via_archive_slice, archive, BIG, 0, 0, 0)
    note("via_archive_slice", "number")
    assert str(BIG) in message_of(raw.via_archive_convert, archive, BIG, raw.VIA_FLOAT32, None)
    note("via_archive_convert", "number")
    (tmp_path / "one.safetensors").write_bytes(
        (64).to_bytes(8, "little") + b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'.ljust(64) + b"1"
    )
    one = raw.via_archive_open(tmp_path / "one.safetensors", None)
    assert str(BIG) in message_of(raw.via_archive_slice, one, 0, 0, BIG, 0)
    note("via_archive_slice", "start")
    assert str(BIG) in message_of(raw.via_archive_slice, one, 0, 0, 0, BIG)
    note("via_archive_slice", "count")
    for save in (raw.via_archive_save, raw.via_archive_save_submit):
        assert str(-BIG) in message_of(save, tmp_path / "none", [], [], None, -BIG, None, None)
        note(save.__name__, "shard_bytes")

    # No file opens in this version; the parameters are read by the same typemaps.
    for name, parameters in FILES.items():
        for parameter in parameters:
            note(name, parameter)

    for name, (_, parameters) in FUNCTIONS.items():
        wanted = {p.split()[-1].lstrip("*") for p in parameters if re.fullmatch(COUNTED, p)} - {"capacity"}
        assert seen.get(name, set()) == wanted, name


FILES = {
    "via_file_create": ["shape"],
    "via_file_window": ["byte_offset", "shape", "starts", "counts", "steps"],
    "via_file_array": ["byte_offset", "shape"],
    "via_file_read": ["byte_offset"],
    "via_file_write": ["byte_offset"],
    "via_file_read_submit": ["byte_offset"],
    "via_file_write_submit": ["byte_offset"],
}


def test_more_than_64_bits_is_an_overflow() -> None:
    with pytest.raises(OverflowError):
        raw.via_array_select(grid(), 0, 1 << 63)
    with pytest.raises(OverflowError):
        raw.via_array_reshape(grid(), (1 << 63,))
    with pytest.raises(OverflowError):
        raw.via_array_select(grid(), 1 << 31, 0)


# ----------------------------------------------------------------------------------------- types of arguments


def test_addresses_are_integers() -> None:
    values = numbers(4)
    a = raw.via_wrap(ctypes.addressof(values), raw.VIA_FLOAT32, (4,), None, 1, 0, 0, None, None)
    assert raw.via_array_data(a) == ctypes.addressof(values)
    assert raw.via_pointer_query(a.ptr)["device_type"] == raw.VIA_DEVICE_CPU
    with pytest.raises(TypeError, match="via_wrap: address is of type str"):
        raw.via_wrap("here", raw.VIA_FLOAT32, (4,), None, 1, 0, 0, None, None)


def test_a_release_function_of_c_is_called() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    block = library.malloc(64)
    release = ctypes.cast(library.free, ctypes.c_void_p).value
    a = raw.via_wrap(block, raw.VIA_FLOAT32, (16,), None, 1, 0, 0, release, block)
    assert raw.via_array_context(a, release) == block
    assert raw.via_array_context(a, 4096) == 0
    a.fill(1)


@pytest.mark.parametrize("name", ["via_file_array", "via_file_window"])
def test_a_file_that_is_closed_meanwhile_stays_open_for_the_call(tmp_path: Path, name: str) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    file = raw.via_file_open(str(path), None)
    stayed: list[bool] = []

    def is_open() -> bool:
        return any(str(path) == os.path.realpath(link) for link in Path("/proc/self/fd").iterdir())

    class Closing:
        """An extent that closes the file once the call has read what file it is given."""

        def __index__(self) -> int:
            file.close()
            stayed.append(is_open())
            return 4

    nothing = (None, None, None) if name == "via_file_window" else ()
    made = getattr(raw, name)(file, 2, raw.VIA_UINT8, (Closing(),), *nothing)
    assert stayed == [True] and file.closed
    read = made if isinstance(made, via.Array) else made.read(dtype="uint8", shape=4)
    assert read.tolist() == [2, 3, 4, 5]
    del made, read
    assert not is_open()


def test_tensors_are_addresses() -> None:
    a = grid()
    tensor = raw.via_to_dlpack(a, {"max_major": 1, "copy": raw.VIA_COPY_NEVER}, None)
    back = raw.via_from_dlpack(tensor, None, None)
    assert back.ptr == a.ptr
    raw.via_dlpack_delete(raw.via_to_dlpack(a, None, None))
    raw.via_dlpack_delete_legacy(raw.via_to_dlpack_legacy(a, None, None))


def test_structs_are_dicts() -> None:
    a = grid()
    description = raw.via_to_array_interface(a)
    assert description["address"] == a.ptr and description["shape"] == (3, 4) and description["typestr"] == "<f4"
    b = raw.via_from_array_interface(description, None, None)
    assert b.tolist() == a.tolist()
    with pytest.raises(ValueError, match="the dict has a field 'colour'; expected"):
        raw.via_to_dlpack(a, {"colour": 1}, None)
    with pytest.raises(OverflowError, match=": copy is "):
        raw.via_to_dlpack(a, {"copy": BIG}, None)
    with pytest.raises(TypeError, match="of type int; expected a dict"):
        raw.via_to_dlpack(a, 7, None)


class Clearing:
    """A value that empties the dict it is in, and fills the memory of what went, before it says what it is."""

    def __init__(self, options: dict[str, Any], value: int) -> None:
        self.options, self.value = options, value

    def __index__(self) -> int:
        self.options.clear()
        self.after = [bytes(each) for each in range(64)] + [self.value + each for each in range(1000, 1064)]
        return self.value


def test_a_dict_that_changes_as_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(8))
    for _ in range(20):
        options: dict[str, Any] = {}
        for name in ("durable", "mode", "column_major", "page_cache"):
            options[name] = Clearing(options, int(name == "mode"))
        file = raw.via_file_open(str(path), options)
        assert raw.via_file_info(file)["nbytes"] == 8
        file.array()[0] = 7  # the mode was read too
    a = grid()
    described: dict[str, Any] = raw.via_to_array_interface(a)
    described["version"], described["shape"] = Clearing(described, 3), (Clearing(described, 3), Clearing(described, 4))
    assert raw.via_from_array_interface(described, None, None).shape == (3, 4)


def test_device_info_and_counts() -> None:
    assert raw.via_device_count(raw.VIA_DEVICE_CPU) == 1
    assert raw.via_device_count(raw.VIA_DEVICE_CUDA) == 0
    info = raw.via_device_info(raw.VIA_DEVICE_CPU, 0)
    assert info["num_threads"] >= 1 and info["total_bytes"] > 0 and info["routes"]


def test_null_is_refused_where_it_may_not_be_and_a_getter_says_nothing() -> None:
    with pytest.raises(ValueError, match="via_copy: dst"):
        raw.via_copy(None, grid())
    assert raw.via_array_ndim(None) == 0
    assert raw.via_array_shape(None) is None


def test_handles_of_another_kind_are_refused() -> None:
    for call in (
        lambda: raw.via_copy(7, grid()),
        lambda: raw.via_empty(grid(), raw.VIA_INT8, (4,), None),
        lambda: raw.via_stream_synchronize(grid()),
        lambda: raw.via_task_wait(raw.via_stream_legacy()),
    ):
        with pytest.raises(TypeError, match="is of type"):
            call()


def test_the_shared_streams_are_borrowed() -> None:
    for make in (raw.via_stream_legacy, raw.via_stream_per_thread, raw.via_stream_no_sync):
        assert isinstance(make(), via.Stream)


def test_what_needs_cuda_says_so() -> None:
    a = grid()
    stream = raw.via_stream_legacy()
    for call in (
        lambda: raw.via_cuda_warmup(0),
        lambda: raw.via_calibrate(0),
        lambda: raw.via_stream_create(0),
        lambda: raw.via_event_create(0),
        lambda: raw.via_copy_async(a, a.copy(), stream),
        lambda: raw.via_copy_batch([a], [a.copy()], stream),
        lambda: raw.via_array_record_stream(a, stream),
        lambda: via.copy(a, a.copy(), stream=stream),
        lambda: via.memory("device", "cuda:0"),
    ):
        with pytest.raises((NotImplementedError, RuntimeError)):
            call()


def test_a_task_between_host_arrays_needs_no_cuda() -> None:
    a = grid()
    b = via.empty((3, 4), "float32")
    task = raw.via_copy_submit(b, a, None)
    raw.via_task_wait(task)
    assert raw.via_task_poll(task) == 1 and raw.via_task_progress(task) == (48, 48)
    assert b.tolist() == a.tolist()


def test_host_arrays_are_copied_without_a_stream_and_without_cuda() -> None:
    a = grid()
    for copy in (
        lambda b: raw.via_copy_async(b, a, None),
        lambda b: raw.via_copy_batch([b], [a], None),
        lambda b: raw.via_copy_batch([b, via.empty(0, "uint8")], [a, via.empty(0, "uint8")], None),
    ):
        b = via.empty((3, 4), "float32")
        copy(b)
        assert b.tolist() == a.tolist()
    batch, b, c = raw.via_batch_create(), via.empty((3, 4), "float32"), via.empty((3, 4), "float32")
    raw.via_batch_add(batch, b, a)
    raw.via_batch_add(batch, c, a)
    raw.via_batch_run(batch, None)
    assert b.tolist() == c.tolist() == a.tolist()


def test_batches_of_arrays_must_match() -> None:
    a = grid()
    with pytest.raises(ValueError, match="srcs has 0 arrays; expected 1"):
        raw.via_copy_batch([a], [], None)
    with pytest.raises(TypeError, match="dsts.*expected a sequence of Arrays"):
        raw.via_copy_batch(7, [], None)


def test_dtype_functions() -> None:
    assert raw.via_dtype_from_name("float32") == raw.VIA_FLOAT32
    assert raw.via_dtype_name(raw.VIA_BFLOAT16) == "bfloat16"
    assert raw.via_dtype_bits(raw.VIA_FLOAT4_E2M1FN) == 4
    assert raw.via_status_name(3) == "VIA_ERROR_SHAPE"
