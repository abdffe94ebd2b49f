"""The runner of the Java and C# suites on a GPU takes along what they start, and counts what their own runners report."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPORT = """<test-results><test-suite><results>
<test-case name="A_promise" executed="True" result="Success" />
<test-case name="Another" executed="True" result="Failure"><failure><message>broken</message></failure></test-case>
<test-case name="Nowhere" executed="True" result="Error"><failure><message>thrown</message></failure></test-case>
<test-case name="Elsewhere" executed="False" result="Ignored"><reason><message>there is one device</message></reason>
</test-case></results></test-suite></test-results>"""


@pytest.fixture
def languages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "gpu"))
    monkeypatch.delitem(sys.modules, "run", raising=False)
    import languages

    return languages


def test_every_program_that_a_test_starts_is_taken_along(languages: ModuleType) -> None:
    sources = (languages.ROOT / "tests/csharp").glob("*.cs")
    named = r'TestProgram\("(\w+)"\)'
    started = {f"{name}.exe" for source in sources for name in re.findall(named, source.read_text())}
    assert started == set(languages.CSHARP_PROGRAMS)


def test_each_test_of_nunit_is_counted_once(languages: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "nunit.xml").write_text(REPORT)
    suite = languages.Suite("C#")
    languages.count_nunit(suite, tmp_path / "nunit.xml")
    assert (suite.passed, suite.failed, suite.skipped) == (1, 2, 1)
    assert suite.failures == ["C#: Another: broken", "C#: Nowhere: thrown"]
    assert suite.notes == ["Elsewhere: there is one device"]


def test_a_suite_that_ends_badly_has_failed_though_no_test_has(languages: ModuleType) -> None:
    crashed = languages.finish(languages.Suite("C#", passed=3), -11, "...\nsegmentation fault")
    assert crashed.failures == ["C#: ended with status -11: ...\nsegmentation fault"]
    assert languages.finish(languages.Suite("C#"), 0, "nothing to do").failed == 1
    assert languages.finish(languages.Suite("C#", passed=3), 0, "").failed == 0
    reported = languages.finish(languages.Suite("C#", passed=3, failed=1, failures=["C#: A_promise"]), 1, "")
    assert reported.failed == 1
