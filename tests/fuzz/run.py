"""Runs the fuzzers of a build with libFuzzer, and counts what they ran.

    python tests/fuzz/run.py BUILD [NAME...] [--json FILE] [--minimise] [-- OPTION...]
    python tests/fuzz/run.py BUILD [NAME...] --corpora

What is found interesting goes to BUILD/inputs/NAME, which the next run goes on from; --minimise then keeps in
corpus/NAME.txt what reaches as much of the library, as often. There an input is a line of hexadecimal digits, and those
that stay for good come first, below lines that say why. With --corpora the programs of a build without libFuzzer run
those and nothing else.

What is in Python is fuzzed by Atheris, with the same options, where it is installed and build/test has the package.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CHOSEN = "# chosen by what they reach"
PACKAGE = FOLDER.parents[1] / "build/test/python"
USUAL = ["-max_len=256", "-len_control=20", "-entropic=0", "-reduce_inputs=0", "-max_total_time=60"]
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def programs(build: Path) -> dict[str, list[str]]:
    """The fuzzers, by name, each as a command begins."""
    found = sorted((build / "tests/fuzz").glob("fuzz_*"))
    native = {path.name.removeprefix("fuzz_"): [str(path)] for path in found if path.is_file()}
    return native | in_python()


def in_python() -> dict[str, list[str]]:
    found = sorted(FOLDER.glob("fuzz_*.py")) if PACKAGE.is_dir() else []
    return {path.stem.removeprefix("fuzz_"): [sys.executable, str(path)] for path in found}


def can_fuzz(name: str) -> bool:
    return name not in in_python() or importlib.util.find_spec("atheris") is not None


def environment(build: Path, name: str) -> dict[str, str]:
    """With the package, and the fake CUDA driver where there is one: that of the package's own build in Python."""
    driver = (PACKAGE.parent if name in in_python() else build) / "fakecuda/libcuda.so.1"
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))}
    return os.environ | SANITIZERS | paths | ({"VIADUCT_LIBCUDA": str(driver)} if driver.exists() else {})


def fuzz(build: Path, name: str, options: list[str]) -> dict[str, object]:
    """One fuzzer until it finds something or has run as much as it was asked to."""
    inputs = unpack(name, build / "inputs" / name)
    words = FOLDER / f"{name}.dict"
    chosen = [*USUAL, f"-artifact_prefix={build}/{name}-", *([f"-dict={words}"] if words.exists() else []), *options]
    command = [*programs(build)[name], *chosen, "-print_final_stats=1", inputs]
    start = time.monotonic()
    done = subprocess.run(
        [str(word) for word in command],
        env=environment(build, name),
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    if done.returncode:
        print(done.stderr[-8000:], file=sys.stderr)
    return {
        "fuzzer": name,
        "runs": int(runs[1]) if runs else 0,
        "seconds": round(time.monotonic() - start),
        "found": "something" if done.returncode else "nothing",
    }


def read_corpus(name: str) -> tuple[list[str], list[str]]:
    """The lines that stay for good, and the inputs that libFuzzer chose."""
    path = FOLDER / "corpus" / f"{name}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    border = lines.index(CHOSEN) if CHOSEN in lines else len(lines)
    return lines[:border], lines[border + 1 :]


def unpack(name: str, folder: Path) -> Path:
    """The corpus as libFuzzer reads it: a file an input."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in [line for part in read_corpus(name) for line in part if line and not line.startswith("#")]:
        content = bytes.fromhex(line)
        (folder / hashlib.sha1(content, usedforsecurity=False).hexdigest()).write_bytes(content)
    return folder


def minimise(build: Path, name: str) -> None:
    """Chooses anew among what was found interesting."""
    kept, _ = read_corpus(name)
    with tempfile.TemporaryDirectory() as scratch:
        command = [*programs(build)[name], "-merge=1", scratch, build / "inputs" / name]
        subprocess.run([str(word) for word in command], env=environment(build, name), check=True)
        found = sorted(
            (path.read_bytes().hex() for path in Path(scratch).iterdir()), key=lambda line: (len(line), line)
        )
    lines = kept + [CHOSEN] + [line for line in found if line and line not in kept]
    (FOLDER / "corpus" / f"{name}.txt").write_text("\n".join(lines) + "\n")


def run_corpus(build: Path, name: str) -> bool:
    given = ["--inputs"] if name in in_python() else []
    command = [*programs(build)[name], *given, FOLDER / "corpus" / f"{name}.txt"]
    done = subprocess.run(
        [str(word) for word in command], env=environment(build, name), capture_output=True, text=True, check=False
    )
    print(f"{name}: {done.stdout.strip()}" if done.returncode == 0 else f"{name}: FAILED\n{done.stderr}", flush=True)
    return done.returncode == 0


def said_by(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.stdout.strip().split("\n")[0]


def main() -> int:
    given = sys.argv[1:]
    own, options = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    parser = argparse.ArgumentParser(
        prog="fuzz", description="The fuzzers, each for a minute if no option says otherwise."
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--minimise", action="store_true")
    parser.add_argument("--corpora", action="store_true")
    asked = parser.parse_args(own)
    build = asked.build.resolve()
    known = programs(build)
    for name in asked.names:
        if name not in known:
            parser.error(f"there is no fuzzer {name}; expected one of {', '.join(known)}")
    if asked.corpora:
        held = [run_corpus(build, name) for name in asked.names or known]
        return 0 if all(held) else 1
    rows = []
    for name in asked.names or known:
        if not can_fuzz(name):
            print(f"{name:16} left out: Atheris is not installed", flush=True)
            continue
        rows.append(fuzz(build, name, options))
        print("{fuzzer:16} {runs:>10} runs in {seconds:>5} s, found {found}".format(**rows[-1]), flush=True)
        if asked.minimise:
            minimise(build, name)
    if asked.json:
        about = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "compiler": said_by("clang", "--version")}
        about["commit"] = said_by("git", "-C", FOLDER, "describe", "--always", "--dirty", "--abbrev=12")
        asked.json.write_text(json.dumps(about | {"rows": rows}, indent=2) + "\n")
    return 1 if any(row["found"] != "nothing" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
