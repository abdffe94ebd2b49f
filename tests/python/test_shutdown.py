"""The end of the interpreter, other interpreters, forks, and exceptions where nobody can catch them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import numbers, peer
from tensors import Producer
from test_lifetime import Counter, counted, delete_without_gil, run_python, steal

# ------------------------------------------------------------------------------------------- the end of the program


@pytest.mark.heavy
def test_exit_handlers_may_use_the_library_whether_they_run_before_or_after_its_own() -> None:
    """Those registered before the import run last: what they released without the GIL stays, and nothing else differs."""
    output = run_python("""
import atexit
def late():
    a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=lambda: print("released late"))
    b = via.empty(12, "float32")
    via.copy(b, a)
    print(b.tolist()[11], via.from_dlpack(a).size)
    tensor = steal(b)
    del a, b
    delete_without_gil(tensor)
    print(via.stats()["outstanding_exports"])
atexit.register(late)
import ctypes
import viaduct as via
from test_lifetime import delete_without_gil, steal
atexit.register(late)
values = (ctypes.c_float * 12)(*range(12))
""")
    assert output == "11.0 12\nreleased late\n0\n" * 2


def test_exit_handlers_that_run_after_its_own_may_wait_for_callbacks() -> None:
    """No thread calls back any more then."""
    output = run_python("""
import atexit
def late():
    a, b = via.ones(1 << 26, "uint8"), via.empty(1 << 26, "uint8")
    called = threading.Event()
    via.copy_submit(b, a).add_done_callback(lambda task: called.set())
    print(called.wait(20))
    async def wait(): await via.copy_submit(a, b)
    asyncio.run(asyncio.wait_for(wait(), 20))
    print("awaited")
atexit.register(late)
import asyncio, threading
import viaduct as via
""")
    assert output == "True\nawaited\n"


def test_a_release_that_raises_as_the_program_ends_is_reported_on_standard_error() -> None:
    output = run_python("""
import ctypes, functools
import viaduct as via
values = (ctypes.c_float * 12)(*range(12))
a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=functools.partial(int, "no number"))
""")
    assert "Exception ignored" in output and "ValueError" in output and "no number" in output


def test_blocks_of_an_allocator_in_python_may_live_as_the_program_ends() -> None:
    output = run_python("""
import ctypes, sys
import viaduct as via
blocks = {}
def alloc(nbytes, alignment, stream):
    block = ctypes.create_string_buffer(nbytes + alignment)
    address = -(-ctypes.addressof(block) // alignment) * alignment
    blocks[address] = block
    return address
memory = via.memory(alloc=alloc, free=lambda address, nbytes, stream: blocks.pop(address))
arrays = [via.empty(1000, "float32", memory=memory) for _ in range(4)]
sys.held = [arrays[0][1:], memoryview(arrays[1]), arrays[2].__dlpack__()]
class Cycle: pass
cycle = Cycle(); cycle.me = cycle; cycle.array = arrays[3]
""")
    assert output == ""


def test_arrays_may_be_held_by_whatever_lives_longest() -> None:
    assert "released" in run_python("""
import builtins, ctypes, functools, sys, threading
import viaduct as via
values = (ctypes.c_float * 12)(*range(12))
def make(name):
    return via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=functools.partial(print, name))
class Holder:
    array = make("released by a class")
    def __del__(self):
        self.array[0] = 1
        print(self.array[0].item(), via.from_dlpack(self.array).size)
local = threading.local()
local.array = make("released by a thread's own")
builtins.array = make("released by builtins")
sys.modules["a module of arrays"] = make("released by sys.modules")
def generator():
    array = make("released by a generator")
    yield array
running = generator(); next(running)
holder = Holder()
""")


@pytest.mark.heavy
def test_a_daemon_thread_may_make_export_and_release_while_the_program_ends() -> None:
    peer("numpy")
    for pause in (0.0, 0.01):
        run_python(f"""
import ctypes, functools, threading, time
import numpy, viaduct as via
values = (ctypes.c_float * 12)(*range(12))
started = threading.Event()
def work():
    while True:
        a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=functools.partial(int))
        n = numpy.from_dlpack(a)
        b = via.from_dlpack(n[::2]).copy()
        del a, n, b
        started.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep({pause})
