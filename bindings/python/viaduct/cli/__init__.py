"""`python -m viaduct`: what this machine can do, how fast it does it, how a copy is done, and what is missing."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from .. import Error
from . import bench, doctor, explain, info
from .page import Page, open_page

Command = Callable[[argparse.Namespace, Page], int]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m viaduct", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    for module in (info, bench, explain, doctor):
        module.add_command(commands)
    parser.set_defaults(run=info.run)
    return parser


def as_words(arguments: Sequence[str]) -> list[str]:
    """Numbers that begin with a sign are no options: argparse takes for words what begins with a blank."""
    return [f" {word}" if re.match(r"-\d", word) else word for word in arguments]


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 for what is told to be missing or impossible, 2 for words that are not understood."""
    options = make_parser().parse_args(as_words(arguments))
    command: Command = options.run
    page = open_page()
    try:
        return command(options, page)
    except (Error, OSError) as error:
        page.fail(str(error))
    except KeyboardInterrupt:
        page.fail("interrupted")
    return 1
