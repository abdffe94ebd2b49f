"""The runner of the GPU tests tells what the library keeps from what somebody has leaked."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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
    sizes = {RING, runner.kept_size("block"), *runner.table_sizes()}
    runner.count_sanitized(suite, "gpu_batch", status, text, sizes)
    return suite.passed, suite.failed, suite.skipped


def test_a_ring_that_is_kept_is_no_error(runner: ModuleType) -> None:
    assert outcome(runner, 0, report(THE_RING)) == (1, 0, 0)
    assert outcome(runner, 0, report(THE_RING, THE_RING)) == (1, 0, 0)


def test_the_memory_of_small_copies_is_kept_as_well(runner: ModuleType) -> None:
    block = leak(runner.kept_size("block"), REGISTERED, LIBRARY, COPY, PROGRAM)
    assert outcome(runner, 0, report(THE_RING, block)) == (1, 0, 0)


def test_tables_of_batches_of_every_size_are_kept_as_well(runner: ModuleType) -> None:
    tables = [leak(131072 << power, REGISTERED, LIBRARY, COPY, PROGRAM) for power in range(10)]
    assert outcome(runner, 0, report(*tables)) == (1, 0, 0)


def test_what_a_later_context_is_said_to_leak_is_kept_if_it_is_the_same_memory(runner: ModuleType) -> None:
    again = leak(RING, RETAINED, PROGRAM)
    assert outcome(runner, 0, report(THE_RING, again)) == (1, 0, 0)
    assert outcome(runner, 0, report(again)) == (0, 1, 0)


def test_scratch_memory_beside_the_ring_is_kept_as_well(runner: ModuleType) -> None:
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
