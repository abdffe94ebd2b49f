"""`./dev trust`: how it counts, and that nothing that was not counted passes for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from package_tools import ROOT


@pytest.fixture(scope="module")
def trust() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trust", ROOT / "tests/trust.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def say(tmp_path: Path, text: str, status: int = 0) -> Path:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{text}'\nexit {status}\n")
    program.chmod(0o755)
    return program


def test_numbers_of_a_match_are_multiplied_and_matches_added(trust: ModuleType) -> None:
    pattern = r"^(\d+) threads x ([\d,]+) operations"
    assert trust.add_up(pattern, "16 threads x 1,000 operations\nelse\n2 threads x 3 operations, 9 copies\n") == 16006
    assert trust.add_up(pattern, "nothing\n") == 0


def test_a_part_is_counted_from_what_its_program_says(trust: ModuleType, tmp_path: Path) -> None:
    part = trust.Part("rows", "here", r"(\d+) rows", (say(tmp_path, "7 rows\n"),))
    outcome = trust.run(part, "short")
    assert (outcome.total, outcome.wrong, outcome.left_out) == (7, "", "")


def test_what_a_program_remarks_is_shown_below_its_count(
    trust: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (say(tmp_path, "7 rows\n3 left out\nelse\n"),)
    trust.show(trust.run(trust.Part("rows", "here", r"(\d+) rows", program, remarks=r"^\d+ left out$"), "short"))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == ["3 left out"]


@pytest.mark.parametrize(("text", "status"), [("7 rows", 1), ("0 rows", 0), ("no number", 0)])
def test_a_program_that_fails_or_counts_nothing_fails_its_part(
    trust: ModuleType, tmp_path: Path, text: str, status: int
) -> None:
    part = trust.Part("rows", "here", r"(\d+) rows", (say(tmp_path, text, status),))
    assert trust.run(part, "short").wrong != ""


def test_what_is_not_there_or_only_for_the_long_form_is_left_out_by_name(trust: ModuleType, tmp_path: Path) -> None:
    absent = trust.Part("rows", "here", r"(\d+) rows", (tmp_path / "absent",))
    assert "absent" in trust.run(absent, "short").left_out
    long_only = trust.Part("rows", "here", r"(\d+) rows", (say(tmp_path, "7 rows"),), form="long")
    assert trust.run(long_only, "short").left_out == "not in the short form"
    assert trust.run(long_only, "long").total == 7


def test_the_long_form_has_settings_of_its_own(trust: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$VIADUCT_TEST_ROWS rows"\n')
    program.chmod(0o755)
    settings = {"VIADUCT_TEST_ROWS": "2"}
    part = trust.Part(
        "rows", "here", r"(\d+) rows", (program,), settings=settings, when_long={"VIADUCT_TEST_ROWS": "9"}
    )
    assert [trust.run(part, form).total for form in ("quick", "long")] == [2, 9]
