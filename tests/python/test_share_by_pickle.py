"""Arrays of shared memory that multiprocessing passes by description: the same memory there, not its bytes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import content, grid

# Starts many interpreters, one after another.
pytestmark = pytest.mark.heavy

METHODS = ["spawn", "forkserver"]
FORK = "VIADUCT_TESTS_FORK"  # in the environment of the process that forks, which has no threads of other libraries


@pytest.fixture(params=["fork"] if FORK in os.environ else METHODS)
def context(request: pytest.FixtureRequest) -> Any:
    return multiprocessing.get_context(request.param)


def shared(count: int = 1000) -> via.Array:
    return via.full(count, 1, "uint8", memory="shared")


def pickled(a: via.Array) -> bytes:
    return bytes(ForkingPickler.dumps(a))


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def fill(a: via.Array, value: int) -> None:
    a.fill(value)


def fill_what_comes(arrays: Any, done: Any) -> None:
    for a, value in iter(arrays.get, None):
        a.fill(value)
        done.put((a.shape, a.readonly))


# ------------------------------------------------------------------------------------------------ in place


def test_an_argument_of_a_process_is_the_same_memory_there(context: Any) -> None:
    a = shared()
    process = context.Process(target=fill, args=(a, 7))
    process.start()
    process.join(60)
    assert process.exitcode == 0 and set(a.tolist()) == {7}


def test_an_argument_lives_until_the_process_has_opened_it(context: Any) -> None:
    a = shared()
    b = via.import_ipc(a.export_ipc())
    process = context.Process(target=fill, args=(a, 8))
    process.start()
    del a
    process.join(60)
    assert process.exitcode == 0 and set(b.tolist()) == {8}


def test_what_goes_through_a_queue_is_the_same_memory_and_views_stay_views(context: Any) -> None:
    arrays, done = context.Queue(), context.Queue()
    process = context.Process(target=fill_what_comes, args=(arrays, done))
    process.start()
    a = shared(12)
    for view, value in ((a[:3], 3), (a.reshape(3, 4)[:, 1], 4), (a[9:].as_readonly(), 0)):
        if not view.readonly:
            arrays.put((view, value))
            assert done.get(timeout=60) == (view.shape, False)
    arrays.put(None)
    process.join(60)
    assert process.exitcode == 0 and a.tolist() == [3, 4, 3, 1, 1, 4, 1, 1, 1, 4, 1, 1]


def sum_of(a: via.Array) -> float:
    assert a.readonly
    return float(sum(a.tolist()))


def test_a_pool_takes_arrays_and_gives_them_back(context: Any) -> None:
    a = shared()
    with context.Pool(2) as pool:
        assert pool.map(sum_of, [a[i::4].as_readonly() for i in range(4)]) == [250.0] * 4
        made = pool.apply(shared, (10,))
    assert made.tolist() == [1] * 10


def test_concurrent_futures_pass_the_memory_too() -> None:
    from concurrent.futures import ProcessPoolExecutor

    a = shared()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(fill, a, 9).result(60)
    assert set(a.tolist()) == {9}


@pytest.mark.skipif(FORK in os.environ, reason="this is that process")
def test_all_that_takes_a_context_holds_under_fork_too() -> None:
    wanted = "of_a_process or has_opened_it or queue or pool"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", wanted],
        env={**os.environ, FORK: "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout


def hand_on(arrays: Any, further: Any) -> None:
    """Stays until the other side has opened what it was sent."""
    further.put(arrays.get())
    arrays.get()


def test_who_was_given_an_array_can_hand_it_on_and_end() -> None:
    context = multiprocessing.get_context("spawn")
    arrays, further = context.Queue(), context.Queue()
    process = context.Process(target=hand_on, args=(arrays, further))
    process.start()
    a = shared()
    arrays.put(a)
    b = further.get(timeout=60)
    arrays.put(None)
    process.join(60)
    b.fill(5)
    assert process.exitcode == 0 and set(a.tolist()) == {5}


def test_the_program_of_the_docs_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs/guide/sharing.md"
    (program,) = re.findall(r"^```python multiprocessing\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    subprocess.run([sys.executable, tmp_path / "program.py"], check=True, timeout=60)


# ------------------------------------------------------------------------------------------------ what it costs


def test_the_message_has_no_bytes_of_the_array() -> None:
    message = pickled(shared(1 << 20))
    assert len(message) < 1000
    assert pickle.loads(message).nbytes == 1 << 20  # else it would be kept for whoever has yet to open it


def test_other_memory_goes_as_before_by_its_bytes() -> None:
    shared()
    for a in (grid(), grid().T, grid()[:0], via.zeros(5, "record12")):
        found = pickle.loads(pickled(a))
        assert content(found) == content(a) and (found.shape, found.dtype_name) == (a.shape, a.dtype_name)
        assert found.ptr != a.ptr or a.size == 0


def test_pickles_that_are_not_multiprocessings_have_the_bytes() -> None:
    a = shared(5000)
    assert len(pickle.dumps(a)) > 5000
    found = pickle.loads(pickle.dumps(a))
    a.fill(2)
    assert set(found.tolist()) == {1}


def test_importing_the_package_does_not_import_multiprocessing() -> None:
    program = (
        "import sys, viaduct as via; a = via.empty(4, 'int8'); assert 'multiprocessing' not in sys.modules;"
        "b = via.memory('shared'); from multiprocessing.reduction import ForkingPickler as F;"
        "assert len(F.dumps(via.empty(5000, 'int8', memory=b))) < 1000"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# ------------------------------------------------------------------------------------------------ lifetime


def test_the_memory_is_kept_until_it_was_opened_and_not_longer() -> None:
    before = via.stats()["host_bytes"]
    message = pickled(shared(12345))
    gc.collect()
    assert via.stats()["host_bytes"] == before + 12345
    b = pickle.loads(message)
    assert eventually(lambda: via.stats()["host_bytes"] == before)
    assert set(b.tolist()) == {1}


def test_opening_a_second_time_is_refused_once_the_memory_is_gone() -> None:
    before = via.stats()["host_bytes"]
    message = pickled(shared())
    pickle.loads(message)
    assert eventually(lambda: via.stats()["host_bytes"] == before)
    with pytest.raises(via.ExchangeError, match="no longer shared"):
        pickle.loads(message)


def send_and_go(connection: Any, how: str) -> None:
    connection.send_bytes(pickled(shared()))
    connection.close()
    if how == "kill":
        os.kill(os.getpid(), 9)


@pytest.mark.parametrize("how", ["return", "kill"])
def test_a_sender_that_has_gone_is_an_error_by_name(how: str) -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=send_and_go, args=(there, how))
    process.start()
    message = here.recv_bytes()
    process.join(60)
    with pytest.raises(via.ExchangeError, match="no longer shared"):
        pickle.loads(message)
