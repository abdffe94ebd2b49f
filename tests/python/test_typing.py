"""What a typed program gets from the stubs, checked by mypy; and the docstrings, that they are there twice alike."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import viaduct as via
from peers import peer

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "bindings/python"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy knows of the standard library, which takes it a second to read."""
    return str(tmp_path_factory.mktemp("mypy"))


def test_a_typed_program_passes_mypy_strict(tmp_path: Path, cache: str) -> None:
    peer("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, str(HERE / "typed_usage.py")],
        env=os.environ | {"MYPYPATH": str(PACKAGE)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_wrongly_typed_program_does_not(tmp_path: Path, cache: str) -> None:
    peer("mypy")
    program = tmp_path / "wrong.py"
    program.write_text(
        "import viaduct as via\nvia.empty((2,), 'int8').shape + 1\nvia.asarray([1])\nvia.wrap(1, 2, 3, 4)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, str(program)],
        env=os.environ | {"MYPYPATH": str(PACKAGE)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [f"wrong.py:{line}: error" in done.stdout for line in (2, 3, 4)] == [True] * 3, done.stdout


def plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def stub_docstrings() -> dict[str, str]:
    found: dict[str, str] = {}
    tree = ast.parse((PACKAGE / "viaduct/__init__.pyi").read_text())
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = plain(ast.get_docstring(node))
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, ast.FunctionDef):
                found[f"{node.name}.{inner.name}"] = plain(ast.get_docstring(inner))
    return {name: text for name, text in found.items() if text and not name.startswith("_")}


def runtime_docstring(name: str) -> str:
    value: object = via
    for part in name.split("."):
        value = inspect.getattr_static(value, part)
    value = getattr(value, "__func__", value)
    return plain(inspect.getdoc(value) if not isinstance(value, type) else value.__doc__)


def test_stubs_and_runtime_have_the_same_docstrings() -> None:
    stubs = stub_docstrings()
    assert len(stubs) > 80
    assert {name: text for name, text in stubs.items() if runtime_docstring(name) != text} == {}


def test_no_function_class_or_member_of_the_stubs_is_undocumented() -> None:
    tree = ast.parse((PACKAGE / "viaduct/__init__.pyi").read_text())
    nodes = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    described = set(stub_docstrings())
    declared = {node.name for node in nodes} | {
        f"{node.name}.{inner.name}"
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, ast.FunctionDef)
    }
    public = {name for name in declared if not any(part.startswith("_") for part in name.split("."))}
    assert len(public) > 100
    assert sorted(public - described) == []


def test_everything_public_is_described() -> None:
    for name in via.__all__:
        if name not in ("raw", "__version__"):
            assert (getattr(via, name).__doc__ or "").strip(), name
