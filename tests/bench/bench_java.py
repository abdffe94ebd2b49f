"""Rows of the Java package: what BenchJava prints, by the newest JDK of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "java"))


def rows() -> list[dict]:
    import run_junit as junit

    folder = junit.BUILD / "bench/java"
    homes = junit.jdks()
    if not (folder / "classpath").exists() or not homes:
        print("Java: left out, there is no JDK", file=sys.stderr)
        return []
    command = [
        *(homes[-1] / "bin/java", "--enable-native-access=ALL-UNNAMED", "-cp", (folder / "classpath").read_text()),
        *("org.viaduct.BenchJava", folder / "libbench_java.so"),
    ]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]
