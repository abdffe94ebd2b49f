"""The JDKs of this machine, as the runner of JUnit's tests finds them, and the jar of a build."""

import os
import sys
from pathlib import Path

import pytest
from package_tools import ROOT, Shell

sys.path.append(str(ROOT / "tests/java"))
import run_junit as junit

JDKS = junit.jdks()
version_of = junit.version_of
BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))


def name_of(home: Path) -> str:
    return f"jdk{junit.version_of(home)}"


def java(home: Path, *arguments: object) -> list[str]:
    """A command that runs Java and is not warned of native code."""
    quiet = ["--enable-native-access=ALL-UNNAMED"] if junit.version_of(home) >= 22 else []
    return [str(home / "bin/java"), *quiet, *map(str, arguments)]


def install_jar(shell: Shell, prefix: Path) -> Path:
    """The jar, its sources and the POM, where nothing else is."""
    if not JDKS or not list((BUILD / "java").glob("*.jar")):
        pytest.skip("the build has no jar, for want of a JDK")
    shell("cmake", "--install", BUILD, "--component", "java", "--prefix", prefix)
    (jar,) = (path for path in prefix.glob("*.jar") if not path.stem.endswith(("-sources", "-javadoc")))
    return jar
