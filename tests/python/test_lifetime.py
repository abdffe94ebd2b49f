"""Memory is released exactly once, after its last user, on whichever thread, even as the interpreter ends."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import grid, is_gone, numbers, peer
from repeats import repeats
from tensors import Producer, capsule_name, open_capsule


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1


def counted(counter: Counter, **options: Any) -> via.Array:
    values = numbers(12)
    return via.wrap(ctypes.addressof(values), (3, 4), "float32", owner=values, release=counter, **options)


def run_python(program: str, *, code: int = 0) -> str:
    """Runs a program that may import the modules next to this one."""
    program = f"import sys; sys.path[:0] = {sys.path!r}\n{program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def delete_without_gil(tensor: int) -> None:
    """Calls a tensor's deleter on another thread that has never heard of Python."""
    library = ctypes.CDLL(None)
    create, join = library.pthread_create, library.pthread_join
    join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    thread = ctypes.c_ulong()
    deleter = ctypes.c_void_p.from_address(tensor + 16)
    assert create(ctypes.byref(thread), None, deleter, ctypes.c_void_p(tensor)) == 0
    assert join(thread, None) == 0


def steal(a: via.Array) -> int:
    """The tensor of a capsule that has been marked as used, as a consumer in C does."""
    capsule = a.__dlpack__(max_version=(1, 0))
    tensor = ctypes.addressof(open_capsule(capsule))
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
    return tensor


# --------------------------------------------------------------------------------------------------- exactly once


def test_release_is_called_once_after_the_last_view() -> None:
    counter = Counter()
    a = counted(counter)
    views = [a[0], a.T, a.reshape(12), a.as_readonly(), a.view("int32"), a[1:, 2].expand_dims(0)]
    del a
    while views:
        assert counter.calls == 0
        views.pop()
    assert counter.calls == 1


def test_release_is_called_once_after_the_last_export() -> None:
    numpy = peer("numpy")
    counter = Counter()
    a = counted(counter)
    arrays = [numpy.from_dlpack(a), numpy.asarray(a), memoryview(a), a.__dlpack__(), via.asarray(numpy.asarray(a))]
    del a
    while arrays:
        assert counter.calls == 0
        arrays.pop()
    assert counter.calls == 1


def test_release_is_not_called_when_wrap_fails() -> None:
    counter = Counter()
    good: dict[str, Any] = {"ptr": 4096, "shape": (4,), "dtype": "float32", "release": counter}
    for bad in ({"shape": (-1,)}, {"strides": (1 << 62,)}, {"device": "cuda:0"}, {"dtype": 0}, {"ptr": 0}):
        with pytest.raises(via.Error):
            via.wrap(**good | bad)
    assert counter.calls == 0


def test_an_owner_is_not_held_after_wrap_fails() -> None:
    class Owner:
        pass

    owner = Owner()
    reference = weakref.ref(owner)
    with pytest.raises(via.ShapeError):
        via.wrap(4096, (-1,), "float32", owner=owner)
    del owner
    assert reference() is None


def test_a_release_that_raises_is_reported_and_does_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    reports: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, reports.append
    try:

        def fail() -> None:
            raise RuntimeError("refuses to end")

        values = numbers(4)
        a = via.wrap(ctypes.addressof(values), 4, "float32", owner=values, release=fail)
        del a
    finally:
        sys.unraisablehook = hook
    assert [str(report.exc_value) for report in reports] == ["refuses to end"]


def test_a_release_leaves_the_exception_of_the_moment_alone() -> None:
    counter = Counter()
    with pytest.raises(ZeroDivisionError):
        a = counted(counter)
        try:
            1 / 0  # noqa: B018
        finally:
            del a
    assert counter.calls == 1


def test_a_deleter_in_python_does_not_swallow_the_exception_on_its_way() -> None:
    """What fails on an array that nobody else holds ends that array with the exception already set."""
    producers = [Producer() for _ in range(5)]
    with pytest.raises(BufferError, match="99"):
        via.from_dlpack(producers[0].capsule()).__dlpack__(dl_device=(99, 0))
    with pytest.raises(TypeError, match="int"):
        dict.fromkeys(5, via.from_dlpack(producers[1].capsule()).__dlpack__())  # type: ignore[call-overload]
    batches = [via.raw.via_batch_create()]
    via.raw.via_batch_add(batches[0], via.empty((2, 3), "float32"), via.from_dlpack(producers[2].capsule()))
    with pytest.raises(TypeError, match="int"):
        dict.fromkeys(5, batches.pop())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="int"):
        dict.fromkeys(5, via.from_dlpack(producers[3].capsule()).__arrow_c_array__())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="int"):
        dict.fromkeys(5, via.from_dlpack(producers[4].capsule()).__arrow_c_device_array__())  # type: ignore[call-overload]
    assert [producer.deleted for producer in producers] == [1] * 5


def test_a_release_may_use_the_package() -> None:
    seen: list[int] = []
    values = numbers(4)
    address = ctypes.addressof(values)
    a = via.wrap(address, 4, "float32", release=lambda: seen.append(via.wrap(address, 4, "float32").size))
    del a
    assert seen == [4]


