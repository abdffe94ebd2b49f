"""What ran in a place, counted by the runner itself, and the record of all places, which the pages are made of."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from chroots import ROOT

RECORD = ROOT / "tests/places/results.json"
TRIED = ("bindings", "include", "pkgconfig", "src", "tests")


@dataclass(frozen=True)
class Outcome:
    passed: int
    failed: tuple[str, ...]
    skipped: int


def outcome_of(*reports: Path) -> Outcome:
    """The sum of what ctest and pytest wrote in JUnit's form."""
    passed, failed, skipped = 0, [], 0
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(case.get("name", ""))
            elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
                skipped += 1
            else:
                passed += 1
    return Outcome(passed, tuple(failed), skipped)


def write_down(package: str, place: str, what: str, using: str, outcome: Outcome | None) -> None:
    """In the place of what an earlier run had written of the same; without counts where one test is all there is."""
    counts = {"passed": outcome.passed, "failed": len(outcome.failed), "skipped": outcome.skipped} if outcome else {}
    row = {"package": package, "place": place, "what": what, **counts, "with": using, "commit": commit()}
    rows = json.loads(RECORD.read_text()) if RECORD.exists() else []
    rows = [old for old in rows if keys_of(old) != keys_of(row)]
    RECORD.write_text(json.dumps(sorted([*rows, row], key=keys_of), indent=1) + "\n")


def keys_of(row: dict[str, object]) -> tuple[str, ...]:
    """Two SDKs may be in one place: of the versions, the first number distinguishes them."""
    plain = tuple(str(row[key]) for key in ("place", "package", "what"))
    return (*plain, re.sub(r"(\d+)\..*", r"\1", str(row["with"])))


def commit() -> str:
    """With a plus where what is tried differs from it."""
    told = ["git", "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=False)
    tried = ["git", "diff", "--quiet", "HEAD", "--", *TRIED, f":!{RECORD.relative_to(ROOT)}"]
    differs = subprocess.run(tried, cwd=ROOT, check=False).returncode != 0
    return done.stdout.strip() + ("+" if differs else "")
