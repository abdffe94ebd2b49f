"""Runs JUnit's tests of the jar with every JDK of this machine: `run_junit.py [--jdk HOME ...] [ARGUMENTS OF JUNIT]`.

On the fake driver for the CUDA driver where it was built, unless VIADUCT_LIBCUDA names another driver. Ends with JUnit's own
summaries; a JVM that warns of anything fails the run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
OLDEST = 17


def settings() -> dict[str, str]:
    """What the build reports."""
    lines = (BUILD / "java/java.junit").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def version_of(home: Path) -> int:
    """The JDK's major version, 0 if there is none."""
    release = home / "release"
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE) if release.exists() else None
    return int(found[1]) if found and (home / "bin/java").exists() else 0


def jdks() -> list[Path]:
    """One home of each major version that is new enough, oldest first."""
    in_path = shutil.which("java")
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += [Path(in_path).resolve().parents[1]] if in_path else []
    homes += sorted(Path("/usr/lib/jvm").glob("*")) if Path("/usr/lib/jvm").exists() else []
    found: dict[int, Path] = {}
    for home in homes:
        found.setdefault(version_of(home), home)
    return [found[version] for version in sorted(found) if version >= OLDEST]


def options_of(home: Path) -> list[str]:
    """Recent JVMs expect a declaration that native code is meant, else they warn; the oldest checks each use of JNI."""
    return ["--enable-native-access=ALL-UNNAMED"] if version_of(home) >= 22 else ["-Xcheck:jni"]


def environment() -> dict[str, str]:
    """The driver, and a locale in which a path may hold any character."""
    fake_driver = BUILD / "fakecuda/libcuda.so.1"
    driver = {"VIADUCT_LIBCUDA": str(fake_driver), "VIADUCT_FAKECUDA_DEVICES": "2"} if fake_driver.exists() else {}
    return driver | dict(os.environ) | {"LC_ALL": "C.UTF-8"}


def command(home: Path, arguments: list[str]) -> list[str]:
    reported = settings()
    properties = {
        "viaduct.root": ROOT,
        "viaduct.test.native": reported["library"],
        "viaduct.examples": reported["examples"],
        "junit.jupiter.execution.timeout.default": "60 s",
    }
    return [
        str(home / "bin/java"),
        *options_of(home),
        *("-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"),  # so that what grows is not the heap
        *(f"-D{key}={value}" for key, value in properties.items()),
        *("-cp", ":".join([reported["jar"], reported["classes"], reported["junit"]])),
        *("org.junit.platform.console.ConsoleLauncher", "--disable-banner", "--disable-ansi-colors"),
        *("--fail-if-no-tests", "--include-package", "org.viaduct", "--scan-classpath", reported["classes"]),
        *(arguments or ["--details=summary"]),
    ]


def run(home: Path, arguments: list[str]) -> bool:
    print(f"JDK {version_of(home)}, {home}", flush=True)
    done = subprocess.run(
        command(home, arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    warned = re.findall(r"^WARNING[: ].*|^.*warning: .*", done.stdout, re.MULTILINE)
    if warned:
        print(f"the JVM warned: {warned[0]}")
    return done.returncode == 0 and not warned


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jdk", type=Path, action="append", help="the home of a JDK; all that are found by default")
    chosen, arguments = parser.parse_known_args()
    homes = chosen.jdk or jdks()
    results = [run(home, arguments) for home in homes]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
