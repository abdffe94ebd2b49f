"""The runner of the GPU tests reports what the library keeps from what somebody has leaked."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

RUNNER = Path(__file__).resolve().parents[1] / "gpu" / "run.py"
RING = 64 << 20


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_runner", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def leak(size: int, *frames: str) -> str:
    lines = [f"========= Leaked {size:,} bytes at 0x7efaa9e00000"]
    lines += ["=========     Saved host backtrace up to driver entry point at allocation time"]
    lines += [f"=========         Host Frame: {frame}" for frame in frames]
    return "\n".join([*lines, "========= ", ""])


def report(*leaks: str, test: str = "OK") -> str:
    tests = f"[==========] Running 1 test(s).\n[ RUN      ] a_promise\n[{test:>9} ] a_promise\n"
    return f"{tests}{''.join(leaks)}========= ERROR SUMMARY: {len(leaks)} errors\n"


REGISTERED = "cuMemHostRegister_v2 [0x32c76f] in libcuda.so.1"
RETAINED = "cuDevicePrimaryCtxRetain [0x32876f] in libcuda.so.1"
ALLOCATED = "cuMemAlloc_v2 [0x32b91f] in libcuda.so.1"
MANAGED = "cuMemAllocManaged [0x32bfdf] in libcuda.so.1"
LIBRARY = " [0x265b4] in libviaduct.so.1"
COPY = "via_copy_async [0x5de5c] in libviaduct.so.1"
EMPTY = "via_empty [0x5fc97] in libviaduct.so.1"
PROGRAM = " [0x696e] in gpu_batch"

THE_RING = leak(RING, REGISTERED, LIBRARY, COPY, PROGRAM)


def outcome(runner: ModuleType, status: int, text: str) -> tuple[int, int, int]:
    suite = runner.Suite("memcheck")
    sizes = {RING, runner.size_limit("pinned_block"), *runner.table_sizes()}
    runner.count_sanitized(suite, "gpu_batch", status, text, sizes)
    return suite.passed, suite.failed, suite.skipped


def test_a_ring_that_is_kept_is_no_error(runner: ModuleType) -> None:
    assert outcome(runner, 0, report(THE_RING)) == (1, 0, 0)
    assert outcome(runner, 0, report(THE_RING, THE_RING)) == (1, 0, 0)


def test_the_memory_of_small_copies_is_kept_as_well(runner: ModuleType) -> None:
    block = leak(runner.size_limit("pinned_block"), REGISTERED, LIBRARY, COPY, PROGRAM)
    assert outcome(runner, 0, report(THE_RING, block)) == (1, 0, 0)


def test_tables_of_batches_of_every_size_are_kept_as_well(runner: ModuleType) -> None:
    tables = [leak(131072 << power, REGISTERED, LIBRARY, COPY, PROGRAM) for power in range(10)]
    assert outcome(runner, 0, report(*tables)) == (1, 0, 0)


def test_what_a_later_context_is_said_to_leak_is_kept_if_it_is_the_same_memory(runner: ModuleType) -> None:
    again = leak(RING, RETAINED, PROGRAM)
    assert outcome(runner, 0, report(THE_RING, again)) == (1, 0, 0)
    assert outcome(runner, 0, report(again)) == (0, 1, 0)


def test_scratch_memory_next_to_the_ring_is_kept_as_well(runner: ModuleType) -> None:
    scratch = leak(RING, ALLOCATED, LIBRARY, COPY, PROGRAM)
    assert outcome(runner, 0, report(THE_RING, scratch)) == (1, 0, 0)


@pytest.mark.parametrize(
    "other",
    [
        leak(RING - 4096, REGISTERED, LIBRARY, COPY, PROGRAM),
        leak(RING, REGISTERED, PROGRAM, LIBRARY),
        leak(RING, MANAGED, LIBRARY, COPY, PROGRAM),
        leak(RING, REGISTERED, LIBRARY, EMPTY, PROGRAM),
        leak(RING, ALLOCATED, LIBRARY, EMPTY, PROGRAM),
        leak(64, ALLOCATED, PROGRAM),
        leak(RING),
    ],
    ids=[
        "of another size",
        "of the program's",
        "of another kind",
        "of a pinned array",
        "of a device array",
        "of a test's",
        "of nobody knows whom",
    ],
)
def test_every_other_leak_is_one(runner: ModuleType, other: str) -> None:
    assert outcome(runner, 0, report(THE_RING, other)) == (0, 1, 0)
    assert outcome(runner, 0, report(other)) == (0, 1, 0)


def test_without_a_ring_of_known_size_every_leak_is_one(runner: ModuleType) -> None:
    assert runner.kept_blocks(report(THE_RING), {0}) == 0


def test_a_test_that_fails_is_named_and_one_that_skips_is_counted(runner: ModuleType) -> None:
    suite = runner.Suite("memcheck")
    runner.count_sanitized(suite, "gpu_batch", 1, report(test="FAILED"), {RING})
    assert "a_promise" in suite.failures[0]
    assert outcome(runner, 77, report()) == (0, 0, 1)


def test_a_report_that_says_nothing_of_errors_is_a_failure(runner: ModuleType) -> None:
    assert outcome(runner, 0, "[ RUN      ] a_promise\n") == (0, 1, 0)


RACE = """========= ERROR: Race reported between Write access at via_tile_4+0x230 in tile.cuh:51
=========     and Read access at via_tile_4+0x310 in tile.cuh:77 [1024 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
LOST_LAUNCH = """========= Internal Sanitizer Error: Detected a failure to track a kernel launch. Records might be incomplete
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
UNINITIALISED = """========= Uninitialized __global__ memory read of size 16 bytes
=========     at via_rows_16+0x110 in rows.cuh:40
=========     by thread (0,0,0) in block (0,0,0)
========= Uninitialized __global__ memory read of size 16 bytes
=========     at via_rows_16+0x110 in rows.cuh:40
========= ERROR SUMMARY: 2 errors
"""
NO_RACE = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
TESTS = "[ RUN      ] a_promise\n[       OK ] a_promise\n"


def looked_at(runner: ModuleType, tool: str, status: int, text: str) -> Any:
    suite = runner.Suite(tool)
    runner.count_kernel_findings(suite, runner.KERNEL_TOOLS[tool], "gpu_batch", status, TESTS + text)
    return suite


def test_a_race_fails_its_program_and_the_kernel_is_reported(runner: ModuleType) -> None:
    suite = looked_at(runner, "racecheck", 0, NO_RACE + RACE)
    assert (suite.passed, suite.failed) == (0, 1)
    assert "via_tile_4" in suite.notes[0]


def test_a_launch_that_the_tool_lost_is_reported_as_no_finding(runner: ModuleType) -> None:
    suite = looked_at(runner, "racecheck", 0, LOST_LAUNCH)
    assert (suite.passed, suite.failed) == (1, 0)
    assert "failure to track a kernel launch" in suite.notes[0]
    assert looked_at(runner, "racecheck", 0, LOST_LAUNCH + RACE).failed == 1


def test_what_was_found_often_is_reported_once_with_its_number(runner: ModuleType) -> None:
    suite = looked_at(runner, "initcheck", 0, UNINITIALISED)
    assert suite.failures == ["initcheck: gpu_batch: 2 findings"]
    assert suite.notes == ["gpu_batch: 2 x Uninitialized __global__ memory read of size 16 bytes at via_rows_16"]


def test_a_program_without_findings_passes_if_a_summary_says_so(runner: ModuleType) -> None:
    assert looked_at(runner, "racecheck", 0, NO_RACE).passed == 1
    assert looked_at(runner, "synccheck", 0, "========= ERROR SUMMARY: 0 errors\n").passed == 1
    assert looked_at(runner, "synccheck", 77, "========= ERROR SUMMARY: 0 errors\n").skipped == 1
    assert looked_at(runner, "racecheck", 0, "").failed == 1
    assert looked_at(runner, "racecheck", -1, NO_RACE).failed == 1


def test_kernels_are_looked_at_only_where_that_is_asked_for(runner: ModuleType) -> None:
    assert set(runner.BY_DEFAULT) == {"programs", "facts", "python", "memcheck"}
    assert set(runner.ALL_SUITES) == {*runner.BY_DEFAULT, "racecheck", "initcheck", "synccheck"}


def test_the_programs_with_kernels_are_programs_of_the_build(runner: ModuleType) -> None:
    kinds = re.findall(r"viaduct_add_gpu_test\((\w+)", (RUNNER.parent / "CMakeLists.txt").read_text())
    assert set(runner.KERNEL_PROGRAMS) <= {f"gpu_{kind}" for kind in kinds}


TOOL = """#!/bin/sh
# $2: the tool, $5: the program
echo '[ RUN      ] a_promise'
echo '[       OK ] a_promise'
if [ "$(basename $5)" = gpu_batch ]; then
  sleep 30 &
  echo "started $!"
  wait
fi
case $2 in
  racecheck) echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  *) echo '========= ERROR SUMMARY: 0 errors' ;;
