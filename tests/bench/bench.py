"""Times this library and its peers in one run: `bench.py cpu [--json FILE]`.

The rows come from small C and C++ programs, which print one JSON object a line, and from bench_python.py. Each has
"case", "unit", "viaduct", "peers", "limit", and "target": {"peer": name, and the ratio that is to be "at_most" or
"at_least"}, or {"value_at_most": x}. Medians everywhere.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("bench_api", "bench_copy")
PEERS = ("numpy", "torch", "jax")


def cpu_facts() -> dict[str, str]:
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def describe_machine() -> dict[str, object]:
    facts = cpu_facts()
    flags = facts.get("flags", "").split()
    versions = {}
    for peer in PEERS:
        try:
            versions[peer] = importlib.metadata.version(peer)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpu": facts.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "simd": [flag for flag in ("sse2", "avx2", "avx512f", "asimd") if flag in flags],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "peers": versions,
    }


def find_commit() -> str | None:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None


def run_program(name: str) -> list[dict]:
    program = Path(os.environ["VIADUCT_BUILD_DIR"]) / "bench" / name
    print(f"running {name} ...", file=sys.stderr)
    output = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def collect() -> list[dict]:
    rows = [row for name in PROGRAMS for row in run_program(name)]
    print("running bench_python ...", file=sys.stderr)
    import bench_python

    return rows + bench_python.rows()


def judge(row: dict) -> tuple[str, str]:
    """The wanted ratio in words, and the ratio that there is, with a verdict."""
    target = row.get("target")
    if not target:
        return "", ""
    if "value_at_most" in target:
        met = row["viaduct"] <= target["value_at_most"]
        return f"<= {target['value_at_most']} {row['unit']}", "met" if met else "MISSED"
    name = target["peer"]
    reference = row["peers"].get(name)
    if reference is None:
        return "", f"{name} is not here"
    ratio = row["viaduct"] / reference
    if "at_most" in target:
        return f"<= {target['at_most']} x {name}", f"{ratio:.2f} x, {'met' if ratio <= target['at_most'] else 'MISSED'}"
    return f">= {target['at_least']} x {name}", f"{ratio:.2f} x, {'met' if ratio >= target['at_least'] else 'MISSED'}"


def show(rows: list[dict]) -> None:
    for row in rows:
        peers = ", ".join(f"{name} {value:.4g}" for name, value in row["peers"].items())
        wanted, verdict = judge(row)
        row["verdict"] = verdict
        print(f"{row['case']:<58} {row['viaduct']:>9.4g} {row['unit']:<5} {peers:<34} {wanted:<26} {verdict}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["cpu"])
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    arguments = parser.parse_args()
    report = {"machine": describe_machine(), "commit": find_commit(), "rows": collect()}
    show(report["rows"])
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
