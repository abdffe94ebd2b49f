"""Runs what needs a GPU, on a machine that has one: `run.py [--bundle FOLDER] [--json FILE]`.

Needs a driver, a Python, and the folder that `./dev gpu-bundle` made: the C programs of tests/gpu, the package, pytest.
The suites: those programs; the same under compute-sanitizer where it is there; what the driver does, compared with
what the fake driver for it was built after; the Python tests of tests/gpu. By name only: the programs that launch kernels
under the other tools of compute-sanitizer, `--suites racecheck initcheck synccheck`, which share the cores among them and
take four minutes at most.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import importlib.util
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FACTS_SECONDS = 120
SANITIZED_SECONDS = 120
SANITIZED_AT_ONCE = 8
# Their kernels store to another device's memory, in pools that are opened to their own. compute-sanitizer of CUDA 13.0
# takes these addresses for no allocation, and ends the kernel. They are given one device there.
OPENING_POOLS = frozenset({"gpu_copy_population", "gpu_copy_strided", "gpu_copy_strided_order"})
PYTEST_SECONDS = 540
SKIPPED = 77


@dataclass
class Suite:
    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        self.failed += 1
        self.failures.append(f"{self.name}: {what}")


# ------------------------------------------------------------------------------------------------ the machine


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def driver_number() -> str | None:
    """The CUDA version of the driver, "13.0"; None where there is none with a device."""
    count, version = ctypes.c_int(), ctypes.c_int()
    try:
        driver = ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return None
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None
    driver.cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def nvidia_smi(column: str) -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", f"--query-gpu={column}", "--format=csv,noheader"]
    found = subprocess.run(query, stdout=subprocess.PIPE, text=True, check=False)
    return found.stdout.splitlines() if found.returncode == 0 else []


def describe_machine() -> dict[str, object]:
    return {
        "gpus": nvidia_smi("name"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


# ------------------------------------------------------------------------------------------------ C programs


class Bundle:
    """What the build made, carried here."""

    def __init__(self, folder: Path, program_seconds: int) -> None:
        self.folder = folder
        self.program_seconds = program_seconds
        self.commit = (folder / "commit").read_text().strip()
        self.programs = sorted((folder / "tests").iterdir())
        self.logs = folder / "logs"
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir()

    def environment(self) -> dict[str, str]:
        paths = [str(self.folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}

    def run(self, command: Sequence[str | Path], log: str, seconds: int, **settings: str) -> tuple[int, str]:
        """The exit status and the output, which also goes to a log; -1 of the status means that time ran out: then the
        programs that the command started end with it."""
        path = self.logs / f"{log}.log"
        with path.open("w") as output:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=ROOT,
                env={**self.environment(), **settings},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = -1
                output.write(f"\nended after {seconds} s\n")
        return status, path.read_text(errors="replace")


def names_after(mark: str, text: str) -> set[str]:
    return set(re.findall(rf"^\[\s*{mark}\s*\] (\w+)$", text, re.MULTILINE))


def count_cmocka(suite: Suite, program: str, status: int, text: str) -> None:
    """Adds the tests of one program: cmocka prints a line for each, and those that failed again at its end."""
    began, passed, skipped = names_after("RUN", text), names_after("OK", text), names_after("SKIPPED", text)
    suite.passed += len(passed)
    suite.skipped += len(skipped)
    for name in sorted(began - passed - skipped):
        suite.fail(f"{program}: {name}")
    if status == SKIPPED:
        suite.skipped += 1
        suite.notes.append(f"{program}: no driver with a device")
    elif not began or (status != 0 and began <= passed | skipped):
        suite.fail(f"{program}: ended with status {status}")


def run_programs(bundle: Bundle) -> Suite:
    suite = Suite("C programs")
    for program in bundle.programs:
        status, text = bundle.run([program], program.name, bundle.program_seconds)
        count_cmocka(suite, program.name, status, text)
    return suite


def sanitizer() -> str | None:
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer"
    )


def run_sanitized(bundle: Bundle) -> Suite:
    suite = Suite("C programs under compute-sanitizer memcheck")
    tool = sanitizer()
    if tool is None:
        suite.notes.append("compute-sanitizer is not here")
        return suite
    kept = 0
    sizes = {*ring_sizes(bundle, suite), size_limit("pinned_block"), *table_sizes()}
    with ThreadPoolExecutor(max_workers=min(SANITIZED_AT_ONCE, len(os.sched_getaffinity(0)))) as pool:
        outcomes = list(pool.map(lambda program: run_one_sanitized(bundle, tool, program), bundle.programs))
    for program, (status, text, _) in zip(bundle.programs, outcomes, strict=True):
        kept += kept_blocks(text, sizes)
        count_sanitized(suite, program.name, status, text, sizes)
    suite.notes.append(f"{kept} times a process kept the library's staging memory, as it is meant to")
    longest = sorted(zip((seconds for _, _, seconds in outcomes), bundle.programs, strict=True), reverse=True)[:3]
    suite.notes.append("longest: " + ", ".join(f"{program.name} {seconds:.0f} s" for seconds, program in longest))
    return suite


def run_one_sanitized(bundle: Bundle, tool: str, program: Path) -> tuple[int, str, float]:
    """The program's own exit status, the output and the seconds. Errors of the API are left out: the tests provoke
    them."""
    options = ["--tool", "memcheck", "--leak-check", "full", "--report-api-errors", "no", "--target-processes", "all"]
    settings = {"VIADUCT_TEST_MEMCHECK": "1"}
    if program.name in OPENING_POOLS:
        settings["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    start = time.monotonic()
    log = f"memcheck-{program.name}"
    status, text = bundle.run([tool, *options, program], log, SANITIZED_SECONDS, **settings)
    return status, text, time.monotonic() - start


def ring_sizes(bundle: Bundle, suite: Suite) -> set[int]:
    """The sizes of the staging rings of each device, which are the same for all; {0} if the package does not report.
    The first ones have a sixteenth and three of the whole, the last one what is left."""
    question = "import viaduct; print(viaduct.device_info('cuda:0')['staging_bytes'])"
    status, text = bundle.run([sys.executable, "-c", question], "ring", FACTS_SECONDS, **python_environment(bundle))
    if status != 0:
        suite.notes.append(f"the size of the staging ring is not known: {text.strip()[-200:]}")
        return {0}
    whole = int(text)
    return {whole * sixteenths // 16 for sixteenths in (1, 3, 12, 13, 15, 16)}


def size_limit(name: str) -> int:
    """The size of the block that small copies pass through, or of a table of a batch."""
    text = (ROOT / "src/cuda/driver/resource_limits.h").read_text()
    return int(re.search(rf"via_{name}_bytes = (\d+)", text)[1])  # type: ignore[index]


def table_sizes() -> set[int]:
    """Tables are kept for the next batch; they are powers of two apart."""
    size, most = size_limit("min_table"), size_limit("max_table")
    return {size << power for power in range((most // size).bit_length())}


def kept_blocks(text: str, sizes: set[int]) -> int:
    """How many of the leaks in a report are staging memory, which the library keeps until the process is gone: it makes
    no call of CUDA's as that ends. A context made later has such memory mapped too, and is said to leak it as well."""
    leaks = re.findall(r"^=+ Leaked ([\d,]+) bytes at (\w+)\n((?:=+ {2,}\S.*\n)+)", text, re.MULTILINE)
    leaks = [(int(size.replace(",", "")), address, trace) for size, address, trace in leaks]
    staging = [address for size, address, trace in leaks if size in sizes and is_trace_of_staging(trace)]
    mapped = [address for _, address, trace in leaks if "Host Frame: cuDevicePrimaryCtxRetain" in trace]
    return len(staging) + sum(address in staging for address in mapped)


def is_trace_of_staging(trace: str) -> bool:
    """Host memory that the library itself had pinned, or its scratch memory on the device next to it, and not for
    an array of its caller's."""
    frames = re.findall(r"Host Frame: *(\w*) *\[\w+\] in (\S+)", trace)
    functions, libraries = [name for name, _ in frames], [library for _, library in frames]
    return (
        len(frames) > 1
        and functions[0].partition("_")[0] in ("cuMemHostRegister", "cuMemAlloc")
        and libraries[1].startswith("libviaduct.so")
        and "via_empty" not in functions
    )


def count_sanitized(suite: Suite, program: str, status: int, text: str, sizes: set[int]) -> None:
    summaries = re.findall(r"ERROR SUMMARY: (\d+) error", text)
    errors = sum(map(int, summaries)) - kept_blocks(text, sizes)
    failed = names_after("RUN", text) - names_after("OK", text) - names_after("SKIPPED", text)
    if errors:
        suite.fail(f"{program}: {errors} errors")
    elif status not in (0, SKIPPED):
        suite.fail(f"{program}: ended with status {status}; {', '.join(sorted(failed)) or 'no test'} failed")
    elif not summaries:
        suite.fail(f"{program}: nothing is said of errors")
    else:
        suite.passed += status == 0
        suite.skipped += status == SKIPPED


# ------------------------------------------------------------------------------------------------ kernels


@dataclass(frozen=True)
class KernelTool:
    """A tool of compute-sanitizer that looks at kernels alone. Its summary ends each process's part of the output."""

    name: str
    summary: str


KERNEL_TOOLS = {
    "racecheck": KernelTool("racecheck", r"RACECHECK SUMMARY: (\d+) hazard"),
    "initcheck": KernelTool("initcheck", r"ERROR SUMMARY: (\d+) error"),
    "synccheck": KernelTool("synccheck", r"ERROR SUMMARY: (\d+) error"),
}
# The programs in which kernels of the library run, counted on the fake driver, those with the most launches first. All
# other programs copy by the driver, whose kernels the tools do not look into; copy_peer takes two devices, and
# copy_strided_faults a driver that can be made to fail.
KERNEL_PROGRAMS = (
    "gpu_batch_fused",
    "gpu_copy_strided",
    "gpu_copy_strided_pinned",
    "gpu_batch_order",
    "gpu_copy_strided_order",
    "gpu_file",
    "gpu_stress",
    "gpu_batch",
)
KERNEL_SECONDS = 200  # of one program under one tool
KERNEL_SUITES_SECONDS = 210  # of all of them
FINDING = (
    r"^=+ ((?:(?:E(?:rror|RROR)|W(?:arning|ARNING)): |Uninit|Invalid|Barrier|Divergent|Missing|Host API)[^\n]*)\n"
    r"(?:=+ +at ([^\n]*))?"
)
# The tool lost sight of a launch, as where a process ends while its threads launch. racecheck counts it as an error.
OF_THE_TOOL = r"^=+ (Internal Sanitizer Error: Detected a failure to track a kernel launch[^\n]*)"


@dataclass
class KernelRun:
    status: int
    text: str
    seconds: float


class KernelRuns:
    """Every program under every tool asked for, all in one queue, the longest first, so that no core waits for the last
    of a suite; each outcome is asked for where its suite is counted."""

    def __init__(self, bundle: Bundle, names: list[str]) -> None:
        self.bundle = bundle
        self.tool = sanitizer()
        self.programs = [bundle.folder / "tests" / name for name in KERNEL_PROGRAMS]
        self.programs = [program for program in self.programs if program.exists()]
        self.end = time.monotonic() + KERNEL_SUITES_SECONDS
        self.pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
        kinds = [kind for name, kind in KERNEL_TOOLS.items() if name in names]
        self.outcomes = {
            (kind.name, program.name): self.pool.submit(self.run, kind, self.tool, program)
            for program in self.programs
            for kind in kinds
            if self.tool is not None
        }

    def run(self, kind: KernelTool, tool: str, program: Path) -> KernelRun:
        """The callers' memory of the tests is initialised, so that initcheck finds what the library's own kernels read
        without having written it: scratch memory and tables. The gaps of strided sources may be read along."""
        start = time.monotonic()
        seconds = max(1, min(KERNEL_SECONDS, int(self.end - start)))
        command = [tool, "--tool", kind.name, "--target-processes", "all", program]
        settings = {"VIADUCT_TEST_MEMCHECK": "1", "VIADUCT_TEST_KERNEL_TOOL": kind.name}
        status, text = self.bundle.run(command, f"{kind.name}-{program.name}", seconds, **settings)
        return KernelRun(status, text, time.monotonic() - start)

    def suite(self, name: str) -> Suite:
        kind = KERNEL_TOOLS[name]
        suite = Suite(f"programs with kernels under compute-sanitizer {name}")
        if self.tool is None:
            suite.notes.append("compute-sanitizer is not here")
            return suite
        tests = 0
        for program in self.programs:
            done = self.outcomes[name, program.name].result()
            count_kernel_findings(suite, kind, program.name, done.status, done.text)
            tests += len(names_after("OK", done.text))
            suite.notes.append(f"{program.name}: {len(names_after('OK', done.text))} tests, {done.seconds:.0f} s")
        suite.notes.append(f"{len(self.programs)} programs, {tests} tests")
        return suite


def kernel_findings(text: str) -> list[str]:
    """What was found and in which kernel, the most frequent first, each with how often."""
    found = Counter(
        re.sub(r"0x[0-9a-f]+|\+$", "", f"{what} at {where.split('+')[0]}" if where else what)
        for what, where in re.findall(FINDING, text, re.MULTILINE)
    )
    if not found:  # what the tool says in words that are not known here
        return re.findall(r"^=+ (?!COMPUTE-SANITIZER)[^\n]+", text, re.MULTILINE)[:12]
    return [f"{count} x {what}" for what, count in found.most_common(6)]


def count_kernel_findings(suite: Suite, kind: KernelTool, program: str, status: int, text: str) -> None:
    summaries = re.findall(kind.summary, text)
    failed = names_after("RUN", text) - names_after("OK", text) - names_after("SKIPPED", text)
    own = re.findall(OF_THE_TOOL, text, re.MULTILINE)
    suite.notes += [f"{program}: {line}" for line in own]
    if (findings := sum(map(int, summaries)) - len(own)) > 0:
        suite.fail(f"{program}: {findings} findings")
        suite.notes += [f"{program}: {line}" for line in kernel_findings(text)]
    elif status not in (0, SKIPPED):
        suite.fail(f"{program}: ended with status {status}; {', '.join(sorted(failed)) or 'no test'} failed")
    elif not summaries:
        suite.fail(f"{program}: nothing is said of findings")
    else:
        suite.passed += status == 0
        suite.skipped += status == SKIPPED


# ------------------------------------------------------------------------------------------------ facts


def is_fake_driver() -> bool:
    return hasattr(ctypes.CDLL(os.environ.get("VIADUCT_LIBCUDA") or "libcuda.so.1"), "fake_reset")


def compare_facts(bundle: Bundle) -> Suite:
    """What the fake driver was built after, asked of this machine's driver; each line that differs is a failure."""
    suite = Suite("facts about the driver")
    if is_fake_driver():
        suite.notes.append("the driver here is the fake driver, whose own tests do this")
        return suite
    program, facts = bundle.folder / "bin" / "fakecuda_facts", ROOT / "tests/fakecuda/facts"
    comparisons = [("recorded.txt", [])]
    if len(nvidia_smi("name")) > 1:
        comparisons.append(("recorded_peers.txt", ["peers"]))
    else:
        suite.notes.append("those of peers need two devices")
    for recording, words in comparisons:
        known = facts / recording
        found = bundle.logs / f"found-{recording}"
        log = f"facts-{known.stem}"
        status, text = bundle.run([program, "--compare", known, known, found, *words], log, FACTS_SECONDS)
        if status == 0:
            suite.passed += 1
        else:
            suite.fail(f"{recording}: {text.strip()[-800:]}")
    return suite


# ------------------------------------------------------------------------------------------------ Python


