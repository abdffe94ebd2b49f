"""The conformance kit: Viaduct fails nothing of it, and who breaks a promise fails the row of that promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import breakers
import pytest
import viaduct as via
from viaduct.conformance import Peer, Producer, Report, check
from viaduct.conformance import _rows as rows_module
from viaduct.conformance._abi import NEWEST
from viaduct.conformance._peers import PEERS
from viaduct.conformance._reader import expected, export
from viaduct.conformance._rows import Row
from viaduct.conformance._subjects import rows_for

NAMED = {row.name: row for row in rows_for("cpu")}


def row(name: str) -> Row:
    return NAMED[name]


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "PATIENCE", 0.05)


# ------------------------------------------------------------------------------------------------- what is promised


def test_viaduct_fails_no_row() -> None:
    report = check("viaduct")
    assert [result for result in report.results if result.outcome in ("fail", "crash", "absent")] == []
    assert len(report.results) == len(NAMED) > 200
    assert report.version == via.__version__


def test_no_two_rows_have_one_name() -> None:
    for device in ("cpu", "cuda"):
        names = [row.name for row in rows_for(device)]
        assert len(set(names)) == len(names)


# ------------------------------------------------------------------------------- a promise that is broken is noticed


@pytest.mark.parametrize(("take", "name", "words"), breakers.TAKERS, ids=lambda value: getattr(value, "__name__", None))
def test_who_takes_wrongly_fails_the_row(take: Callable[..., Any], name: str, words: str) -> None:
    outcome, found = row(name).judge(breakers.peer(take))
    assert outcome == "fail" and words in found


@pytest.mark.parametrize(
    ("exporting", "name", "words"), breakers.EXPORTERS, ids=lambda value: getattr(value, "__name__", None)
)
def test_who_exports_wrongly_fails_the_row(exporting: Callable[..., Any], name: str, words: str) -> None:
    outcome, found = row(name).judge(breakers.peer(export=exporting))
    assert outcome == "fail" and words in found


def test_who_does_nothing_wrong_fails_none_of_those_rows() -> None:
    honest = breakers.peer()
    for _, name, _ in breakers.TAKERS:
        if "read-only" not in name:
            assert row(name).judge(honest) == ("pass", ""), name
    exporter = breakers.peer(export=lambda array, **keywords: array.__dlpack__(**keywords))
    for _, name, _ in breakers.EXPORTERS:
        assert row(name).judge(exporter) == ("pass", ""), name


def test_who_refuses_an_oddity_is_distinguished_from_who_fails() -> None:
    def take(p: Any, **keywords: Any) -> Any:
        if p.strides and 0 in p.strides:
            raise BufferError("no broadcasts here")
        return via.from_dlpack(p, **keywords)

    outcome, words = row("imports the odd: a stride of zero (versioned)").judge(breakers.peer(take))
    assert outcome == "refused" and "no broadcasts here" in words


def test_an_exception_without_a_text_or_with_an_odd_one_is_a_failure_and_no_crash() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def raising(error: Exception) -> Row:
        def run(_peer: Peer) -> None:
            raise error

        return Row("a row", run)

    assert raising(Mute()).judge(PEERS["viaduct"]) == ("fail", "Mute: it has no text")
    assert raising(ValueError("\ud800\nmore")).judge(PEERS["viaduct"]) == ("fail", "ValueError: \\ud800")


def test_who_never_asks_for_the_versioned_form_is_not_handed_it() -> None:
    asks = breakers.peer(breakers.asks_for_no_version)
    assert row("imports the odd: a vector (versioned)").judge(asks)[0] == "absent"
    assert row("imports the odd: a vector (unversioned)").judge(asks)[0] == "pass"


# ------------------------------------------------------------------------------------------------------ the producer


def test_a_deleted_tensor_is_poisoned() -> None:
    producer = Producer()
    a = via.from_dlpack(producer)
    wanted = expected(producer)
    assert export(a).elements() == wanted
    del a
    assert producer.deleted == 1
    assert producer.managed.tensor.shape[0] < 0 and producer.managed.tensor.strides[1] < 0


def test_a_producer_exports_either_form() -> None:
    for legacy in (False, True):
        producer = Producer(legacy=legacy)
        assert via.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert producer.is_marked() and producer.asked[0]["max_version"] == NEWEST


def test_a_producer_copies_where_it_is_asked_to() -> None:
    producer = Producer()
    taken = export(producer, copy=True)
    assert taken.address != producer.address and taken.elements() == expected(producer)
    producer.end_unused()
    assert producer.deleted == 1


# ------------------------------------------------------------------------------------------------------- the command

FRAGILE = """
import os
import viaduct
from viaduct.conformance import Producer

def from_dlpack(p, **keywords):
    if isinstance(p, Producer) and p.managed.tensor.ndim < 0:
        os.abort()
    return viaduct.from_dlpack(p, **keywords)
"""


@pytest.fixture
def fragile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A library that ends the process over one row."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    return check("fragile")


def test_a_crash_is_a_row_and_not_the_end(fragile: Report) -> None:
    crashed = {result.row: result.words for result in fragile.results if result.outcome == "crash"}
    assert set(crashed) == {
        f"imports nothing illegal: fewer than no dimensions ({f})" for f in ("versioned", "unversioned")
    }
    assert all("SIGABRT" in words for words in crashed.values())
    assert len(fragile.results) == len(NAMED)
    assert [result for result in fragile.results if result.outcome == "fail"] == []


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "viaduct.conformance", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_reports_every_row_and_ends_with_1_if_one_failed(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    done = command("viaduct", "numpy", "--verbose", "--json", str(tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text())
    assert [peer["peer"] for peer in found["peers"]] == ["viaduct", "numpy"]
    assert found["peers"][0]["counts"]["fail"] == found["peers"][0]["counts"]["crash"] == 0
    for peer in found["peers"]:
        assert peer["counts"]["rows"] == len(peer["results"]) == len(NAMED)
    assert all(name in done.stdout for name in NAMED)
    assert done.returncode == 1


def test_what_is_not_there_or_cannot_be_asked_is_said() -> None:
    assert "No module named 'no_such_library'" in check("no_such_library").problem
    assert "json has no from_dlpack()" in check("json").problem
    assert command("no_such_library").returncode == 1


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 11)", "os._exit(3)"])
def test_a_module_that_ends_the_process_without_a_word_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    (tmp_path / "silent_end.py").write_text(f"import os\n{end}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    done = command("silent_end")
    assert done.returncode == 1 and "ended the process" in done.stdout


def test_any_module_can_be_asked_by_expressions() -> None:
    done = command("array", "--from-dlpack", "__import__('viaduct').from_dlpack(p, **keywords)")
    assert done.returncode == 0, done.stdout


def test_the_table_of_peers_names_expressions_that_can_be_parsed() -> None:
    for peer in PEERS.values():
        for name in ("array", "from_dlpack", "content", "writable"):
            if expression := getattr(peer, name):
                compile(expression, name, "eval")
    assert isinstance(PEERS["viaduct"], Peer)
