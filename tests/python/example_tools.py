"""How an example is run: as its reader would, or in this process, where the libraries that it takes are loaded already."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bindings/python/examples"
LARGE = ("torch", "jax", "tensorflow", "cupy", "numba", "rmm")


def run_apart(name: str, *without: str, folder: Path, **settings: str) -> str:
    """What an example prints; some packages cannot be imported."""
    for package in without:
        (folder / f"{package}.py").write_text("raise ImportError")
    path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        env={**os.environ, "PYTHONPATH": path, "MPI4PY_RC_INITIALIZE": "1", **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_here(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *without: str) -> str:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [name])
    for package in without:
        monkeypatch.setitem(sys.modules, package, None)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    sys.modules.pop("pointer_source")
    return capsys.readouterr().out
