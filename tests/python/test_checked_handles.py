"""VIADUCT_CHECK and VIADUCT_LOG under Python: what the process says on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(tmp_path: Path, text: str, **settings: str) -> str:
    """What a program says on stderr; it must end well."""
    script = tmp_path / "script.py"
    script.write_text(text)
    environment = {**os.environ, **settings}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


USES = """
import ctypes
import viaduct as via
memory = (ctypes.c_uint8 * 64)()
a = via.wrap(ctypes.addressof(memory), shape=(8, 8), dtype="uint8", owner=memory)
memoryview(a[2:, ::2].T.copy())
via.from_dlpack(a.__dlpack__(max_version=(1, 0))).reshape(64)
"""

LEAVES_ONE = """
import ctypes
import viaduct as via

def make():
    return via.empty((4,), "float32")

a = make()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(a))
"""

MISUSES_THE_RAW_LAYER = """
import ctypes
from viaduct import raw_ctypes as raw
array = raw.via_array()
shape = (ctypes.c_int64 * 1)(4)
memory = (ctypes.c_float * 4)()
assert raw.via_wrap(memory, raw.VIA_FLOAT32, 1, shape, None, 1, 0, 0, raw.via_release_fn(0), None, array) == 0
raw.via_array_release(array)
raw.via_array_release(array)
assert raw.via_array_ndim(array) == 0
assert raw.via_array_synchronize(array) == raw.VIA_ERROR_INVALID_ARGUMENT
assert b"expected a live via_array" in raw.via_last_error()
"""


def test_python_holds_and_releases_as_the_check_expects(tmp_path: Path) -> None:
    assert run(tmp_path, USES, VIADUCT_CHECK="abort,trace") == ""


def test_what_is_left_is_reported_with_the_line_of_python_that_made_it(tmp_path: Path) -> None:
    reported = run(tmp_path, LEAVES_ONE, VIADUCT_CHECK="trace")
    assert "never released: via_array" in reported
    assert "from via_empty, 1 owner" in reported
    assert "script.py:6" in reported


def test_the_layer_of_ctypes_is_checked(tmp_path: Path) -> None:
    reported = run(tmp_path, MISUSES_THE_RAW_LAYER, VIADUCT_CHECK="1")
    assert reported.count("via_array_release: array is") == 1
    assert "via_array_ndim: array is" in reported


def test_calls_are_logged(tmp_path: Path) -> None:
    reported = run(tmp_path, USES, VIADUCT_LOG="trace")
    assert "via_wrap(address=0x" in reported
    assert "dtype=uint8, ndim=2, shape=[8, 8]" in reported
    assert "via_to_dlpack(array=0x" in reported
