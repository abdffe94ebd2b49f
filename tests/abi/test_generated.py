"""What is made from the header says what the header says."""

import sys

from abi_tools import ROOT, run


def test_files_made_from_the_header_are_those_in_the_tree() -> None:
    assert run(sys.executable, ROOT / "bindings/generate", "--check") == ""
