"""One word for one thing, the field's: the project's old words are gone from sources, bindings, pages and tests."""

import functools
import re

import pytest
from abi_tools import ROOT

# An old word, as a pattern over text and identifiers, and the word of the field that is used instead.
WORDS = {
    r"(?i)(?<![a-z])(lend|lends|lent|lending|lenders?|loans?)(?![a-z])": "export, borrowed memory",
    r"(?i)\b(lets?|letting) (it |them )?go of\b|let_?go(?![a-z])|lets_?go(?![a-z])": "release",
    r"(?i)(?<![a-z])beside(?![a-z])": "next to, besides, compared with",
    r"(?i)stand[-_]ins?\b": "fake driver",
    r"(?i)(?<![a-z])(mends?|mended|mending)(?![a-z])": "fix",
    r"(?i)(?<![a-z])tells(?![a-z])": "reports, returns",
    r"(?i)behind (a|the) stream": "after the work queued on the stream",
    r"\b(takes?|took|taken|taking) (it |them )?over\b": "consume, own",
    r"(?i)(?<![a-z])(cures?|cured|curing)(?![a-z])": "fix",
    r"(?i)(?<![a-z])watchers?(?![a-z])": "reaper",
    r"(?i)(?<![a-z])residency(?![a-z])": "page cache",
    r"(?i)(?<![a-z])(unsaid|unheard)(?![a-z])": "quiet: an error that is not reported",
    r"(?i)(?<![a-z])dearer(?![a-z])": "costs more",
    r"(?i)\bso to say\b": "nothing: say it plainly",
    r"(?i)\bevery so manyth\b": "every n-th",
    r"\b(EventMark|JoinedMark|Moment|StreamUse|own_stream|outlast\w*|leave_marks|Disposal|QuickMutex|HandedOver|bury|"
    r"hold_thread|live_handles|host_probe|Patience|Spare|VIA_WATCH)\b": "the names of the map: fences, streams, tasks",
    r"\b(StagedRun|StagedEnds|staging_(store|pages|pci)|LockedWord|locked_memory|link_run|move_parts|"
    r"(Ring|OpenFile|Memory)Holder|absent\.cpp|kept\.h)\b": "the names of the map: staging, memory, files",
}
FOLDERS = ["bindings", "docs", "include", "src", "tests", "pkgconfig"]
TEXTS = {
    ".c",
    ".cpp",
    ".cs",
    ".cu",
    ".cmake",
    ".cuh",
    ".def",
    ".f90",
    ".h",
    ".hpp",
    ".i",
    ".in",
    ".inc",
    ".java",
    ".md",
    ".py",
    ".pyi",
    ".txt",
}

# What the header says is repeated there; results are as they were measured.
GENERATED = re.compile(r"docs/reference/c/|bindings/python/viaduct/raw_|bindings/fortran/viaduct_c|/results/|/corpus/")


@functools.cache
def texts():
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "dev"]
    for folder in FOLDERS:
        files += sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS and path.is_file())
    chosen = [path for path in files if not GENERATED.search(str(path)) and path.name != "test_words.py"]
    return {path.relative_to(ROOT): path.read_text(errors="replace") for path in chosen}


@pytest.mark.parametrize("pattern", WORDS, ids=lambda pattern: WORDS[pattern])
def test_no_old_word_is_left(pattern):
    compiled = re.compile(pattern)
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in texts().items()
        for match in compiled.finditer(text)
    ]
    assert found == [], f"write {WORDS[pattern]}"
