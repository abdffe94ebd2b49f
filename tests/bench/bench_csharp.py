"""Rows of the C# assembly: what BenchCSharp prints, run by Mono."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def rows() -> list[dict]:
    program = Path(os.environ["VIADUCT_BUILD_DIR"]) / "csharp/Viaduct.Bench.exe"
    if not program.exists() or shutil.which("mono") is None:
        print("C#: left out, Mono did not build it", file=sys.stderr)
        return []
    output = subprocess.run(["mono", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]
