"""Imports the extension module. Where that fails, the error says what is needed and what was found."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator

NEEDED = "CPython 3.11 or newer with the GIL, and Linux with glibc 2.28 or newer on x86-64 or AArch64"


def libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "no glibc"
    except (AttributeError, OSError, ValueError):
        return "no glibc"


def found() -> str:
    threads = " without the GIL" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    runtime = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}{threads}"
    return f"{runtime}, {platform.system()} with {libc()} on {platform.machine()}"


@contextlib.contextmanager
def explained() -> Iterator[None]:
    try:
        yield
    except ImportError as reason:
        text = f"viaduct._viaduct was not imported: {reason}; it needs {NEEDED}; this is {found()}"
        raise ImportError(text, name=reason.name, path=reason.path) from reason


with explained():
    # An older one would find functions missing, or worse, find them all.
    if sys.hexversion < 0x030B0000:
        raise ImportError("this CPython is too old")
    from . import _viaduct as raw

sys.modules[f"{__package__}.raw"] = raw  # a submodule by the name that users know

__all__ = ["raw"]
