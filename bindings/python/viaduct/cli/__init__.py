"""Shows what this machine can do, how fast, how a copy is done, and what is missing."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence

from .. import Error, __version__
from . import bench, doctor, explain, info
from .page import Page, open_page

Command = Callable[[argparse.Namespace, Page], int]

# The status by which a shell reports programs that end because nobody reads on.
NOBODY_READS = 128 + 13


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m viaduct", description=__doc__)
    parser.add_argument("--version", action="version", version=f"viaduct {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for module in (info, bench, explain, doctor):
        module.add_command(commands)
    parser.set_defaults(run=info.run)
    return parser


def as_words(arguments: Sequence[str]) -> list[str]:
    """Puts a blank before negative numbers, which argparse would otherwise read as options."""
    return [f" {word}" if re.match(r"-\d", word) else word for word in arguments]


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0, 1 if something is missing or impossible, 2 for arguments that are not understood."""
    if sys.stdout is None:
        print("viaduct: there is no standard output to write to", file=sys.stderr)
        return 1
    options = make_parser().parse_args(as_words(arguments))
    command: Command = options.run
    page = open_page()
    status = 1
    try:
        status = command(options, page)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        status = NOBODY_READS
    except (Error, OSError, UnicodeError) as error:
        page.fail(str(error))
    except KeyboardInterrupt:
        page.fail("interrupted")
    leave_output()
    return status or 1


def leave_output() -> None:
    """Discards unwritten output, which the interpreter would otherwise write and report again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
