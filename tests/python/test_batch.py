"""Batch: many copies prepared as one, within host memory and without a GPU."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import viaduct as via
from peers import grid, peer

PAGE = Path(__file__).resolve().parents[2] / "docs/questions/many-copies.md"


def pairs(count: int = 5) -> list[tuple[via.Array, via.Array]]:
    return [(via.zeros((3, 4), "float32"), via.full((3, 4), i + 1, "float32")) for i in range(count)]


def batch_of(copies: list[tuple[via.Array, via.Array]]) -> via.Batch:
    batch = via.Batch()
    for dst, src in copies:
        batch.add(dst, src)
    return batch


def test_a_batch_copies_all_its_pairs_each_time_that_it_runs() -> None:
    copies = pairs()
    batch = batch_of(copies)
    for _ in range(2):
        batch.run()
        assert [dst.tolist() for dst, _ in copies] == [src.tolist() for _, src in copies]
        for dst, _ in copies:
            dst.fill(0)
    copies[1][1].fill(9)
    batch.run(stream=None)
    assert copies[1][0].tolist() == [[9] * 4] * 3


def test_a_batch_is_submitted_as_one_task() -> None:
    copies = pairs()
    task = batch_of(copies).submit()
    task.wait(20)
    assert task.progress() == (5 * 48, 5 * 48)
    assert [dst.tolist() for dst, _ in copies] == [src.tolist() for _, src in copies]


def test_it_has_the_length_and_the_pairs_that_were_added() -> None:
    batch = via.Batch()
    assert len(batch) == 0 and not list(batch) and not batch
    batch.run()
    batch.submit().wait(20)
    copies = pairs(3)
    for dst, src in copies:
        batch.add(dst, src)
    assert len(batch) == 3 and [(dst.ptr, src.ptr) for dst, src in batch] == [(dst.ptr, src.ptr) for dst, src in copies]
    assert repr(batch) == "<viaduct.Batch of 3 copies>"


def test_it_takes_what_other_libraries_export() -> None:
    numpy = peer("numpy")
    target, source = numpy.zeros(3), numpy.arange(3.0)
    batch = via.Batch()
    batch.add(dst=target, src=source)
    batch.run()
    assert target.tolist() == [0, 1, 2]


def test_it_holds_its_arrays() -> None:
    copies = pairs(1)
    batch = batch_of(copies)
    copies.clear()
    batch.run()
    ((dst, _),) = batch
    assert dst.tolist() == [[1] * 4] * 3


def test_a_copy_that_cannot_be_is_refused_when_it_is_added_and_leaves_the_batch_as_it_was() -> None:
    batch = batch_of(pairs(2))
    with pytest.raises(ValueError, match="shape"):
        batch.add(grid(), grid(4, 3))
    with pytest.raises(via.ReadOnlyError):
        batch.add(grid().as_readonly(), grid())
    with pytest.raises(TypeError, match=r"Batch\.add: dst is of type list"):
        batch.add([1], grid())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Batch\.add\(\) missing required argument 'src'"):
        batch.add(grid())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Batch\.run: stream"):
        batch.run(stream="7")
    with pytest.raises(TypeError, match="Batch"):
        via.Batch(1)  # type: ignore[call-arg]
    assert len(batch) == len(list(batch)) == 2


def test_a_batch_that_other_threads_run_is_never_added_to_meanwhile() -> None:
    """Adding is refused by name while a run is under way, and works before and after."""
    copies = [(via.zeros(1 << 20, "uint8"), via.ones(1 << 20, "uint8")) for _ in range(8)]
    batch = batch_of(copies)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            batch.run()

    thread = threading.Thread(target=run)
    thread.start()
    refused = added = 0
    deadline = time.monotonic() + 20
    while refused == 0 and time.monotonic() < deadline:
        try:
            batch.add(*pairs(1)[0])
            added += 1
        except via.InvalidArgumentError as error:
            refused += "under way" in str(error)
    stop.set()
    thread.join(20)
    assert refused == 1
    batch.add(*pairs(1)[0])
    assert len(batch) == len(list(batch)) == 9 + added


def test_a_batch_of_the_raw_layer_is_one_too() -> None:
    batch = via.raw.via_batch_create()
    batch.add(*pairs(1)[0])
    batch.run()
    assert via.raw.via_batch_size(batch) == len(batch) == 1


def test_the_recipe_of_the_docs_does_what_it_says() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, str(PAGE), "exec"), names)  # noqa: S102  (text of this repository)
    batch, rows = names["batch"], names["rows"]
    assert len(batch) == len(rows) > 1
    assert [row.tolist() for row in names["gathered"]] == [row.tolist() for row in rows]
