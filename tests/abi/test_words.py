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
    r"(?i)behind[ _](an?|the|its)[ _]((held|legacy)[ _])?stream|ordered behind": "after the work queued on the stream",
    r"\b(takes?|took|taken|taking) (it |them |such an? \w+ |an? \w+ |the \w+ )?over\b(?! the)": "consume, own",
    r"(?i)\b(takes?|took|taken|taking) part\b": "nothing: say what is measured, visited, compared",
    r"(?i)\bowner (more|less)\b": "retain, drop a reference",
    r"(?i)\bwhat (it|they|\w+ \w+) (came|comes?) to\b": "result",
    r"(?i)(?<![a-z])(tell|told of|hears? of)(?![a-z])": "report, say, pass on",
    r"(?i)(?<![a-z])page[-_ ]lock(s|ed|ing)?(?![a-z])": "pinned",
    r"(?i)(?<![a-z])gates?(?![a-z])": "dependency",
    r"(?i)(?<![a-z])disposals?(?![a-z])": "deleter",
    r"(?i)\bready[ _]marks?\b|(?<![a-z])(an?|the|no|some|all|many|different|without|newest)_marks?(?![a-z])": "fence",
    r"\b(FakeMark|MARK_TEST|WATCH_TEST|watch_marks|count_fire|a_watch\w*)\b": "fence, deferred callback",
    r"(?i)(?<![a-z])(cures?|cured|curing)(?![a-z])": "fix",
    r"(?i)(?<![a-z])watchers?(?![a-z])": "reaper",
    r"(?i)(?<![a-z])residency(?![a-z])": "page cache",
    r"(?i)(?<![a-z])(unsaid|unheard)(?![a-z])": "quiet: an error that is not reported",
    r"(?i)(?<![a-z])dearer(?![a-z])": "costs more",
    r"(?i)(?<![a-z])turned(?![a-z])(?! (around|off)|_around)": "transposed",
    r"(?i)\bexpected (memory|elements|rows) apart\b": "separate memory, elements without overlap, separate rows",
    r"(?i)\bthe ticket\b": "the description of a shared array",
    r"(?i)\bso to say\b": "nothing: say it plainly",
    r"(?i)\bevery so manyth\b": "every n-th",
    r"\b(EventMark|JoinedMark|Moment|StreamUse|own_stream|outlast\w*|leave_marks|Disposal|QuickMutex|HandedOver|bury|"
    r"hold_thread|live_handles|LiveHandles|host_probe|Patience|Spare|VIA_WATCH|OwnStream|order_stream_behind|"
    r"order_behind_arrays|give_back_behind)\b": "the names of the map: fences, streams, tasks",
    r"\b(StagedRun|StagedEnds|staging_(store|pages|pci)|LockedWord|locked_memory|link_run|move_parts|"
    r"(Ring|OpenFile|Memory)Holder|absent\.cpp|kept\.h)\b": "the names of the map: staging, memory, files",
    r"via_(together|apart)_|\b(take_apart|store_apart|as_they_cross|crossing_bytes)\b|support/structs\.": "the "
    "names of the map: kernels, routes, structs",
}

# Files that may use an old word: the page that explains it.
ALLOWED = {"pinned": {"docs/guide/glossary.md"}}
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
    files = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "dev")]
    for folder in FOLDERS:
        files += sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS and path.is_file())
    chosen = [path for path in files if not GENERATED.search(str(path)) and path.name != "test_words.py"]
    return {path.relative_to(ROOT): path.read_text(errors="replace") for path in chosen}


@functools.cache
def lower_texts():
    return {path: text.lower() for path, text in texts().items()}


@pytest.mark.parametrize("pattern", WORDS, ids=lambda pattern: WORDS[pattern])
def test_no_old_word_is_left(pattern):
    # In lower case the search takes half as long as with the case ignored.
    compiled = re.compile(pattern.removeprefix("(?i)"))
    searched = lower_texts() if pattern.startswith("(?i)") else texts()
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in searched.items()
        if str(path) not in ALLOWED.get(WORDS[pattern], ())
        for match in compiled.finditer(text)
    ]
    assert found == [], f"write {WORDS[pattern]}"
