"""Systems that packages are tried on, each in a folder of its own: made by debootstrap, kept for the next time.

`python chroots.py NAME` makes one and prints its folder. `python chroots.py NAME COMMAND...` runs a command in it, with
this tree at the path that it has here.
"""

import filecmp
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where a place has what the tests bring.
HOME = "viaduct"
CACHE = Path(os.environ.get("VIADUCT_CACHE", Path.home() / ".cache/viaduct")) / "places"
# Debian's own of a later release: an older system has none that the wheel is for. Under the mirror of the system.
PYTHON_SOURCE = "pool/main/p/python3.11/python3.11_3.11.2.orig.tar.gz"
COMPILERS = ("gcc", "g++", "make", "pkg-config", "libcmocka-dev")
# Two SDKs, what native AOT and its linking take, and what programs refer to that are of netstandard2.1.
DOTNET = (
    *("dotnet-sdk-8.0", "dotnet-sdk-10.0", "dotnet-sdk-aot-10.0", "zlib1g-dev", "libssl-dev", "libbrotli-dev"),
    "netstandard-targeting-pack-2.1-8.0",
)
# What a build takes of a distribution, and nothing of pip's: docs/inside/build.md has the same list.
FROM_THE_DISTRIBUTION = (
    *("g++", "gfortran", "cmake", "ninja-build", "pkg-config", "swig", "libdlpack-dev", "libcmocka-dev", "python3-dev"),
    *("python3-numpy", "python3-ml-dtypes", "python3-pytest", "python3-pytest-timeout", "python3-hypothesis"),
    *("python3-cffi", "python3-pycparser"),
)


@dataclass(frozen=True)
class Place:
    suite: str
    packages: tuple[str, ...]
    # The interpreter; one that is compiled there where it is not the system's.
    python: str = "/usr/bin/python3"
    # Ubuntu's keys are in no package of Debian's, nor has debootstrap there a script of that name.
    options: tuple[str, ...] = ()
    # Suites of the same mirror that packages are taken of as well.
    updates: tuple[str, ...] = ()
    # The mirror, which debootstrap knows where it is empty, and the script.
    script: tuple[str, ...] = ()
    # As the kernel calls the processor; the programs of another than this machine's run under QEMU.
    machine: str = "x86_64"

    @property
    def folder(self) -> Path:
        return CACHE / (f"{self.suite}-{self.machine}" if self.is_foreign else self.suite)

    @property
    def is_foreign(self) -> bool:
        return self.machine != platform.machine()


