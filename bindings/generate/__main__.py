"""Writes what follows from the header: `python bindings/generate [--check]`.

The files are kept in the tree, since those who use them need no parser; a test compares them with what this makes.
"""

from __future__ import annotations

import sys

import as_cffi
import as_ctypes
import as_fortran
import contract

FILES = {
    "bindings/fortran/viaduct_c.f90": as_fortran.module,
    "bindings/python/viaduct/raw_ctypes.py": as_ctypes.module,
    "bindings/python/viaduct/raw_cffi.py": as_cffi.module,
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python bindings/generate [--check]", file=sys.stderr)
        return 2
    reported = contract.read()
    stale = []
    for name, write in FILES.items():
        path, text = contract.ROOT / name, write(reported)
        if arguments and not (path.exists() and path.read_text() == text):
            stale.append(name)
        elif not arguments:
            path.write_text(text)
    if stale:
        print(f"not what the header says: {', '.join(stale)}; run: python bindings/generate", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
