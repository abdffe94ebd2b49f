"""Where the source tree is, and how commands are run away from it."""

import os
import subprocess
import sysconfig
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Where a distribution puts libraries; two folders deep where it can be, since that is harder to move.
LIBDIR = f"lib/{sysconfig.get_config_var('MULTIARCH') or ''}".rstrip("/")

# The library is built in folders next to the other build trees, by commands that compile as those do: where there is
# a compiler's cache, nothing is compiled twice.
BUILDS = ROOT / "build"
BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", BUILDS / "test"))
AS_TESTED = {"CMAKE_BUILD_TYPE": "Release", "VIADUCT_WERROR": os.environ.get("VIADUCT_WERROR") or "OFF"}


class Shell:
    """Runs commands far from the source tree, and shows what they printed when one fails."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        # Nothing of the build tree may reach a consumer through the environment.
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd or self.home,
            env=clean | (env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(map(str, command))}\nexited with {done.returncode}:\n{done.stdout}"
        return done.stdout


def unpack(archive: Path, folder: Path) -> None:
    """Older releases of Python 3.11 have no filters."""
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **safely)
