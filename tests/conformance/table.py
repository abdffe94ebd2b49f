"""What was found, kept small, and the README's tables of it.

`table.py keep FULL.json... results/cpu.json` keeps what failed of runs of `python -m viaduct.conformance --json`;
`table.py` writes the tables into the README next to this file.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
BEGIN, END = "<!-- made by table.py -->\n", "<!-- until here -->\n"
FORM = re.compile(r" \((versioned|unversioned)\)$")
TITLES = {"cpu": "Host memory", "cuda": "CUDA, on one H200"}


def kept(report: dict[str, Any]) -> dict[str, Any]:
    failed = [
        {"row": result["row"], "outcome": result["outcome"], "words": result["words"]}
        for result in report["results"]
        if result["outcome"] in ("fail", "crash")
    ]
    return {name: report[name] for name in ("peer", "version", "counts")} | {"failed": failed}


def keep(sources: list[Path], target: Path) -> None:
    runs = [json.loads(source.read_text()) for source in sources]
    found = {"device": runs[0]["device"], "peers": [kept(report) for run in runs for report in run["peers"]]}
    target.write_text(json.dumps(found, indent=1) + "\n")


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def counted(found: dict[str, Any]) -> list[str]:
    columns = ["rows", "pass", "refused", "absent", "fail", "crash"]
    lines = [line(["", "version", *columns]), "| --- " * (len(columns) + 2) + "|"]
    for peer in found["peers"]:
        lines.append(line([peer["peer"], peer["version"], *(str(peer["counts"][column]) for column in columns)]))
    return lines


def failures(found: dict[str, Any]) -> list[str]:
    """Each promise that somebody breaks, and how: in either form, whichever is worse."""
    peers = [peer["peer"] for peer in found["peers"] if peer["failed"]]
    cells: dict[str, dict[str, str]] = {}
    for peer in found["peers"]:
        for result in peer["failed"]:
            row = cells.setdefault(FORM.sub("", result["row"]), {})
            row[peer["peer"]] = "crash" if "crash" in (row.get(peer["peer"]), result["outcome"]) else "fail"
    lines = [line(["", *peers]), "| --- " * (len(peers) + 1) + "|"]
    return lines + [line([name, *(row.get(peer, "") for peer in peers)]) for name, row in cells.items()]


def tables() -> str:
    parts = []
    for device, title in TITLES.items():
        found = json.loads((HERE / "results" / f"{device}.json").read_text())
        parts += [f"### {title}", "", *counted(found), "", *failures(found), ""]
    return "\n".join(parts)


def with_tables(text: str) -> str:
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["keep"]:
        *sources, target = map(Path, sys.argv[2:])
        keep(sources, target)
    else:
        README.write_text(with_tables(README.read_text()))
