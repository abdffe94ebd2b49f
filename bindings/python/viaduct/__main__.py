"""`python -m viaduct`: see `python -m viaduct --help`."""

import io
import sys

from .cli import main

if __name__ == "__main__":
    # As on stderr: names of files and devices may have any character.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
