"""The C tests under valgrind's memcheck: `memcheck.py BUILD`.

Nothing is suppressed. What is distinguished is where the library asks the system whether an address can be read, by a call
that answers for any address and touches nothing (`is_readable`), and what the tests themselves do wrong on purpose.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 900
OPTIONS = ["--leak-check=full", "--show-leak-kinds=definite", "--num-callers=16"]
SETTINGS = {"VIADUCT_STRESS_OPERATIONS": "200", "VIADUCT_STRESS_WITHOUT_FORK": "1"}
# Its own malloc is not the one that valgrind puts in its place.
LEFT_OUT = {"capi_out_of_memory"}


def programs(build: Path) -> list[Path]:
    found = sorted((build / "tests/capi").glob("capi_*"))
    return [path for path in found if os.access(path, os.X_OK) and path.is_file() and path.name not in LEFT_OUT]


def run(program: Path) -> tuple[int, str]:
    words = ["valgrind", *OPTIONS, str(program)]
    try:
        done = subprocess.run(
            words, env={**os.environ, **SETTINGS}, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return -1, f"ended after {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def findings(text: str) -> list[str]:
    """The errors and definite leaks of a report, each with the calls that led to it. Of a forked child, which ends where
    it is and releases nothing that its parent has, only the errors."""
    processes = re.findall(r"^==(\d+)==", text, re.MULTILINE)
    found = []
    for process in dict.fromkeys(processes):
        lines = "\n".join(re.findall(rf"^(=={process}==.*)$", text, re.MULTILINE)) + "\n"
        lines = lines.replace(f"=={process}== ", "==").replace(f"=={process}==", "==")
        blocks = re.findall(r"^==(\S[^\n]*\n(?:== +(?:at|by) [^\n]*\n)+)", lines, re.MULTILINE)
        is_child = process != processes[0]
        found += [block for block in blocks if not (is_child and "definitely lost" in block.split("\n")[0])]
    return [block for block in found if not block.startswith(("Address", "Block"))]


def is_question(finding: str) -> bool:
    """Whether it is the question if an address can be read."""
    return finding.startswith("Syscall param rt_sigprocmask(set)") and "via::is_readable(" in finding


def is_of_library(finding: str) -> bool:
    return "libviaduct.so" in finding


def main(build: Path) -> int:
    if shutil.which("valgrind") is None:
        print("valgrind is not here", file=sys.stderr)
        return 1
    chosen = programs(build)
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(run, chosen))
    wrong = [
        f"{program.name}: ended with {status}" for program, (status, _) in zip(chosen, outcomes, strict=True) if status
    ]
    found = [finding for _, text in outcomes for finding in findings(text) if is_of_library(finding)]
    wrong += [finding for finding in found if not is_question(finding)]
    tests = sum(len(re.findall(r"^\[ +OK \]", text, re.MULTILINE)) for _, text in outcomes)
    print(f"memcheck: {tests} tests of {len(chosen)} programs; {len(wrong)} wrong, {len(found)} found in all")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
