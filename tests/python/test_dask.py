"""Dask moves arrays between the processes of a cluster: as they lie, and without a copy of its own."""

from __future__ import annotations

import importlib
import logging
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import pytest
import viaduct as via
from engines import DTYPES, LAYOUTS, Seen, look
from peers import content, grid, leaving_nothing

distributed = pytest.importorskip("distributed", reason="distributed, which is Dask's, is not installed")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Once the cluster is closed: its scheduler and its client, of this process, hold the arguments of tasks till then."""
    with leaving_nothing():
        yield


class Cluster:
    """Of two workers, each a process; nothing of it is left once it is closed, though pytest may hold this."""

    def __init__(self, folder: Path) -> None:
        self.cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=str(folder),
        )
        self.client = distributed.Client(self.cluster)

    def close(self) -> None:
        # A worker may hang up before its last message is sent. Dask logs that exception, whose frames hold what was sent
        # before, and pytest keeps what is logged.
        logging.getLogger("distributed.batched").setLevel(logging.WARNING)
        self.client.close()
        self.cluster.close()
        del self.client, self.cluster

    @property
    def workers(self) -> list[str]:
        return sorted(self.client.scheduler_info()["workers"])

    def seen(self, a: Any, *workers: str) -> Seen:
        """What a worker sees of an array, or of the future of one."""
        where = {"workers": workers} if workers else {}
        seen: Seen = self.client.submit(look, a, pure=False, **where).result()
        return seen


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.close()


def frames_of(a: via.Array) -> list[memoryview]:
    """What Dask writes to the other process."""
    frames = distributed.protocol.dumps({"image": distributed.protocol.to_serialize(a)})
    return [memoryview(frame).cast("B") for frame in frames if memoryview(frame).nbytes]


@pytest.mark.parametrize("layout", ["dense", "transposed", "read-only"])
def test_a_dense_array_is_sent_from_where_it_lies(layout: str) -> None:
    a = LAYOUTS[layout](engines.large())
    frames = frames_of(a)
    own = [frame for frame in frames if frame.nbytes == a.nbytes]
    assert len(own) == 1 and via.asarray(own[0]).ptr == a.ptr
    assert sum(frame.nbytes for frame in frames) < a.nbytes + 1000


def test_of_a_strided_array_no_more_is_sent_than_its_elements() -> None:
    a = LAYOUTS["strided"](engines.large())
    assert a.nbytes <= sum(frame.nbytes for frame in frames_of(a)) < a.nbytes + 1000


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_worker_sees_the_same_array(cluster: Cluster, layout: str) -> None:
    a = LAYOUTS[layout](grid())
    seen = cluster.seen(a)
    assert seen.process != os.getpid()
    assert seen[1:] == look(a)[1:]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type_arrives(cluster: Cluster, dtype: str) -> None:
    a = engines.of_dtype(dtype)
    assert cluster.seen(a)[1:] == look(a)[1:]


@pytest.mark.parametrize("layout", ["dense", "transposed", "strided"])
def test_a_large_array_arrives_where_every_consumer_takes_it(cluster: Cluster, layout: str) -> None:
    a = LAYOUTS[layout](engines.large())
    seen = cluster.seen(cluster.client.scatter(a, hash=False))
    assert seen.aligned and not seen.readonly and seen.content == content(a)


def transposed_there(a: via.Array) -> via.Array:
    a.fill(7)
    return a.T


def test_a_result_comes_back_in_its_own_layout_and_may_be_written(cluster: Cluster) -> None:
    a = engines.large()
    found = cluster.client.submit(transposed_there, a, pure=False).result()
    assert (found.shape, found.strides, found.readonly) == (a.T.shape, a.T.strides, False)
    assert found[3, 2].item() == 7 and a[2, 3].item() == 1024 * 2 + 3, "the worker had memory of its own"


def test_an_array_goes_from_worker_to_worker(cluster: Cluster) -> None:
    a, (here, there) = engines.large()[:, ::2], cluster.workers
    future = cluster.client.scatter(a, workers=[here], hash=False)
    first = cluster.seen(future, here)
    second = cluster.seen(future, there)
    assert first.process != second.process and first[1:] == second[1:]
    assert second.content == content(a) and second.aligned


def test_equal_arrays_have_one_name_so_that_work_on_them_is_done_once() -> None:
    tokenize = importlib.import_module("dask.base").tokenize
    assert tokenize(grid()) == tokenize(grid()) != tokenize(grid().T)


def test_dask_knows_how_large_an_array_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["entry-points"]["dask.sizeof"]["viaduct"].partition(":")
    sizes = importlib.import_module("dask.sizeof").sizeof
    getattr(importlib.import_module(module), function)(sizes)
    assert sizes(engines.large()) == engines.large().nbytes
    assert sizes(LAYOUTS["broadcast"](grid())) == 5 * 4 * 4


def test_the_program_that_the_documentation_shows_runs(cluster: Cluster) -> None:
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    found = engines.run_shown("dask", client=cluster.client, pixels=numpy.ones((480, 640), "float32"))
    assert found["row"].shape == (640,) and found["total"] == 480 * 640


def raise_row(description: bytes, row: int) -> int:
    """By one, in place."""
    numbers = via.import_ipc(description)[row].numpy()
    numbers += 1
    return os.getpid()


def test_every_worker_of_this_machine_writes_to_one_array_in_place(cluster: Cluster) -> None:
    pytest.importorskip("numpy", reason="NumPy is not installed")
    a = via.empty((2, 1024), "float32", memory="shared")
    a.fill(3)
    futures = [
        cluster.client.submit(raise_row, a.export_ipc(), row, pure=False, workers=[worker])
        for row, worker in enumerate(cluster.workers)
    ]
    processes = {future.result() for future in futures}
    assert len(processes) == 2 and os.getpid() not in processes
    assert set(a.numpy().ravel()) == {4}


def test_the_program_of_workers_that_share_which_the_documentation_shows_runs(cluster: Cluster) -> None:
    found = engines.run_shown("workers", client=cluster.client)
    assert [found["image"][row, 5].item() for row in range(3)] == [0, 1, 2]