PLACES = {
    "bullseye": Place(
        "bullseye", (*COMPILERS, "python3", "curl", "zlib1g-dev", "libffi-dev"), python="/opt/python/bin/python3.11"
    ),
    "trixie": Place("trixie", (*COMPILERS, "python3-venv", "python3-dev")),
    "noble": Place(
        "noble",
        (*COMPILERS, "python3-venv", "python3-dev", *DOTNET),
        options=("--no-check-gpg", "--components=main,universe"),
        updates=("noble-updates",),
        script=("", "/usr/share/debootstrap/scripts/gutsy"),
    ),
    # What the cross compiler links with, and where its programs run.
    "aarch64": Place(
        "bookworm", ("gcc", "libc6-dev", "libcmocka-dev", "cmake", "python3-venv", "python3-dev"), machine="aarch64"
    ),
    "bookworm": Place("bookworm", ("gcc", "libc6-dev", "pkg-config")),
    # Debian's next release; debootstrap may be older than its name.
    "forky": Place("forky", FROM_THE_DISTRIBUTION, script=("", "/usr/share/debootstrap/scripts/sid")),
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
    if place.is_foreign and emulator(place) is None:
        raise Impossible("qemu-user-static must be installed")
    if not (place.folder / "usr/bin/apt-get").exists() or (place.folder / "debootstrap").exists():
        bootstrap(place)
    shutil.copy("/etc/resolv.conf", place.folder / "etc/resolv.conf")
    # The lists of a mirror may be older than they are to be used.
    (place.folder / "etc/apt/apt.conf.d/90places").write_text('Acquire::Check-Valid-Until "false";\n')
    enter(place, "".join(ADD_SUITE.format(suite=suite) for suite in place.updates))
    enter(place, "apt-get update -q && apt-get install -q -y --no-install-recommends " + " ".join(place.packages))
    if place.python.startswith("/opt/") and not (place.folder / place.python.lstrip("/")).exists():
        compile_python(place)
    mark.write_text(recipe)
    return place


# From the line of the suite that the place was made of.
ADD_SUITE = """
sed '1s/^deb \\([^ ]*\\) [^ ]*/deb \\1 {suite}/;q' /etc/apt/sources.list >/etc/apt/sources.list.d/{suite}.list
"""


def bootstrap(place: Place) -> None:
    shutil.rmtree(place.folder, ignore_errors=True)
    options = ["--variant=minbase", "--include=ca-certificates", *place.options]
    if place.is_foreign:
        options += ["--foreign", f"--arch={ {'aarch64': 'arm64', 'x86_64': 'amd64'}[place.machine] }"]
    run("debootstrap", *options, place.suite, place.folder, *place.script)
    if place.is_foreign:
        # In a container it expects that it cannot make devices.
        enter(place, "/debootstrap/debootstrap --second-stage", container="lxc")


def compile_python(place: Place) -> None:
    prefix = Path(place.python).parents[1]
    enter(
        place,
        f"""mkdir -p /tmp/python && cd /tmp/python
        mirror=$(awk '$1 == "deb" {{ print $2; exit }}' /etc/apt/sources.list)
        curl -sSf "$mirror/{PYTHON_SOURCE}" | tar xz --strip-components=1
        ./configure --prefix={prefix} --without-ensurepip && make -j$(nproc) && make install && rm -rf /tmp/python""",
    )


# Run with the place's folder, this tree and a script. The place has devices of its own: it may change them as root.
INSIDE = """
mount -t proc proc "$0/proc"
mount -t tmpfs tmpfs "$0/dev"
for device in null zero full random urandom tty; do
  touch "$0/dev/$device" && mount --bind "/dev/$device" "$0/dev/$device"
done
mkdir "$0/dev/pts" "$0/dev/shm"
mount -t tmpfs tmpfs "$0/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
ln -s pts/ptmx "$0/dev/ptmx" && ln -s /proc/self/fd "$0/dev/fd"
mkdir -p "$0$1" && mount --bind "$1" "$0$1"
exec chroot "$0" bash -eo pipefail -c "$2"
"""
# The kernel gives programs of another processor to QEMU, in this namespace alone. The magic numbers are those of ELF's
# header: class, byte order and machine count.
EMULATED = (
    r"""mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
printf %s ':{machine}:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x{number:02x}\x00:"""
    r"""\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:{emulator}:F' \
    >/proc/sys/fs/binfmt_misc/register
"""
)
MACHINE_NUMBERS = {"x86_64": 62, "aarch64": 183}


def emulator(place: Place) -> str | None:
    return shutil.which(f"qemu-{place.machine}-static")


def emulator_version(place: Place) -> str:
    told = subprocess.run([str(emulator(place)), "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"version ([\d.]+)", told)[0]


def start(place: Place, script: str, environment: dict[str, str], **streams: int | None) -> subprocess.Popen[str]:
    """A script in the place, whose mounts are gone when it ends."""
    clean = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    inside, namespaces = INSIDE, ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    if place.is_foreign:
        numbers = {"number": MACHINE_NUMBERS[place.machine], "emulator": emulator(place)}
        inside = EMULATED.format(machine=place.machine, **numbers) + INSIDE
        # Each takes ten times as long there and more: random tests repeat themselves less.
        clean["VIADUCT_REPEATS_ONE_IN"] = "5"
        namespaces.append("--user")
    # It is root once its numbers are mapped, from the next program on.
    waits = 'read -r _ && exec bash -ec "$0" "$@" </dev/null'
    command = ["unshare", *namespaces, "bash", "-c", waits, inside, place.folder, ROOT, script]
    process = subprocess.Popen(
        [str(word) for word in command],
        env=clean | {"DEBIAN_FRONTEND": "noninteractive"} | environment,
        stdin=subprocess.PIPE,
        text=True,
        **streams,
    )
    if place.is_foreign:
        map_users(process)
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def map_users(process: subprocess.Popen[str]) -> None:
    """Every user and group of a process's own namespace is the one of that number outside."""
    theirs, ours = Path(f"/proc/{process.pid}/ns/user"), os.readlink("/proc/self/ns/user")
    while process.poll() is None and os.readlink(theirs) == ours:
        time.sleep(0.01)
    for numbers in ("uid_map", "gid_map"):
        Path(f"/proc/{process.pid}/{numbers}").write_text("0 0 65536\n")


def enter(place: Place, script: str, **environment: str) -> str:
    """Runs a script in the place and returns what it printed. Raises Impossible, with that, if it fails."""
    process = start(place, script, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    told, _ = process.communicate()
    if process.returncode != 0:
        raise Impossible(f"{place.suite}: exited with {process.returncode}:\n{told[-6000:]}")
    return told


def copy_tree(target: Path) -> None:
    """What git knows of this tree, as it lies here. What is there and the same is left: it need not be compiled again."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    names = {name for name in listed.decode().split("\0")[:-1] if (ROOT / name).is_file()}
    for name in names:
        if not (target / name).exists() or not filecmp.cmp(ROOT / name, target / name, shallow=False):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    for path in target.rglob("*"):
        name = str(path.relative_to(target))
        if path.is_file() and name not in names and not name.startswith("build/"):
            path.unlink()


def main() -> int:
    name, *command = sys.argv[1:]
    try:
        place = make(PLACES[name])
    except Impossible as why:
        sys.exit(f"{name}: {why}")
    if not command:
        print(place.folder)
        return 0
    return start(place, f"cd {shlex.quote(os.getcwd())} && {shlex.join(command)}", {}).wait()


if __name__ == "__main__":
    sys.exit(main())
