"""The helper ./dev: what can be asked of it without a build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from package_tools import ROOT

WHO_ARE_YOU = "import sys; print(sys.prefix == sys.base_prefix, sys.executable, sys.version)"


def python_found(path: str) -> str:
    """What the Python says of itself that ./dev makes its environment with, and names it after."""
    question = 'source ./dev help >/dev/null && "$(find_python)" -c "$0"'
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        ["bash", "-c", question, WHO_ARE_YOU], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def test_an_active_virtual_environment_changes_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    found = python_found(os.environ["PATH"])
    assert found.startswith("True ")
    assert python_found(f"{tmp_path / 'bin'}:{os.environ['PATH']}") == found


def test_what_can_be_done_without_is_told_and_not_waited_for(tmp_path: Path) -> None:
    """Neither a JDK nor apt-get is in reach."""
    for tool in ("bash", "sed", "xargs", "dirname", "echo", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    script = f"source ./dev help >/dev/null && PATH={tmp_path} ensure_optional && echo on it goes"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "on it goes\n"
    assert "default-jdk-headless" in done.stderr


def pins(path: str) -> dict[str, str]:
    return dict(re.findall(r"\b([a-z-]+)==([\w.]+)", (ROOT / path).read_text()))


def test_the_hooks_of_pre_commit_are_of_the_versions_that_lint_runs() -> None:
    hooks = pins(".pre-commit-config.yaml")
    assert len(hooks) >= 4
    assert hooks == {name: version for name, version in pins("tests/requirements/lint.txt").items() if name in hooks}
