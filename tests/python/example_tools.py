"""How an example is run: as its reader would, or in this process, where the libraries that it takes are loaded already."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
FOLDER = ROOT / "bindings/python/examples"
LARGE = ("torch", "jax", "tensorflow", "cupy", "numba", "rmm")


def run_apart(name: str, *without: str, folder: Path, arguments: tuple[str, ...] = (), **settings: str) -> str:
    """What an example prints; some packages cannot be imported."""
    for package in without:
        (folder / f"{package}.py").write_text("raise ImportError")
    path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), *arguments],
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


def by_jvm(name: str) -> list[str]:
    """A class of the examples in Java, which the tests of the jar compile."""
    java, reported = shutil.which("java"), BUILD / "java/java.junit"
    if java is None or not reported.exists():
        pytest.skip("the examples in Java are not built: there is no JDK, or no JUnit")
    settings = dict(line.split("=", 1) for line in reported.read_text().splitlines())
    return [java, "-cp", f"{settings['jar']}:{settings['classes']}", f"example.{name}"]


def by_clr(name: str) -> list[str]:
    programs = {"mono": BUILD / f"csharp/{name}.exe", "dotnet": BUILD / f"csharp/example/{name}.dll"}
    for runtime, program in programs.items():
        if program.exists():
            return [runtime, str(program)]
    pytest.skip("the examples in C# are not built: there is neither Mono nor a .NET SDK")


def in_language(language: str, name: str) -> list[str]:
    """The command that runs an example of that name, as C spells it."""
    word = "".join(part.capitalize() for part in name.split("_"))
    if language in ("java", "csharp"):
        return by_jvm(word) if language == "java" else by_clr(word)
    program = BUILD / "examples" / (name if language == "c" else f"{name}_{language}")
    if not program.exists():
        pytest.skip(f"the example is not built: there is no {program.name}")
    return [str(program)]


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