""")


def test_a_daemon_thread_may_be_inside_a_release_in_python_as_the_interpreter_ends() -> None:
    """CPython before 3.14 unwinds it when it asks for the GIL, out of the release and all that called it."""
    run_python("""
import ctypes, sys, threading, time, types
import viaduct as via
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)  # without the GIL, in the middle of the end
sys.modules["late"] = types.ModuleType("late")
sys.modules["late"].held = Late()
inside = threading.Event()
values = (ctypes.c_float * 12)(*range(12))
def release():
    inside.set()
    time.sleep(0.25)
def work():
    a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=release)
    del a
threading.Thread(target=work, daemon=True).start()
inside.wait()
""")


def test_tasks_of_the_host_may_run_while_the_program_ends() -> None:
    run_python("""
import viaduct as via
a, b = via.empty((64 << 20,), "uint8"), via.empty((64 << 20,), "uint8")
tasks = [via.copy_submit(b, a) for _ in range(4)]
for task in tasks:
    task.add_done_callback(lambda task: print("called"))
""")


# ------------------------------------------------------------------------------------------------------------- forks


def test_a_child_of_fork_ends_like_any_other_program() -> None:
    """By sys.exit(), with its exit handlers and the releases of what it inherited."""
    output = run_python("""
import ctypes, functools, os, sys, warnings
import viaduct as via
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # since Python 3.12
values = (ctypes.c_float * 12)(*range(12))
a = via.wrap(ctypes.addressof(values), 12, "float32", owner=values, release=functools.partial(print, "released"))
task = via.copy_submit(via.empty(1 << 20, "uint8"), via.asarray(bytearray(1 << 20)))
task.wait()
child = os.fork()
if child == 0:
    via.copy_submit(via.empty(1 << 20, "uint8"), via.asarray(bytearray(1 << 20))).wait()
    print("child", via.from_dlpack(a).size, flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", flush=True)
""")
    assert output == "child 12\nreleased\nparent\nreleased\n"


def test_a_fork_in_the_middle_of_other_threads_copies_leaves_both_sides_working() -> None:
    run_python("""
import os, threading
import viaduct as via
a, b = via.empty(8 << 20, "uint8"), via.empty(8 << 20, "uint8")
going = True
def work():
    while going:
        via.copy(b, a)
        via.from_dlpack(a.__dlpack__())
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        c = via.empty(8 << 20, "uint8")
        c.fill(3)
        assert c.copy()[8191].item() == 3
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
going = False
for thread in threads: thread.join()
""")


def test_a_child_that_is_forked_in_a_callback_goes_on_after_it() -> None:
    output = run_python("""
import os, threading, warnings
import viaduct as via
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # since Python 3.12
status, called = [], threading.Event()
def fork(task):
    child = os.fork()
    if child == 0:
        threading.Timer(0.2, os._exit, [0]).start()  # after the callback has returned
        return
    status.append(os.waitpid(child, 0)[1])
    called.set()
task = via.copy_submit(via.empty(1 << 24, "uint8"), via.empty(1 << 24, "uint8"))
task.add_done_callback(fork)
called.wait(20)
print(status)
""")
    assert output == "[0]\n"


def test_a_batch_that_ran_on_another_thread_takes_copies_in_a_child() -> None:
    output = run_python("""
import os, threading, warnings
import viaduct as via
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # since Python 3.12
large, other = via.empty(1 << 28, "uint8"), via.empty(1 << 28, "uint8")
a, b = via.zeros(4, "uint8"), via.ones(4, "uint8")
batch, going = via.Batch(), threading.Event()
for _ in range(4): batch.add(large, other)
def run():
    going.set()
    batch.run()
thread = threading.Thread(target=run)
thread.start()
going.wait()
child = os.fork()
if child == 0:
    batch.add(a, b)
    threads = [threading.Thread(target=sorted, args=(range(1000),)) for _ in range(4)]  # on the stacks of the old ones
    for each in threads: each.start()
    for each in threads: each.join()
    fresh = via.Batch()
    fresh.add(a, b)
    fresh.run()
    print(a.tolist(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
""")
    assert output == "[1, 1, 1, 1]\n"


# ------------------------------------------------------------------------------------------------ other interpreters


def other_pythons() -> list[str]:
    """Interpreters of this machine that are newer than this one, by name or next to it."""
    found: dict[str, str] = {}
    for minor in range(sys.version_info.minor + 1, 20):
        name = f"python3.{minor}"
        neighbour = sorted(Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/{name}"))
        path = str(neighbour[-1]) if neighbour else shutil.which(name)
        if path and subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode == 0:
            found[name] = path
    return list(found.values())


ISOLATED = """
import sys
sys.path[:0] = PATH
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
import viaduct as via
a = via.empty(4, "float32")
interpreter = sub.create()
sub.run_string(interpreter, '''
try:
    import viaduct
except ImportError as error:
    print("refused:", error)
''')
sub.destroy(interpreter)
print(via.from_dlpack(a.__dlpack__()).size)
"""


def test_an_interpreter_with_a_gil_of_its_own_refuses_to_import_it() -> None:
    """As CPython 3.12 and newer make them. The interpreter that has the library goes on."""
    pythons = other_pythons()
    if not pythons:
        pytest.skip("there is no Python newer than this one next to it")
    package = str(Path(via.__file__).parents[1])
    for python in pythons:
        program = ISOLATED.replace("PATH", repr([package]))
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("refused:") and "subinterpreter" in done.stdout and done.stdout.endswith("4\n")


def test_a_python_without_the_gil_takes_no_wheel_of_this_kind() -> None:
    """The package is built for the stable ABI, which free-threaded Pythons up to 3.14 have not got: pip says so there."""
    tags = pytest.importorskip("packaging.tags", reason="packaging is not installed")
    ours = tags.Tag("cp311", "abi3", "linux_x86_64")
    assert ours in tags.cpython_tags((3, 13), ["cp313"], ["linux_x86_64"])
    assert ours not in tags.cpython_tags((3, 13), ["cp313t"], ["linux_x86_64"])


# -------------------------------------------------------------------------------- exceptions that nobody can catch


class Hook:
    """What sys.unraisablehook receives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reported: list[str] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda report: self.reported.append(str(report.exc_value)))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Hook:
    return Hook(monkeypatch)


def failing(kind: type[BaseException] = RuntimeError) -> Any:
    def release() -> None:
        raise kind("refuses to end")

    return release


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_whatever_a_release_raises_is_reported_once(kind: type[BaseException], hook: Hook) -> None:
    a = counted(failing(kind))
    del a
    assert hook.reported == ["refuses to end"]


def test_what_a_release_raises_on_behalf_of_a_thread_of_c_is_reported_by_the_main_thread(hook: Hook) -> None:
    tensor = steal(counted(failing()))
    delete_without_gil(tensor)
    via.stats()
    assert hook.reported == ["refuses to end"]


def test_releases_behind_one_that_raises_still_run(hook: Hook) -> None:
    counters = [Counter() for _ in range(3)]
    tensors = [steal(counted(release)) for release in (counters[0], failing(), counters[1], failing(), counters[2])]
    for tensor in tensors:
        delete_without_gil(tensor)
    via.stats()
    assert [counter.calls for counter in counters] == [1, 1, 1]
    assert hook.reported == ["refuses to end"] * 2


def test_an_owner_whose_end_raises_is_reported_and_does_no_harm(hook: Hook) -> None:
    class Owner:
        def __init__(self) -> None:
            self.values = numbers(4)

        def __del__(self) -> None:
            raise RuntimeError("an owner that fails")

    owner = Owner()
    a = via.wrap(ctypes.addressof(owner.values), 4, "float32", owner=owner)
    del owner, a
    assert hook.reported == ["an owner that fails"]


def test_a_release_that_raises_on_a_thread_of_python_is_reported_there(hook: Hook) -> None:
    held = [counted(failing())]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert hook.reported == ["refuses to end"]


def test_a_deleter_of_a_producer_that_raises_is_reported_and_does_no_harm(hook: Hook) -> None:
    class Failing(Producer):
        def _delete(self, _managed: int) -> None:
            super()._delete(_managed)
            raise RuntimeError("a deleter that fails")

    producer = Failing()
    a = via.from_dlpack(producer.capsule())
    del a
    assert producer.deleted == 1 and hook.reported == ["a deleter that fails"]


def test_a_hook_that_raises_too_does_no_harm(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def worse(_: Any) -> None:
        raise OSError("the hook fails too")

    monkeypatch.setattr(sys, "unraisablehook", worse)
    a = counted(failing())
    del a
    assert "the hook fails too" in capfd.readouterr().err