esac
"""


@pytest.fixture
def bundle(runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of programs that nobody runs, next to a tool that only says that it has."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "commit").write_text("none")
    for name in (*runner.KERNEL_PROGRAMS, "gpu_copy_fill"):
        (tmp_path / "tests" / name).touch()
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    monkeypatch.setattr(runner, "sanitizer", lambda: str(tool))
    return runner.Bundle(tmp_path, 1)


def test_every_program_with_kernels_runs_under_every_tool_asked_for(
    runner: ModuleType, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "KERNEL_PROGRAMS", runner.KERNEL_PROGRAMS[:3])
    suites = list(runner.run_suites(bundle, ["racecheck", "synccheck"]))
    assert [(suite.passed, suite.failed) for suite in suites] == [(3, 0), (3, 0)]
    logs = {path.name for path in bundle.logs.iterdir()}
    assert logs == {f"{tool}-{name}.log" for tool in ("racecheck", "synccheck") for name in runner.KERNEL_PROGRAMS}


def is_alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_a_program_that_runs_out_of_time_fails_and_ends_with_what_it_started(
    runner: ModuleType, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "KERNEL_SECONDS", 1)
    start = time.monotonic()
    suite = next(runner.run_suites(bundle, ["initcheck"]))
    assert suite.failed == 1 and "gpu_batch: ended with status -1" in suite.failures[0]
    assert suite.passed == len(runner.KERNEL_PROGRAMS) - 1
    started = re.search(r"^started (\d+)$", (bundle.logs / "initcheck-gpu_batch.log").read_text(), re.MULTILINE)
    while is_alive(int(started[1])):  # type: ignore[index]
        assert time.monotonic() - start < 20


def test_all_kernel_suites_together_end_in_time(
    runner: ModuleType, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "KERNEL_SUITES_SECONDS", 0)
    monkeypatch.setattr(runner, "KERNEL_PROGRAMS", ("gpu_batch",))
    start = time.monotonic()
    assert [suite.failed for suite in runner.run_suites(bundle, list(runner.KERNEL_TOOLS))] == [1, 1, 1]
    assert time.monotonic() - start < 20


def test_a_run_that_is_ended_midway_leaves_what_it_had(
    runner: ModuleType, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_ended(_bundle: Any) -> Any:
        raise KeyboardInterrupt

    found = bundle.folder / "found.json"
    words = ["run.py", "--bundle", str(bundle.folder), "--json", str(found), "--suites", "programs", "python"]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(runner, "driver_number", lambda: "13.0")
    monkeypatch.setitem(runner.SUITES, "programs", lambda _bundle: runner.Suite("C programs", passed=3))
    monkeypatch.setitem(runner.SUITES, "python", be_ended)
    with pytest.raises(KeyboardInterrupt):
        runner.main()
    report = json.loads(found.read_text())
    assert report["counts"] == {"passed": 3, "failed": 0, "skipped": 0} and len(report["suites"]) == 1
