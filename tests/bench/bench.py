"""Times this library and its peers in one run: `bench.py cpu|gpu [--json FILE] [--table] [--plot]`.

The rows come from small C and C++ programs, which print one JSON object a line, and from a Python module. Each has
"case", "unit", "viaduct", "peers", "limit", and "target": {"value_at_most": x}, or {"peer": name} and the ratio that is
to be "at_most" or "at_least"; next to at_most, "and_plus" is what may be added to that, and "or_plus" what may be added to
the peer's value if that is more; "plus_at_most" stands for that alone, and "limit_at_least" for a part of the limit.
Medians everywhere. A part that fails leaves its rows out, and is reported at the end.

--plot draws the rows of the link as a picture, by default into the folder of the results; with --from the rows are those
of a file, and nothing is measured.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "cpu": ("bench_api", "bench_copy"),
    "gpu": ("bench_gpu_calls", "bench_gpu_copy", "bench_gpu_link", "bench_gpu_batch"),
}
MODULES = {
    "cpu": (
        HERE / "bench_python.py",
        HERE / "bench_apart.py",
        HERE / "bench_files.py",
        HERE / "bench_archive.py",
        HERE / "bench_indexed.py",
        HERE / "bench_convert.py",
        HERE / "bench_java.py",
        HERE / "bench_csharp.py",
    ),
    "gpu": (
        *(HERE / "gpu" / f"bench_gpu_{part}.py" for part in ("python", "transpose", "files")),
        HERE / "bench_archive.py",
        HERE / "bench_indexed.py",
        HERE / "bench_convert.py",
    ),
}
PEERS = {
    "cpu": ("numpy", "torch", "jax", "safetensors"),
    "gpu": (
        *("numpy", "torch", "cupy-cuda13x", "cupy-cuda12x", "numba", "jax", "kvikio-cu13", "kvikio-cu12"),
        *("safetensors", "fastsafetensors", "instanttensor", "runai-model-streamer"),
    ),
}


def cpu_facts() -> dict[str, str]:
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def versions_of(peers: tuple[str, ...]) -> dict[str, str]:
    versions = {}
    for peer in peers:
        try:
            versions[peer] = importlib.metadata.version(peer)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def describe_gpus() -> dict[str, object]:
    sys.path.insert(0, str(HERE.parent / "gpu"))
    import run

    return {"gpus": run.nvidia_smi("name"), "driver": run.nvidia_smi("driver_version")[:1], "cuda": run.driver_number()}


def describe_machine(suite: str) -> dict[str, object]:
    facts = cpu_facts()
    flags = facts.get("flags", "").split()
    gpus = describe_gpus() if suite == "gpu" else {}
    return {
        "cpu": facts.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "simd": [flag for flag in ("sse2", "avx2", "avx512f", "asimd") if flag in flags],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "peers": versions_of(PEERS[suite]),
        **gpus,
    }


def find_commit() -> str | None:
    """That of the build, where it was made elsewhere; else that of the sources."""
    carried = Path(os.environ["VIADUCT_BUILD_DIR"]) / "commit"
    if carried.exists():
        return carried.read_text().strip()
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None


def run_program(name: str) -> list[dict]:
    program = Path(os.environ["VIADUCT_BUILD_DIR"]) / "bench" / name
    print(f"running {name} ...", file=sys.stderr)
    output = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def run_module(path: Path) -> list[dict]:
    print(f"running {path.stem} ...", file=sys.stderr)
    sys.path[:0] = [str(HERE), str(path.parent)]
    rows: list[dict] = importlib.import_module(path.stem).rows()
    return rows


def parts_of(suite: str) -> list[str]:
    return [*PROGRAMS[suite], *(path.stem for path in MODULES[suite])]


def collect(suite: str, parts: list[str]) -> tuple[list[dict], list[str]]:
    """The rows, and what failed."""
    rows, failures = [], []
    modules = {path.stem: path for path in MODULES[suite]}
    for name in parts:
        try:
            rows += run_module(modules[name]) if name in modules else run_program(name)
        except Exception:  # noqa: BLE001  (reported at the end)
            traceback.print_exc()
            failures.append(name)
    return rows, failures


def compare(value: float, reference: float, target: dict, unit: str) -> tuple[str, str, bool]:
    """What is wanted of a value next to a reference, what it is, and whether that will do."""
    name, ratio, extra = target["peer"], value / reference, value - reference
    if "plus_at_most" in target:
        plus = target["plus_at_most"]
        return f"<= {name} + {plus} {unit}", f"{extra:+.3g} {unit}", extra <= plus
    if "at_least" in target:
        return f">= {target['at_least']:g} x {name}", f"{ratio:.2f} x", ratio >= target["at_least"]
    wanted, most = f"<= {target['at_most']:.3g} x {name}", target["at_most"] * reference
    if "and_plus" in target:
        wanted, most = f"{wanted} + {target['and_plus']} {unit}", most + target["and_plus"]
    if "or_plus" in target:
        wanted, most = f"{wanted} or + {target['or_plus']} {unit}", max(most, reference + target["or_plus"])
    return wanted, f"{ratio:.2f} x", value <= most


def judge(row: dict) -> tuple[str, str]:
    """What is wanted, in words, and what there is, with a verdict."""
    target = row.get("target")
    if not target:
        return "", ""
    if "value_at_most" in target:
        met = row["viaduct"] <= target["value_at_most"]
        return f"<= {target['value_at_most']} {row['unit']}", "met" if met else "MISSED"
    if "limit_at_least" in target:
        part = row["viaduct"] / row["limit"]
        met = part >= target["limit_at_least"]
        return f">= {target['limit_at_least']:g} x limit", f"{part:.2f} x, {'met' if met else 'MISSED'}"
    reference = row["peers"].get(target["peer"])
    if reference is None:
        return "", f"{target['peer']} is not here"
    wanted, found, met = compare(row["viaduct"], reference, target, row["unit"])
    return wanted, f"{found}, {'met' if met else 'MISSED'}"


def table_line(row: dict) -> str:
    """A row as the tables of docs/performance have it; without a target, its last two cells are empty."""
    wanted, verdict = judge(row)
    peers = ", ".join(f"{name} {value:.4g}" for name, value in row["peers"].items())
    words = wanted.replace("<=", "at most").replace(">=", "at least")
    case = row["case"].replace("__", r"\_\_")  # else Markdown's emphasis
    return f"| {case} | {row['viaduct']:.4g} {row['unit']} | {peers} | {words} | {verdict if wanted else ''} |"


def table_of(rows: list[dict]) -> Iterator[str]:
    """Every row: a mean stands below the rows that it is of."""
    return map(table_line, rows)


def show(rows: list[dict]) -> None:
    for row in rows:
        peers = ", ".join(f"{name} {value:.4g}" for name, value in row["peers"].items())
        wanted, verdict = judge(row)
        row["verdict"] = verdict
        print(f"{row['case']:<58} {row['viaduct']:>9.4g} {row['unit']:<5} {peers:<34} {wanted:<34} {verdict}")


def measure(suite: str, parts: list[str]) -> tuple[dict, list[str]]:
    """The report, and what failed."""
    machine = describe_machine(suite)
    rows, failures = collect(suite, parts)
    return {"machine": machine, "commit": find_commit(), "rows": rows}, failures


def read(path: Path) -> dict:
    report: dict = json.loads(path.read_text())
    return report


def draw(report: dict, folder: Path) -> bool:
    try:
        importlib.import_module("plot").draw(report, folder)
    except ImportError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=list(PROGRAMS))
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--table", action="store_true", help="also print the rows as Markdown")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=HERE / "results", help="also draw a picture, to this folder"
    )
    parser.add_argument("--from", type=Path, dest="given", help="take the rows of this file, and measure nothing")
    parser.add_argument("--parts", nargs="+", help="programs and modules to run, all by default")
    arguments = parser.parse_args()
    parts = arguments.parts or parts_of(arguments.suite)
    if unknown := set(parts) - set(parts_of(arguments.suite)):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts_of(arguments.suite))}")
    report, failures = measure(arguments.suite, parts) if not arguments.given else (read(arguments.given), [])
    show(report["rows"])
    if arguments.table:
        print(*table_of(report["rows"]), sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.plot and not draw(report, arguments.plot):
        failures.append("the picture: matplotlib is not here; where it is, --plot --from FILE draws it")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
