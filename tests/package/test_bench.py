"""What the benchmarks make of their rows: verdicts, histograms and a picture. Nothing is timed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from package_tools import ROOT

BENCH = ROOT / "tests" / "bench" / "bench.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_report", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def populations(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCH.parent)
    return importlib.import_module("populations")


def row(case: str, viaduct: float, **more: Any) -> dict[str, Any]:
    return {"case": case, "unit": "GB/s", "viaduct": viaduct, "peers": {}, "limit": None, "target": None, **more}


def report(*rows: dict[str, Any]) -> dict[str, Any]:
    machine = {"cpu": "a processor", "cores": 2, "gpus": ["a GPU"], "peers": {"torch": "1.0"}}
    return {"machine": machine, "commit": "abc", "rows": list(rows)}


def run_bench(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, BENCH, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.parametrize(("nanoseconds", "verdict"), [(185.0, "1.85 x, met"), (186.0, "1.86 x, MISSED")])
def test_a_ratio_and_what_may_be_added_to_it_are_one_bound(bench: ModuleType, nanoseconds: float, verdict: str) -> None:
    target = {"peer": "loop", "at_most": 1.25, "and_plus": 60}
    judged = bench.judge(row("copy", nanoseconds, unit="ns", peers={"loop": 100.0}, target=target))
    assert judged == ("<= 1.25 x loop + 60 ns", verdict)


@pytest.mark.parametrize(("rate", "verdict"), [(70.0, "0.70 x, met"), (69.0, "0.69 x, MISSED")])
def test_a_part_of_the_limit_is_judged_by_the_limit(bench: ModuleType, rate: float, verdict: str) -> None:
    judged = bench.judge(row("copy", rate, limit=100.0, target={"limit_at_least": 0.7}))
    assert judged == (">= 0.7 x limit", verdict)


def test_a_table_has_every_row_and_leaves_the_cells_of_a_target_empty_where_there_is_none(bench: ModuleType) -> None:
    rows = [row("part", 3.0, peers={"numpy": 2.0}), row("mean", 3.0, peers={"numpy": 2.0})]
    rows[1]["target"] = {"peer": "numpy", "at_least": 1.0}
    assert list(bench.table_of(rows)) == [
        "| part | 3 GB/s | numpy 2 |  |  |",
        "| mean | 3 GB/s | numpy 2 | at least 1 x numpy | 1.50 x, met |",
    ]


def test_without_matplotlib_the_rows_are_reported_and_the_picture_is_what_failed(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    given = tmp_path / "rows.json"
    given.write_text(json.dumps(report(row("a copy of something", 3.0))))
    done = run_bench("cpu", "--plot", tmp_path / "out", "--from", given, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "a copy of something" in done.stdout
    assert "failed: the picture: matplotlib is not here" in done.stderr


def size_of_picture(path: Path) -> tuple[int, int]:
    start = path.read_bytes()[:24]
    assert start[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", start[16:])
    return width, height


def test_a_picture_is_drawn_from_the_rows_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", exc_type=ImportError)
    link = row("pinned to device, 1 GiB", 55.0, limit=55.5, peers={"driver": 55.5})
    strided = [row(f"pinned to device, strided, {i}", 51.0, peers={"torch": 1.0, "CuPy": 2.0}) for i in range(3)]
    for count in (1, 3):
        given = tmp_path / "rows.json"
        given.write_text(json.dumps(report(link, *strided[:count])))
        assert run_bench("gpu", "--plot", tmp_path / str(count), "--from", given).returncode == 0
        assert [path.name for path in (tmp_path / str(count)).iterdir()] == ["gpu-link.png"]
    few, more = (size_of_picture(tmp_path / name / "gpu-link.png") for name in ("1", "3"))
    assert few[0] == more[0]
    assert few[1] < more[1]


def test_a_picture_without_rows_is_not_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", exc_type=ImportError)
    given = tmp_path / "rows.json"
    given.write_text(json.dumps(report(row("C: wrap + release", 20.0, unit="ns"))))
    for suite in ("cpu", "gpu"):
        assert run_bench(suite, "--plot", tmp_path / "out", "--from", given).returncode == 0
    assert not list((tmp_path / "out").iterdir())


def test_a_histogram_counts_the_layouts_of_the_widest_large_band(populations: ModuleType) -> None:
    bands = [populations.Band(least) for least in (64, 8, 0)]
    # The last one is too small to be counted; times of the peer, of ours and of the bound.
    given = [(64, 7.9, 10, 1), (64, 9.5, 10, 2), (8, 10.5, 10, 9), (8, 99, 10, 10), (1, 5, 10, 10)]
    rows = [
        populations.Row("any", mib << 20, {populations.OURS: ours, "numpy": peer}, bound)
        for mib, peer, ours, bound in given
    ]
    title, _, *table, _ = populations.histogram(rows, bands)
    assert title == "Counts the 4 layouts of 8 MiB and more. A block is 2 % of them, or less."
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    bar = "\u2588" * 13 + " 1"
    assert dict(each[:2] for each in cells[2:]) == {
        "below 0.8 x": bar, "0.8 to 0.95 x": "0", "0.95 to 1.05 x": bar, "1.05 to 1.5 x": bar, "1.5 to 2 x": "0",
        "2 to 3 x": "0", "3 to 5 x": "0", "5 x and more": bar,
    }  # fmt: skip
    assert dict(each[2:] for each in cells[2:7]) == {
        "below 0.2": bar, "0.2 to 0.4": bar, "0.4 to 0.6": "0", "0.6 to 0.8": "0", "0.8 and more": "\u2588" * 25 + " 2"
    }  # fmt: skip
    assert len({len(line) for line in table}) == 1
    assert list(populations.histogram(rows[-1:], bands)) == []


def target(populations: ModuleType, what: str, value: float, peer: str = "torch", **of: float) -> Any:
    return populations.Target(**{"least": 1, "most": 8, **of}, what=what, value=value, peer=peer)


UNIT = 2.0**-20  # seconds, of which whole numbers have exact quotients and differences


def timed(populations: ModuleType, mib: float, *peers: float | None, bound: float = 1) -> Any:
    """A layout for which ours takes 8 units, and torch and CuPy as many as given; None: it takes no such layout."""
    named = {name: units * UNIT for name, units in zip(("torch", "cupy"), peers, strict=False) if units is not None}
    return populations.Row("any", int(mib * (1 << 20)), {populations.OURS: 8 * UNIT, **named}, bound * UNIT)


@pytest.mark.parametrize(
    ("what", "value", "peer", "found", "result"),
    [
        ("mean", 1.99, "torch", "2.00 x", "met"),
        ("mean", 2, "torch", "2.00 x", "met"),
        ("mean", 2.001, "torch", "2.00 x", "MISSED"),
        ("worst", 1, "torch", "1.00 x", "met"),
        ("worst", 1.01, "torch", "1.00 x, 1 of 3 below", "MISSED"),
        ("worst", 0.75, "the better peer", "0.75 x", "met"),
        ("worst", 0.751, "the better peer", "0.75 x, 1 of 3 below", "MISSED"),
        ("worst", 2, "the better peer", "0.75 x, 2 of 3 below", "MISSED"),
        ("part", 0.25, "the better peer", "0.25", "met"),
        ("part", 0.251, "the better peer", "0.25", "MISSED"),
        ("part_5th", 0.125, "the better peer", "0.125", "met"),
        ("part_5th", 0.126, "the better peer", "0.12", "MISSED"),
        ("longer", 1.908, "cupy", "1.907 us", "met"),
        ("longer", 1.907, "cupy", "1.91 us", "MISSED"),
        ("longer", 0, "torch", "0.00 us", "met"),
        ("longer", -0.001, "torch", "0.00 us", "MISSED"),
        ("mean", 1, "numpy", "not measured", ""),
        ("worst", 1, "numpy", "not measured", ""),
        ("longer", 1, "numpy", "not measured", ""),
    ],
)
def test_a_target_of_a_population_is_met_up_to_its_boundary_and_missed_beyond(
    populations: ModuleType, what: str, value: float, peer: str, found: str, result: str
) -> None:
    rows = [
        timed(populations, 1, 8, 7),
        timed(populations, 2, 16, None, bound=2),
        timed(populations, 7, 32, 6, bound=4),
    ]
    # Of other sizes: they would change every verdict.
    rows += [timed(populations, 0.99, 1, 1, bound=9), timed(populations, 8, 1, 1, bound=9)]
    judged = populations.judge(rows, target(populations, what, value, peer))
    assert (judged.found, judged.result()) == (found, result)


@pytest.mark.parametrize("what", ["mean", "worst", "part", "part_5th", "longer"])
def test_a_target_of_sizes_that_were_not_measured_is_neither_met_nor_missed(populations: ModuleType, what: str) -> None:
    judged = populations.judge([timed(populations, 8, 1)], target(populations, what, 1))
    assert (judged.found, judged.result()) == ("not measured", "")


def test_what_is_shown_lies_on_the_side_of_the_target_on_which_it_was_found(populations: ModuleType) -> None:
    shown = [populations.digits(found, 0.95) for found in (0.95, 0.954, 0.9502, 0.9498, 0.944, 0.951)]
    assert shown == ["0.95", "0.954", "0.9502", "0.9498", "0.94", "0.951"]


@pytest.mark.parametrize(
    ("population", "settings", "peers", "line"),
    [
        (
            "host",
            {"threads": 2},
            ("numpy", "torch"),
            "none below 0.95 x the better peer | 0.90 x, 1 of 1 below | MISSED",
        ),
        ("host", {"threads": 16}, ("numpy", "torch"), None),
        ("host", {"threads": 2, "busy": 1}, ("numpy", "torch"), None),
        ("link", {"busy": 0}, ("torch",), "at least 0.8 of the bound in the mean | 1.00 | met"),
        ("link", {"busy": 1}, ("torch",), "at least 1 x torch in the mean | 0.90 x | MISSED"),
        ("peer", {}, ("torch",), "at least 1.1 x torch in the mean | 0.90 x | MISSED"),
        ("peer", {}, ("access on",), "at least 0.9 x access on in the mean | 0.90 x | met"),
        ("of nothing", {}, ("torch",), None),
    ],
)
def test_a_population_has_the_targets_that_were_set_for_how_it_was_measured(
    populations: ModuleType, population: str, settings: dict[str, int], peers: tuple[str, ...], line: str | None
) -> None:
    rows = [populations.Row("any", 32 << 20, {populations.OURS: 1.0, **dict.fromkeys(peers, 0.9)}, 1.0)]
    lines = list(populations.wanted([{"population": population, "settings": settings}], rows))
    assert lines == [] if line is None else sum(line in each for each in lines) == 1


def test_plain_bytes_between_devices_are_judged_by_their_rate_with_access_on_from_64_mib(
    populations: ModuleType,
) -> None:
    def plain(off: float, on: float) -> dict[str, Any]:
        times = {"off": off, "on": on}
        sizes = (1 << 20, 64 << 20, 1 << 30)
        return {way: {"device": {str(nbytes): time for nbytes in sizes}} for way, time in times.items()}

    def rows(*pairs: tuple[float, float]) -> list[str]:
        return list(populations.plain_table([{"settings": {"plain": plain(*pair)}} for pair in pairs]))[2:]

    assert rows((1e-3, 0.921e-3)) == [
        "| 1 MiB | 1 and 1 GB/s, 0.921 x |  |",
        "| 64 MiB | 67 and 73 GB/s, 0.921 x, met | at least 0.92 x |",
        "| 1 GiB | 1074 and 1166 GB/s, 0.921 x, met | at least 0.92 x |",
    ]
    # The mean of the files.
    assert ["MISSED" in row for row in rows((1e-3, 0.99e-3), (1e-3, 0.8e-3))] == [False, True, True]


def seconds_of_processor(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_busy_processes_spin_until_the_end_were_it_a_failure(populations: ModuleType) -> None:
    with pytest.raises(ValueError, match="amid the copies"), populations.busy(2) as processes:
        deadline = time.monotonic() + 60
        while min(seconds_of_processor(process.pid) for process in processes) < 0.05:
            assert time.monotonic() < deadline
        assert [process.poll() for process in processes] == [None, None]
        raise ValueError("amid the copies")
    assert [process.returncode for process in processes] == [-signal.SIGKILL, -signal.SIGKILL]
    with populations.busy(0) as processes:
        assert processes == []


def run_layouts(*options: str | Path) -> subprocess.CompletedProcess[str]:
    program = BENCH.with_name("layouts_host.py")
    return subprocess.run([sys.executable, program, *options], capture_output=True, text=True, check=False)


def test_layouts_next_to_busy_processes_say_so(tmp_path: Path) -> None:
    written = tmp_path / "found.json"
    done = run_layouts("--count", "2", "--largest", "1", "--busy", "2", "--json", written)
    assert done.returncode == 0, done.stderr
    assert ", next to 2 busy processes: 2 layouts, 0 wrong" in done.stdout
    found = json.loads(written.read_text())
    assert (found["settings"]["busy"], len(found["rows"])) == (2, 2)


def test_the_option_for_busy_processes_is_explained_and_refuses_fewer_than_none() -> None:
    assert "start N processes that spin until the end" in " ".join(run_layouts("--help").stdout.split())
    refused = run_layouts("--busy", "-1")
    assert refused.returncode == 2
    assert "the number of processes is -1; expected at least 0" in refused.stderr


def program(folder: Path, rate: float, nanoseconds: float) -> Path:
    """A build whose benchmark prints two rows."""
    bench, library = folder / "bench", folder / "lib"
    bench.mkdir(parents=True)
    library.mkdir()
    rows = [row("copy", rate), row("wrap", nanoseconds, unit="ns")]
    script = bench / "bench_some"
    script.write_text("#!/bin/sh\n" + "".join(f"echo '{json.dumps(each)}'\n" for each in rows))
    script.chmod(0o755)
    return bench


def test_two_builds_are_compared_by_what_is_slower_whatever_the_unit(tmp_path: Path) -> None:
    old, new = program(tmp_path / "old", 10.0, 40.0), program(tmp_path / "new", 5.0, 20.0)
    compare, found = BENCH.with_name("compare.py"), tmp_path / "found.json"
    command = [sys.executable, compare, old, new, "--programs", "bench_some", "--turns", "2", "--json", found]
    subprocess.run(command, check=True, capture_output=True)
    rows = {each["case"]: each["slowdown"] for each in json.loads(found.read_text())["rows"]}
    assert rows == {"copy": 2.0, "wrap": 0.5}
    failed = subprocess.run([*command[:2], tmp_path, new], check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "has no library" in failed.stderr


# ------------------------------------------------------------------------------------------------------------- kernels


@pytest.fixture(scope="module")
def kernels(bench: ModuleType) -> ModuleType:
    sys.path.insert(0, str(BENCH.parent))
    try:
        return importlib.import_module("kernel_worth")
    finally:
        sys.path.pop(0)


def test_a_kernel_is_worth_what_the_others_take_longer(kernels: ModuleType) -> None:
    rows = [
        {"elements": 4.0, "box": 2.0, "chosen": 2.0},
        {"elements": 1.0, "box": 1.02, "chosen": 1.02},
        {"elements": 3.0, "rows": 3.0, "chosen": 3.0},
    ]
    found = kernels.summary(rows)
    box, elements = (next(each for each in found["kernels"] if each["kernel"] == name) for name in ("box", "elements"))
    assert (box["layouts"], box["clearly_best"], box["worst"]) == (2, 1, 2.0)
    assert box["without"] == pytest.approx(2 ** (1 / 3))
    assert box["where_best"] == 2.0
    assert (elements["layouts"], elements["clearly_best"], elements["without"]) == (
        3,
        0,
        pytest.approx(1.02 ** (1 / 3)),
    )
    assert found["chosen"]["worst"] == pytest.approx(1.02)


def test_plans_of_one_kernel_count_as_its_best(kernels: ModuleType) -> None:
    plans = [("elements 0", 3.0), ("elements 1", 2.0), ("loose tiles", 5.0), ("tiles", 4.0), ("box 1:1/1", 6.0)]
    times = kernels.times_of({"plans": [{"name": name, "us": us} for name, us in [*plans, ("chosen", 2.5)]]})
    assert times == {"elements": 2.0, "loose tiles": 5.0, "tiles": 4.0, "box": 6.0, "chosen": 2.5}