def test_an_unconsumed_capsule_frees_its_tensor() -> None:
    for keywords in ({}, {"max_version": (1, 0)}):
        counter = Counter()
        a = counted(counter)
        capsule = a.__dlpack__(**keywords)
        del a
        assert counter.calls == 0
        del capsule
        assert counter.calls == 1


def test_a_consumed_capsule_frees_nothing_a_second_time() -> None:
    for keywords in ({}, {"max_version": (1, 0)}):
        counter = Counter()
        a = counted(counter)
        capsule = a.__dlpack__(**keywords)
        b = via.from_dlpack(capsule)
        del a, capsule
        assert counter.calls == 0 and b.tolist()[2][3] == 11
        del b
        assert counter.calls == 1


def test_a_capsule_can_be_taken_once() -> None:
    capsule = grid().__dlpack__(max_version=(1, 0))
    first = via.from_dlpack(capsule)
    with pytest.raises(BufferError, match="used_dltensor_versioned"):
        via.from_dlpack(capsule)
    del first


@pytest.mark.parametrize("legacy", [False, True])
def test_a_capsule_is_used_while_it_is_being_taken(legacy: bool) -> None:
    """An import that copies deletes the tensor before it returns."""

    class Again(Producer):
        refusal = ""

        def _delete(self, managed: int) -> None:
            super()._delete(managed)
            try:
                via.from_dlpack(capsule)
            except BufferError as error:
                self.refusal = str(error)

    producer = Again(legacy=legacy)
    capsule = producer.capsule()
    assert via.from_dlpack(capsule, copy=True).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert producer.deleted == 1 and "used_dltensor" in producer.refusal


@pytest.mark.parametrize("legacy", [False, True])
def test_a_capsule_that_was_refused_may_be_offered_again(legacy: bool) -> None:
    producer = Producer(shape=(-1, 3), legacy=legacy)
    capsule = producer.capsule()
    for _ in range(2):
        with pytest.raises(via.ShapeError):
            via.from_dlpack(capsule)
    assert producer.deleted == 0 and capsule_name(capsule) == (b"dltensor" if legacy else b"dltensor_versioned")


def test_the_deleter_of_an_import_is_called_once_after_the_last_view() -> None:
    for legacy in (False, True):
        producer = Producer(legacy=legacy)
        a = via.from_dlpack(producer.capsule())
        row = a[0]
        del a
        assert producer.deleted == 0
        del row
        assert producer.deleted == 1


def test_an_import_that_copies_deletes_at_once() -> None:
    producer = Producer()
    a = via.from_dlpack(producer.capsule(), copy=True)
    assert producer.deleted == 1
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert a.ptr != producer.address


def test_a_null_deleter_is_no_trouble() -> None:
    for legacy in (False, True):
        producer = Producer(has_deleter=False, legacy=legacy)
        a = via.from_dlpack(producer.capsule())
        assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
        del a
        assert producer.deleted == 0


def test_weak_references_end_with_the_array() -> None:
    a = grid()
    reference = weakref.ref(a)
    assert reference() is a
    del a
    assert reference() is None


def handles_of(path: Path) -> Iterator[Any]:
    a, b = grid(), grid()
    yield via.copy_submit(a, b)
    yield via.Batch()
    yield via.memory("host")
    via.save(path / "a.npy", a)
    yield via.open(path / "a.npy")
    via.save(path / "a.safetensors", {"a": a})
    yield via.Archive(path / "a.safetensors")


def test_weak_references_end_with_other_handles(tmp_path: Path) -> None:
    for handle in handles_of(tmp_path):
        reference = weakref.ref(handle)
        assert reference() is handle
        del handle
        assert reference() is None


# -------------------------------------------------------------------------------------------------- other threads


def test_an_owner_released_without_the_gil_is_released_by_the_main_thread() -> None:
    released_on: list[int] = []
    values = numbers(12)
    a = via.wrap(
        ctypes.addressof(values), 12, "float32", owner=values, release=lambda: released_on.append(threading.get_ident())
    )
    tensor = steal(a)
    del a
    delete_without_gil(tensor)
    via.stats()
    assert released_on == [threading.main_thread().ident]


@pytest.mark.heavy
def test_an_owner_released_without_the_gil_is_released_without_another_call() -> None:
    program = """
import ctypes, sys, time
from test_lifetime import Counter, counted, delete_without_gil, steal
counter = Counter()
tensor = steal(counted(counter))
delete_without_gil(tensor)
deadline = time.monotonic() + 20
while counter.calls == 0 and time.monotonic() < deadline:
    time.sleep(0.001)
print(counter.calls)
"""
    assert run_python(program).strip() == "1"


def test_an_owner_released_by_a_python_thread_is_released_there() -> None:
    released_on: list[int] = []
    values = numbers(12)
    held = [
        via.wrap(
            ctypes.addressof(values),
            12,
            "float32",
            owner=values,
            release=lambda: released_on.append(threading.get_ident()),
        )
    ]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert released_on == [thread.ident]


