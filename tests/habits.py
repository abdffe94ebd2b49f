"""Checks commit subjects and the changelog: `habits.py [BASE]` looks at the commits since BASE, and at CHANGELOG.md.

A subject is `area: imperative`, of at most 72 characters. The changelog groups what users notice: releases, then Added,
Changed and so on, then lines that begin with their area. CONTRIBUTING.md says the same to people.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = 72
SUBJECT = re.compile(r"[a-z][\w+#./, -]*: (?P<verb>[a-z][\w-]*)\b.*[^.\s]", re.ASCII)
# Verbs in other forms than the imperative, but for imperatives that end so.
FORMS = re.compile(r"(?!bring|string|ping|swing|need|feed|speed|embed|shed|exceed)\w{2,}(?:ing|ed)")
GROUPS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
AREAS = {
    "arrays", "C#", "C++", "commands", "conformance kit", "copies", "CUDA", "diagnostics", "documentation", "examples",
    "exchange", "files", "Fortran", "Java", "memory", "packages", "processes", "Python", "tasks", "threads",
}  # fmt: skip


def subjects(base: str) -> list[str]:
    command = ["git", "log", "--no-merges", "--format=%s", f"{base}..HEAD"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def faults_of_subject(subject: str) -> list[str]:
    """What is wrong with it, in words."""
    found = SUBJECT.fullmatch(subject)
    faults = []
    if len(subject) > MOST:
        faults.append(f"{subject!r} has {len(subject)} characters; expected at most {MOST}")
    if not found:
        faults.append(f"{subject!r} is not of the form; expected 'area: imperative' in lower case, without a period")
    elif FORMS.fullmatch(found["verb"]):
        faults.append(f"{subject!r} has the verb {found['verb']!r}; expected an imperative")
    return faults


def faults_of_changelog(text: str) -> list[str]:
    """Every line below a release stands in a group, in its order, and begins with its area."""
    faults: list[str] = []
    group, seen = "", list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        where = f"CHANGELOG.md:{number}"
        if line.startswith("## "):
            group, seen = "", []
        elif line.startswith("### "):
            group = line.removeprefix("### ")
            seen.append(group)
            if group not in GROUPS or seen != sorted(set(seen), key=GROUPS.index):
                faults.append(f"{where}: the group is {group}; expected each once, in the order {', '.join(GROUPS)}")
                seen = [each for each in seen if each in GROUPS]
        elif line.startswith("- "):
            area = line.removeprefix("- ").partition(": ")[0]
            if not group:
                faults.append(f"{where}: the line stands in no group; expected ### {', '.join(GROUPS)}")
            if area not in AREAS:
                faults.append(
                    f"{where}: the area is {area[:40]!r}; expected one of {', '.join(sorted(AREAS, key=str.lower))}"
                )
    return faults


def main() -> int:
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    faults = [fault for subject in subjects(base) for fault in faults_of_subject(subject)]
    faults += faults_of_changelog((ROOT / "CHANGELOG.md").read_text())
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
