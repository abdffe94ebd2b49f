"""Systems that packages are tried on, each in a folder of its own: made by debootstrap, kept for the next time."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("VIADUCT_CACHE", Path.home() / ".cache/viaduct")) / "places"
# Debian's own of a later release: an older system has none that the wheel is for. Under the mirror of the system.
PYTHON_SOURCE = "pool/main/p/python3.11/python3.11_3.11.2.orig.tar.gz"
COMPILERS = ("gcc", "g++", "make", "pkg-config", "libcmocka-dev")


@dataclass(frozen=True)
class Place:
    suite: str
    packages: tuple[str, ...]
    # The interpreter; one that is compiled there where it is not the system's.
    python: str = "/usr/bin/python3"
    # Ubuntu's keys are in no package of Debian's, nor has debootstrap there a script of that name.
    options: tuple[str, ...] = ()
    # The mirror, which debootstrap knows where it is empty, and the script.
    script: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return CACHE / self.suite


PLACES = {
    "bullseye": Place(
        "bullseye", (*COMPILERS, "curl", "zlib1g-dev", "libffi-dev"), python="/opt/python/bin/python3.11"
    ),
    "trixie": Place("trixie", (*COMPILERS, "python3-venv", "python3-dev")),
    "noble": Place(
        "noble",
        (*COMPILERS, "python3-venv", "python3-dev"),
        options=("--no-check-gpg", "--components=main,universe"),
        script=("", "/usr/share/debootstrap/scripts/gutsy"),
    ),
}


class Impossible(Exception):
    """Why this machine cannot make one."""


def run(*command: object) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Impossible(f"{' '.join(words)}: {done.stdout[-2000:]}")


def make(place: Place) -> Place:
    """Makes the system, or takes it as an earlier run left it; its recipe is what its mark holds."""
    recipe = hashlib.sha256(repr(place).encode()).hexdigest()
    mark = place.folder / "recipe"
    if mark.exists() and mark.read_text() == recipe:
        return place
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise Impossible("debootstrap must be installed, and run as root")
    if not (place.folder / "usr/bin/apt-get").exists():
        options = ["--variant=minbase", "--include=ca-certificates", *place.options]
        run("debootstrap", *options, place.suite, place.folder, *place.script)
    shutil.copy("/etc/resolv.conf", place.folder / "etc/resolv.conf")
    enter(place, "apt-get update -q && apt-get install -q -y --no-install-recommends " + " ".join(place.packages))
    if not (place.folder / place.python.lstrip("/")).exists():
        compile_python(place)
    mark.write_text(recipe)
    return place


def compile_python(place: Place) -> None:
    prefix = Path(place.python).parents[1]
    enter(
        place,
        f"""mkdir -p /tmp/python && cd /tmp/python
        mirror=$(awk '$1 == "deb" {{ print $2; exit }}' /etc/apt/sources.list)
        curl -sSf "$mirror/{PYTHON_SOURCE}" | tar xz --strip-components=1
        ./configure --prefix={prefix} --without-ensurepip && make -j$(nproc) && make install && rm -rf /tmp/python""",
    )


def enter(place: Place, script: str, **environment: str) -> str:
    """Runs a script in the place; its mounts are gone when it ends. Raises Impossible with what it printed."""
    inside = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" bash -eo pipefail -c "$1"'
    command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", inside, str(place.folder), script]
    clean = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    done = subprocess.run(
        command,
        env=clean | {"DEBIAN_FRONTEND": "noninteractive"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Impossible(f"{place.suite}: exited with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout
