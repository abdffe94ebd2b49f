"""What goes wrong on purpose, counted: `./dev trust [--quick | --long] [--json FILE]`.

Each part runs one program, or reads what a run has left behind, and finds its counts in the text; the numbers of one
match are multiplied ("16 threads x 4000 operations"), matches are added up. The quick form is part of `./dev test --all`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
ASAN = ROOT / "build/asan"
TSAN = ROOT / "build/tsan"
FUZZ = ROOT / "build/fuzz"
FAKE_DRIVER = {"VIADUCT_FAKECUDA_DEVICES": "2"}
STOOD_IN = {**FAKE_DRIVER, "VIADUCT_LIBCUDA": str(BUILD / "fakecuda/libcuda.so.1")}
PACKAGE = {"PYTHONPATH": str(BUILD / "python")}
CONFORMANCE = (sys.executable, "-m", "viaduct.conformance")
RESULTS = ROOT / "tests/conformance/results"
PEER_ROWS = r"^(?!rows)[a-z_.-]+ +(\d+)(?: +\d+){2,}"
MISUSE = r"^misuse, [^:]+: (\d+) rows"
FORMS = ("quick", "short", "long")


@dataclass(frozen=True)
class Part:
    """`needs` is what must be there: the program itself unless it is said. `form` is the shortest form that it is part
    of, and `when_long` are its other settings in the longest. Lines that match `remarks` are shown below the count."""

    counts: str  # what is counted
    of: str  # where
    pattern: str
    command: tuple[str | Path, ...]
    needs: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    when_long: dict[str, str] = field(default_factory=dict)
    form: str = "quick"
    remarks: str = ""


def stress(build: Path, room: str, of: str) -> Part:
    program = build / ("gpu/gpu_stress" if room == "gpu" else "tests/capi/capi_stress")
    settings = {**FAKE_DRIVER, "VIADUCT_LIBCUDA": str(build / "fakecuda/libcuda.so.1")} if room == "gpu" else {}
    pattern = r"^stress \w+: (\d+) threads x (\d+) operations"
    operations = ("200", "20000") if build == TSAN else ("4000", "200000")
    settings["VIADUCT_STRESS_OPERATIONS"] = operations[0]
    more = {"VIADUCT_STRESS_OPERATIONS": operations[1]}
    return Part("threads x operations", of, pattern, (program,), settings=settings, when_long=more)


def schedules(name: str, of: str) -> Part:
    pattern = r"^schedules: (\d+) of (\d+) steps"
    return Part("schedules x steps", of, pattern, (BUILD / "gpu" / name,), settings=STOOD_IN)


def misuse(language: str, program: Path, *arguments: Path) -> Part:
    settings = {**STOOD_IN, "VIADUCT_CHECK": "1"}
    return Part("misuse rows", language, MISUSE, (program, *arguments), program, settings=settings)


def faults(build: Path, of: str, form: str) -> Part:
    """In the longest form everything that is called fails once, where no sanitizer slows it down."""
    return Part(
        "faults injected",
        of,
        r"^fault: (\d+) faults injected",
        (build / "gpu/gpu_fault",),
        settings={**FAKE_DRIVER, "VIADUCT_LIBCUDA": str(build / "fakecuda/libcuda.so.1")},
        when_long={"VIADUCT_FAULTS": "all"} if build == BUILD else {},
        form=form,
        remarks=r"^fault: \d+ N tried.*|^.* of the first \d+ N$",
    )


def recorded(counts: str, of: str, pattern: str, results: Path) -> Part:
    """Of runs that take long, or another machine: what they left in the tree."""
    return Part(counts, of, pattern, ("cat", results))


PARTS = (
    stress(BUILD, "capi", "in host memory"),
    stress(BUILD, "gpu", "on the fake driver for the driver"),
    stress(TSAN, "capi", "in host memory, under ThreadSanitizer"),
    stress(TSAN, "gpu", "on the fake driver, under ThreadSanitizer"),
    misuse("C", BUILD / "gpu/gpu_misuse"),
    misuse("Fortran", BUILD / "tests/fortran/fortran_misuse", ROOT / "tests/misuse/table.tsv", BUILD),
    Part(
        "conformance rows",
        "Viaduct itself, now",
        PEER_ROWS,
        (*CONFORMANCE, "viaduct"),
        BUILD / "python",
        settings=PACKAGE,
        form="short",
    ),
    recorded("conformance rows x peers", "on the host, as recorded", r'"rows": (\d+)', RESULTS / "cpu.json"),
    recorded("conformance rows x peers", "on a GPU, as recorded", r'"rows": (\d+)', RESULTS / "cuda.json"),
    recorded("runs of fuzzers", "as recorded", r'"runs": (\d+)', ROOT / "tests/fuzz/results.json"),
    faults(BUILD, "allocations, driver calls, system calls", "short"),
    faults(ASAN, "the same, under AddressSanitizer", "long"),
    schedules("gpu_order_schedule", "order of streams, exports and uses"),
    schedules("gpu_capture_schedule", "graph capture"),
    Part(
        "misuse rows x languages",
        "each held to its answers by a test there",
        r"^misuse \w+: (\d+) rows answered",
        (sys.executable, ROOT / "tests/misuse/count.py"),
    ),
    Part(
        "inputs of fuzzers",
        "the corpora, under AddressSanitizer",
        r"^\w+: (\d+) inputs",
        (sys.executable, ROOT / "tests/fuzz/run.py", ASAN, "--corpora"),
        needs=ASAN / "tests/fuzz",
    ),
    Part(
        "runs of fuzzers",
        "a minute each",
        r"(\d+) runs in",
        (sys.executable, ROOT / "tests/fuzz/run.py", FUZZ),
        needs=FUZZ / "tests/fuzz",
        form="long",
    ),
    Part(
        "tests under valgrind memcheck",
        "the C programs",
        r"^memcheck: (\d+) tests",
        (sys.executable, ROOT / "tests/memcheck.py", BUILD),
        form="long",
    ),
)


@dataclass
class Outcome:
    counts: str
    of: str
    total: int = 0
    seconds: float = 0.0
    wrong: str = ""  # why it counts as failed
    left_out: str = ""
    remarks: list[str] = field(default_factory=list)


def add_up(pattern: str, text: str) -> int:
    """Of every match the product of its numbers."""
    found = [match.groups() for match in re.finditer(pattern, text, re.MULTILINE)]
    return sum(math.prod(int(number.replace(",", "")) for number in numbers) for numbers in found)


def run(part: Part, form: str) -> Outcome:
    outcome = Outcome(part.counts, part.of)
    needs = part.needs or Path(part.command[-1 if len(part.command) > 1 else 0])
    if FORMS.index(part.form) > FORMS.index(form):
        outcome.left_out = f"not in the {form} form"
    elif not needs.exists():
        outcome.left_out = f"there is no {needs.relative_to(ROOT) if needs.is_relative_to(ROOT) else needs}"
    else:
        start = time.monotonic()
        environment = {**os.environ, **part.settings, **(part.when_long if form == "long" else {})}
        words = [str(word) for word in part.command]
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        text = done.stdout + done.stderr
        outcome.seconds = round(time.monotonic() - start, 1)
        outcome.total = add_up(part.pattern, text)
        outcome.remarks = re.findall(part.remarks, text, re.MULTILINE) if part.remarks else []
        if done.returncode != 0 or outcome.total == 0:
            outcome.wrong = f"ended with status {done.returncode}: {text.strip()[-800:]}"
    return outcome


def show(outcome: Outcome) -> None:
    said = f"left out: {outcome.left_out}" if outcome.left_out else f"{outcome.total:>13,}  {outcome.seconds} s"
    print(f"{outcome.counts:<30} {outcome.of:<42} {said}", flush=True)
    for remark in outcome.remarks:
        print(f"    {remark}", flush=True)
    if outcome.wrong:
        print(f"    FAILED: {outcome.wrong}", flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev trust", description=__doc__)
    parser.add_argument("--quick", dest="form", action="store_const", const="quick", help="what takes seconds")
    parser.add_argument("--long", dest="form", action="store_const", const="long", help="everything, and more of it")
    parser.set_defaults(form="short")
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    asked = parser.parse_args(arguments)
    outcomes = []
    for part in PARTS:
        outcomes.append(run(part, asked.form))
        show(outcomes[-1])
    if asked.json:
        asked.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
