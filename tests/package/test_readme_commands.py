"""Every command that the README and the pages of docs/ show is run: here, or by the step that the table names.

Paths that only the reader's machine has (/opt/viaduct, dist) are folders of the test; all else is run as it stands.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pages
import pytest
from jar_tools import BUILD, JDKS, install_jar, name_of
from package_tools import ROOT, Shell
from programs import shown

PAGES = [page for page in pages.pages() if page.name == "README.md" or page.parent != ROOT]

# tests/places/test_distribution.py runs that page's block as it stands.
FROM_THE_DISTRIBUTION = [
    line
    for line in (ROOT / "docs/inside/build.md").read_text().splitlines()
    if line.startswith(("apt-get install ", "cmake --preset test ", "VIADUCT_BUILD_DIR="))
]
# What takes minutes, or a GPU: the files that do the same in its place, and the words that do it there.
ELSEWHERE = {
    "./dev demo": [
        ("dev", "run_built release bindings/python/examples/demo.py"),
        ("tests/python/test_demo.py", 'DEMO = ROOT / "bindings/python/examples/demo.py"'),
    ],
    "./dev test": [
        (".ci/run", 'exec "$(dirname "$0")/../dev" test --all'),
        ("dev", "  record install-peers install_peers &\n  quick_steps"),
    ],
    "./dev test --all": [(".ci/run", 'exec "$(dirname "$0")/../dev" test --all')],
    "./dev test asan": [("dev", "run_all() {"), ("dev", "  suite_asan\n")],
    "./dev package": [
        ("dev", 'python pkgconfig/packages.py "${with[@]}" build/release dist "$@"'),
        (
            "tests/package/conftest.py",
            'shell(*for_himself, sys.executable, ROOT / "pkgconfig/packages.py", BUILD, dist)',
        ),
    ],
    "python3 -m venv ~/viaduct-env && . ~/viaduct-env/bin/activate": [
        ("tests/package/test_sdist.py", 'shell(sys.executable, "-m", "venv", home / "clean")'),
    ],
    "pip install . numpy": [
        ("tests/package/test_sdist.py", '"--no-build-isolation", *settings)'),
        ("tests/package/test_wheel.py", 'shell(venv / "bin/pip", "install", "--no-index", wheel)'),
    ],
    "pip install dist/viaduct-*_$(uname -m).whl": [
        ("tests/package/test_wheel.py", 'shell(venv / "bin/pip", "install", "--no-index", wheel)'),
    ],
    "apt install ./dist/*_amd64.deb": [("tests/places/test_deb.py", "--no-install-recommends ./dist/*.deb")],
    **{line: [("tests/places/test_distribution.py", "COMMANDS")] for line in FROM_THE_DISTRIBUTION},
    "./dev help": [("tests/package/test_readme.py", 'shell(ROOT / "dev", "help")')],
    "./dev gpu-bundle": [("tests/gpu/results/one-gpu.json", '"commit"')],
    "./dev gpu-test --json F": [
        ("dev", 'python3 tests/gpu/run.py "$@"'),
        ("tests/python/test_gpu_runner.py", '"gpu" / "run.py"'),
    ],
    "./dev bench gpu --json F": [
        ("dev", 'exec python3 tests/bench/bench.py "$@"'),
        ("tests/package/test_bench.py", '"tests" / "bench" / "bench.py"'),
    ],
    "./dev gpu-bundle languages": [
        ("dev", "python tests/gpu/languages.py pack"),
        ("tests/python/test_gpu_languages.py", "import languages"),
    ],
}


def commands_of(page: Path) -> list[str]:
    blocks = re.findall(r"^```(?:sh|bash|shell|console)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"(^|\s+)#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


SHOWN = {command for page in PAGES for command in commands_of(page)}
UNPACKING = "mkdir -p /opt/viaduct && "
COMPILING = "cc first.c "
JAVA = "java "
REPORTING = "python -m viaduct "
RUN_HERE = (UNPACKING, COMPILING, JAVA, REPORTING)


def starting_with(words: str) -> list[str]:
    return sorted(command for command in SHOWN if command.startswith(words))


def as_typed(command: str, folder: Path, **settings: str) -> str:
    """What a command prints, typed in a folder; a failure shows it."""
    done = subprocess.run(
        ["bash", "-c", command.replace("/opt/viaduct", str(folder / "opt"))],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\nexited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_pages_show_commands() -> None:
    assert {"./dev demo", "./dev test"} <= set(commands_of(ROOT / "README.md")) and len(SHOWN) >= 15


@pytest.mark.parametrize("command", sorted(SHOWN))
def test_a_command_that_is_shown_is_run_by_a_test(command: str) -> None:
    assert command in ELSEWHERE or command.startswith(RUN_HERE), "run it here, or name the step that does"


@pytest.mark.parametrize("command", ELSEWHERE)
def test_what_is_run_elsewhere_is_shown_and_is_run_there(command: str) -> None:
    assert command in SHOWN
    for file, words in ELSEWHERE[command]:
        assert words in (ROOT / file).read_text(), f"{file}: {words}"


def test_the_tarball_is_unpacked_and_the_first_program_compiled_against_it_by_the_lines_shown(
    shell: Shell, tmp_path: Path
) -> None:
    (unpack,), (compile_first,) = starting_with(UNPACKING), starting_with(COMPILING)
    shell("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", tmp_path / "dist")
    (tmp_path / "first.c").write_text(shown("docs/start/c.md", "c"))
    assert as_typed(f"{unpack} && {compile_first}", tmp_path) == ""
    assert as_typed("./a.out", tmp_path) == "200 x 100 floats copied\nthe image is freed\n"


@pytest.mark.parametrize("jdk", JDKS, ids=name_of)
def test_the_first_java_program_is_run_by_the_line_shown(shell: Shell, jdk: Path, tmp_path: Path) -> None:
    (line,) = starting_with(JAVA)
    install_jar(shell, tmp_path / "dist")
    (tmp_path / "First.java").write_text(shown("docs/start/java.md", "java"))
    printed = as_typed(line, tmp_path, PATH=f"{jdk}/bin:{os.environ['PATH']}")
    assert printed.startswith("14.0 at the same address\n")


@pytest.mark.parametrize("line", starting_with(REPORTING))
def test_the_package_reports_what_the_lines_shown_ask_for(line: str, tmp_path: Path) -> None:
    """bench times small arrays, briefly, and draws where there is what it draws with."""
    line = line.replace(" bench ", " bench --size 1 --seconds 0.001 ")
    if importlib.util.find_spec("matplotlib") is None:
        line = line.replace(" --plot b.png", "")
    assert len(as_typed(line, tmp_path).splitlines()) >= 5
    assert (tmp_path / "rows.json").exists() == ("--json rows.json" in line)
