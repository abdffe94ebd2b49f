"""Rows of the Java package: what BenchJava prints, by the newest JDK of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "java"))


def rows() -> list[dict]:
    import run as junit

    if not (junit.BUILD / "java/java.junit").exists():
        print("Java: left out, the build has no tests of it", file=sys.stderr)
        return []
    told, home = junit.settings(), junit.jdks()[-1]
    command = [
        *(home / "bin/java", "--enable-native-access=ALL-UNNAMED", f"-Dviaduct.test.library={told['library']}"),
        *("-cp", f"{told['jar']}:{told['classes']}", "org.viaduct.BenchJava"),
    ]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]
