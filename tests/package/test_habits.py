"""Commit subjects and the changelog, as `./dev lint` checks them."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from package_tools import ROOT

RELEASE = "# Changelog\n\n## 1.0.0, unreleased\n\n"


@pytest.fixture(scope="module")
def habits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("habits", ROOT / "tests/habits.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "subject",
    [
        "cuda: load the driver without a lock",
        "docs: need no Doxygen",
        "bindings/java: close a task twice without harm",
        "copy, file: take one plan",
        "c++: bring spans to C++17",
    ],
)
def test_a_subject_of_an_area_and_an_imperative_is_taken(habits: ModuleType, subject: str) -> None:
    assert habits.faults_of_subject(subject) == []


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("Copies of elements apart: README says where they are behind", "not of the form"),
        ("cuda: Load the driver", "not of the form"),
        ("cuda: load the driver.", "not of the form"),
        ("load the driver", "not of the form"),
        ("cuda: loaded the driver", "expected an imperative"),
        ("cuda: loading the driver", "expected an imperative"),
        ("cuda: load " + "x" * 62, "has 73 characters; expected at most 72"),
    ],
)
def test_a_subject_of_another_form_is_refused_in_words(habits: ModuleType, subject: str, words: str) -> None:
    (fault,) = habits.faults_of_subject(subject)
    assert words in fault


def test_the_changelog_is_grouped(habits: ModuleType) -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert habits.faults_of_changelog(text) == []
    assert text.count("\n- ") >= 20


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("- files: windows", "stands in no group"),
        ("### Added\n\n- tests: more of them", "the area is 'tests'"),
        ("### Added\n\n- A new function.", "the area is 'A new function.'"),
        ("### News\n", "the group is News"),
        ("### Fixed\n\n### Added\n", "the group is Added"),
    ],
)
def test_a_changelog_of_another_form_is_refused_in_words(habits: ModuleType, lines: str, words: str) -> None:
    (fault,) = habits.faults_of_changelog(RELEASE + lines)
    assert words in fault


def test_what_is_checked_is_said_to_people(habits: ModuleType) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"at most {habits.MOST} characters" in text and "area: imperative" in text
    assert 'python tests/habits.py "$(base_of_changes)"' in (ROOT / "dev").read_text()
