"""Counts the table of wrong calls: how many rows, and in how many each language answers.

Each language's own test fails if it forgets a row or answers otherwise than the table says: tests/misuse/misuse.c,
tests/gpu/test_misuse.py, MisuseTest.java, MisuseTests.cs, tests/fortran/misuse.f90, tests/cpp/misuse.cpp.
"""

from __future__ import annotations

from pathlib import Path

TABLE = Path(__file__).with_name("table.tsv")


def main() -> None:
    names, *rows = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    first = names.index("c")
    answers = {name: sum(not row[column].startswith("- ") for row in rows) for column, name in enumerate(names)}
    for name in names[first:]:
        print(f"misuse {name}: {answers[name]} rows answered, {len(rows) - answers[name]} that it cannot make")
    total = sum(answers[name] for name in names[first:])
    print(f"in all: {len(rows)} rows x {len(names) - first} languages, {total} answered")


if __name__ == "__main__":
    main()