def test_many_threads_releasing_release_each_owner_once() -> None:
    counters = [Counter() for _ in range(400)]
    tensors = [steal(counted(counter)) for counter in counters]

    def release(part: list[int]) -> None:
        for tensor in part:
            # ctypes gives the GIL up for the call, so these deleters run next to each other.
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(tensor + 16).value)(tensor)

    threads = [threading.Thread(target=release, args=(tensors[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    via.stats()
    assert [counter.calls for counter in counters] == [1] * 400


def test_a_producer_without_python_is_deleted_without_python() -> None:
    """Memory that the library allocated needs no interpreter to be freed: it is gone before the next Python call."""
    a = via.empty((4,), "float32")
    bytes_before = via.raw.via_stats()["host_bytes"]
    tensor = steal(a)
    del a
    delete_without_gil(tensor)
    assert via.raw.via_stats()["host_bytes"] == bytes_before - 16


def test_torch_workers_may_release() -> None:
    torch = peer("torch")
    counter = Counter()
    a = counted(counter)
    tensors = [torch.from_dlpack(a)]
    del a
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    via.stats()
    assert counter.calls == 1


# ------------------------------------------------------------------------------------------- the end of the program


# A function of the program would hold the program's globals, and so the array that holds it: such cycles stay.
SETUP = """
import ctypes, functools, sys
import viaduct as via
values = (ctypes.c_float * 12)(*range(12))
release = functools.partial(print, "released")
a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=release)
"""


def test_a_program_may_end_while_arrays_live() -> None:
    run_python(SETUP + "b = a[1:]; view = memoryview(a)")


def test_a_program_may_end_while_others_hold_exports() -> None:
    peer("numpy")
    run_python(SETUP + "import numpy; n = numpy.from_dlpack(a); sys.held = numpy.asarray(a)")


def test_a_program_may_end_while_torch_and_jax_hold_exports() -> None:
    peer("torch")
    peer("jax")
    run_python(
        "import os; os.environ['JAX_PLATFORMS'] = 'cpu'\n" + SETUP + "import torch, jax.numpy as jnp\n"
        "sys.t = torch.from_dlpack(a); sys.j = jnp.from_dlpack(a)"
    )


def test_a_program_may_end_while_a_cycle_holds_an_array() -> None:
    run_python(SETUP + "class C: pass\nc = C(); c.me = c; c.a = a")


def test_a_deleter_called_after_the_end_neither_crashes_nor_waits() -> None:
    """A thread of C releases the last reference when the interpreter is gone. Nothing can be released safely, so nothing is."""
    output = run_python(
        SETUP
        + """
from test_lifetime import steal
tensor = steal(a)
deleter = ctypes.c_void_p.from_address(tensor + 16).value
# An exit handler of C runs after the interpreter has ended, on a thread without a Python state.
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(tensor), None)
print("ending", flush=True)
"""
    )
    assert output == "ending\n"


@pytest.mark.heavy
def test_a_thread_may_release_while_the_program_ends() -> None:
    """The race of a deleter with finalization, from both sides."""
    program = (
        SETUP
        + """
import threading, time
from test_lifetime import Counter, counted, steal
tensors = [steal(counted(Counter())) for _ in range(COUNT)]
def release():
    for tensor in tensors:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(tensor + 16).value)(tensor)
threading.Thread(target=release, daemon=True).start()
time.sleep(PAUSE)
"""
    )
    for pause in (0.0, 0.002, 0.01):
        run_python(program.replace("PAUSE", repr(pause)).replace("COUNT", str(repeats(20000))))


def test_a_copy_may_run_while_the_program_ends() -> None:
    run_python(
        """
import threading, time
import viaduct as via
a, b = via.empty((64 << 20,), "uint8"), via.empty((64 << 20,), "uint8")
def work():
    while True:
        via.copy(a, b)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
    )


def test_a_child_of_fork_may_use_and_end_what_its_parent_made() -> None:
    output = run_python(
        SETUP
        + """
import os
b = via.empty((1 << 20,), "uint8")
b.fill(7)
child = os.fork()
if child == 0:
    c = b.copy()
    assert c[12345].item() == 7
    del a, b, c
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    )
    assert output.count("released") == 2  # the child's, and the parent's at its end


def test_a_release_at_the_end_of_the_program_still_runs() -> None:
    assert run_python(SETUP) == "released\n"


def test_importing_in_a_subinterpreter_is_refused_in_words() -> None:
    names = ("_interpreters", "_xxsubinterpreters")  # by the version of Python
    name = next((name for name in names if importlib.util.find_spec(name)), None)
    if name is None:
        pytest.skip("this Python has no subinterpreters for programs")
    output = run_python(f"""
import {name} as sub
interpreter = sub.create()
sub.run_string(interpreter, '''
try:
    import viaduct
except ImportError as error:
    print(error)
''')
sub.destroy(interpreter)
""")
    assert re.search("viaduct.*subinterpreter", output)


def test_garbage_that_holds_arrays_is_collected() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.me = holder  # type: ignore[attr-defined]
    holder.array = grid()  # type: ignore[attr-defined]
    reference = weakref.ref(holder)
    del holder
    gc.collect()
    assert is_gone(reference)
