"""The C tests under valgrind's memcheck: `memcheck.py BUILD`. Nothing is suppressed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 900
OPTIONS = ["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]
# Its own malloc is not the one that valgrind puts in its place.
LEFT_OUT = {"capi_out_of_memory"}
WRONG = 99


def programs(build: Path) -> list[Path]:
    found = sorted((build / "tests/capi").glob("capi_*"))
    return [path for path in found if os.access(path, os.X_OK) and path.is_file() and path.name not in LEFT_OUT]


def run(program: Path) -> tuple[int, str]:
    environment = {**os.environ, "VIADUCT_STRESS_OPERATIONS": "200"}
    words = ["valgrind", *OPTIONS, f"--error-exitcode={WRONG}", str(program)]
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, f"ended after {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def main(build: Path) -> int:
    if shutil.which("valgrind") is None:
        print("valgrind is not here", file=sys.stderr)
        return 1
    chosen = programs(build)
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(run, chosen))
    failures = [(program, text) for program, (status, text) in zip(chosen, outcomes, strict=True) if status != 0]
    for program, text in failures:
        print(f"{program.name}:\n{text}", file=sys.stderr)
    tests = sum(len(re.findall(r"^\[ +OK \]", text, re.MULTILINE)) for _, text in outcomes)
    print(f"memcheck: {tests} tests of {len(chosen)} programs, {len(failures)} with errors")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
