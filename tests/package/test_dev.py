"""The helper ./dev: what can be asked of it without a build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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


def test_what_can_be_done_without_is_reported_and_not_waited_for(tmp_path: Path) -> None:
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


def bash(script: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """What a script prints that has the functions of ./dev; `settings` are set before it."""
    values = "".join(f"{name}={value}\n" for name, value in settings.items())
    command = ["bash", "-c", f"source ./dev help >/dev/null\n{values}{script}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


SUITES = bash("suites").stdout.split()


def test_each_suite_of_the_tests_is_reported_in_the_help_and_to_contributors() -> None:
    assert len(SUITES) == 10
    for text in (bash("usage").stdout, (ROOT / "CONTRIBUTING.md").read_text()):
        assert [suite for suite in SUITES if not re.search(rf"\b{suite}\b", text)] == []


def test_a_suite_that_there_is_not_is_refused_by_name_before_anything_is_installed() -> None:
    done = subprocess.run([ROOT / "dev", "test", "asan", "rust"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("dev: test: the suite is 'rust'; expected --all, or of aarch64 asan csharp ")


@pytest.mark.parametrize(
    ("command", "expected"),
    [("pages --chek", "--check or none"), ("lint --al", "--all or none"), ("gpu-bundle language", "languages or none")]
    + [("docs html", "none"), ("format src", "none"), ("pages --check docs", "--check or none")],
)
def test_an_argument_that_a_command_does_not_take_is_refused_before_anything_is_done(
    command: str, expected: str
) -> None:
    done = subprocess.run([ROOT / "dev", *command.split()], capture_output=True, text=True, check=False)
    name, _, given = command.partition(" ")
    refusal = f"dev: {name}: the argument is '{given}'; expected {expected}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", refusal)


def test_a_population_that_there_is_not_is_refused_and_each_that_there_is_is_in_the_help() -> None:
    done = subprocess.run([ROOT / "dev", "bench", "layouts", "devices"], capture_output=True, text=True, check=False)
    refusal = "dev: bench: the population is 'devices'; expected one of gpu host hptt link peer programs\n"
    assert (done.returncode, done.stderr) == (1, refusal)
    named = re.findall(r"bench layouts ([\w|]+)", bash("usage").stdout)
    assert sorted("|".join(named).split("|")) == refusal.split()[-6:]


def test_the_quick_tests_hide_every_peer_that_the_others_install() -> None:
    hidden = (ROOT / "tests/numpy_alone/sitecustomize.py").read_text()
    sets = [(ROOT / f"tests/requirements/{name}.txt").read_text() for name in ("demo", "peers", "engines")]
    peers = {name.removesuffix("-cpu") for text in sets for name in re.findall(r"^([\w-]+)==", text, re.MULTILINE)}
    assert [name for name in peers - {"abi3audit", "twine"} if f'"{name}"' not in hidden] == []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests/numpy_alone")}
    done = subprocess.run(
        [sys.executable, "-c", "import torch"], env=environment, capture_output=True, text=True, check=False
    )
    assert "No module named 'torch': ./dev test hides it" in done.stderr


def logs_of(function: str) -> set[str]:
    """The logs that a function of ./dev writes, and what it calls."""
    body = bash(f"declare -f {function}").stdout
    called = re.findall(r"\b(quick_steps|suite_\w+)\b", body)
    written = set(re.findall(r"\b(?:step|record) ([\w-]+)", body))
    return written.union(*(logs_of(name) for name in called if name != function))


@pytest.mark.parametrize("suite", SUITES)
def test_all_has_what_each_suite_has(suite: str) -> None:
    """What is in Fortran, ctest runs with the rest. Other systems and QEMU take too long: they are suites of their own."""
    wanted = logs_of(f"suite_{suite}")
    assert wanted and wanted - {"ctest-fortran", "pytest-places", "build-aarch64", "pytest-aarch64"} <= logs_of(
        "run_all"
    )
    assert {"build-test", "ctest-test", "pytest", "pytest-fake-driver", "trust"} <= logs_of("run_all")


STUBS = "ensure_for_all() { :; }; install_peers() { :; }; build_test() { false; }; suite_asan() { echo asan runs; }\n"


def test_all_ends_where_the_quick_part_fails(tmp_path: Path) -> None:
    done = bash(f"{STUBS}run_all", logs=tmp_path, venv=tmp_path)
    assert done.returncode == 1
    assert "asan runs" not in done.stdout and "all but the quick part, which has failed" in done.stdout
    assert "dev: failed: build; " in done.stderr


@pytest.mark.parametrize(
    ("given", "asked"),
    [("", "-D VIADUCT_KERNEL_ARCHITECTURES=75-virtual"), ("whole", "-U VIADUCT_KERNEL_ARCHITECTURES")],
)
def test_a_new_tree_has_kernels_as_ptx_unless_all_is_wanted(given: str, asked: str) -> None:
    done = bash(f'cmake() {{ echo "cmake $*"; }}; prepare_tree() {{ fresh=(--fresh); }}; build_test {given}')
    assert done.stdout.splitlines() == [f"cmake --preset test --fresh {asked}", "cmake --build --preset test"]


def test_what_runs_on_a_gpu_is_built_with_all_kernels() -> None:
    for function in ("make_gpu_bundle", "make_languages_bundle"):
        assert "build_test whole" in bash(f"declare -f {function}").stdout
    assert 'build_test "${VIADUCT_QUICK_TESTS-whole}"' in bash("declare -f quick_steps").stdout


def test_a_run_ends_with_the_summaries_of_its_runners(tmp_path: Path) -> None:
    said = {
        "ctest-test": "100% tests passed out of 159",
        "ctest-asan": "99% tests passed, 1 tests failed out of 152",
        "pytest": "==== 3 passed in 1.00s ====",
        "pytest-packages": "==== 2 passed, 1 skipped in 2.00s ====",
        "trust": "misuse rows C 58",
    }
    for name, line in said.items():
        (tmp_path / f"{name}.log").write_text(f"much\n{line}\n")
    done = bash("finish", logs=tmp_path, venv=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [" ".join(line.split()) for line in done.stdout.splitlines()[-5:]] == [
        said["trust"],
        f"asan {said['ctest-asan']}",
        f"test {said['ctest-test']}",
        said["pytest-packages"],
        said["pytest"],
    ]


def test_a_failure_is_shown_before_the_summaries_and_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "pytest.log").write_text("E  AssertionError: it is not\n==== 1 failed in 1.00s ====\n")
    done = bash("failed=(Python)\nfailed_logs=($logs/pytest.log)\nfinish", logs=tmp_path, venv=tmp_path)
    assert done.returncode == 1 and "dev: failed: Python; " in done.stderr
    assert done.stdout.index("it is not") < done.stdout.rindex("1 failed in 1.00s")
    assert done.stdout.endswith("==== 1 failed in 1.00s ====\n")
