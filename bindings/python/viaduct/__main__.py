"""`python -m viaduct`: see `python -m viaduct --help`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