def has_pytest() -> bool:
    return all(importlib.util.find_spec(name) for name in ("pytest", "pytest_timeout"))


def python_environment(bundle: Bundle) -> dict[str, str]:
    """This machine's own pytest knows its plugins; where there is none, the one carried along serves."""
    carried = "" if has_pytest() else str(bundle.folder / "pure")
    paths = [str(bundle.folder / "python"), carried, os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": ":".join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "VIADUCT_BUILD_DIR": str(bundle.folder),
    }


def count_junit(suite: Suite, report: Path) -> None:
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            suite.fail(name)
        elif (skip := case.find("skipped")) is not None:
            suite.skipped += 1
            suite.notes.append(f"{name}: {skip.get('message') or first_line(skip.text)}")
        else:
            suite.passed += 1


def first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def run_pytest(bundle: Bundle) -> Suite:
    suite = Suite("Python")
    report = bundle.logs / "pytest.xml"
    command = [sys.executable, "-m", "pytest", "tests/gpu", "-p", "no:cacheprovider", f"--junitxml={report}"]
    status, text = bundle.run(command, "pytest", PYTEST_SECONDS, **python_environment(bundle))
    if report.exists():
        count_junit(suite, report)
    if status not in (0, 1) or (status == 1 and not suite.failures):
        suite.fail(f"pytest ended with status {status}: {text.strip()[-400:]}")
    return suite


# ------------------------------------------------------------------------------------------------ all together


SUITES = {"programs": run_programs, "facts": compare_facts, "python": run_pytest, "memcheck": run_sanitized}
BY_DEFAULT = tuple(SUITES)
ALL_SUITES = (*SUITES, *KERNEL_TOOLS)


def show(suite: Suite) -> None:
    counts = f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped"
    print(f"{suite.name:<46} {counts}, {suite.seconds:.0f} s", flush=True)
    for line in [*suite.failures, *suite.notes]:
        print(f"    {line}", flush=True)


def run_suites(bundle: Bundle, names: list[str]) -> Iterator[Suite]:
    kernel_runs = None
    for name in names:
        start = time.monotonic()
        if name in SUITES:
            suite = SUITES[name](bundle)
        else:
            kernel_runs = kernel_runs or KernelRuns(bundle, names)
            suite = kernel_runs.suite(name)
        suite.seconds = round(time.monotonic() - start, 1)
        show(suite)
        yield suite


def make_report(bundle: Bundle, driver: str, suites: list[Suite]) -> dict[str, object]:
    return {
        "machine": describe_machine(),
        "driver": {"cuda": driver, "version": (nvidia_smi("driver_version") or [None])[0]},
        "commit": bundle.commit,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "counts": {kind: sum(getattr(suite, kind) for suite in suites) for kind in ("passed", "failed", "skipped")},
        "failures": [failure for suite in suites for failure in suite.failures],
        "suites": [asdict(suite) for suite in suites],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=ROOT / "build" / "gpu", help="the folder that the build made")
    parser.add_argument(
        "--json", type=Path, help="also write machine, driver, commit, counts and failures to this file"
    )
    parser.add_argument(
        "--suites", nargs="+", choices=ALL_SUITES, default=BY_DEFAULT, help="which to run; the first four by default"
    )
    parser.add_argument("--program-seconds", type=int, default=120, help="how long one C program may take")
    arguments = parser.parse_args()
    driver = driver_number()
    if driver is None:
        print("no CUDA driver with a device on this machine", file=sys.stderr)
        return 1
    bundle = Bundle(arguments.bundle.resolve(), arguments.program_seconds)
    print(f"{', '.join(nvidia_smi('name')) or 'a device'}; driver of CUDA {driver}; built from {bundle.commit}")
    suites: list[Suite] = []
    report = make_report(bundle, driver, suites)
    for suite in run_suites(bundle, arguments.suites):
        suites.append(suite)
        report = make_report(bundle, driver, suites)
        if arguments.json:  # after each of them: what ends the next one leaves what there is
            arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"in all: {report['counts']}; logs: {bundle.logs}")
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
