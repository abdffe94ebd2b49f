"""Makes Debian's packages of folders that hold what they install: control files, checksums, and dpkg-deb.

What differs between releases of Debian is not asked for: the libraries need glibc 2.28 and nothing of libstdc++, the
module serves every Python from 3.11 on, so that one set of packages serves all.
"""

import gzip
import hashlib
import os
import subprocess
import textwrap
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LIBC = "libc6 (>= 2.28), libgcc-s1 (>= 3.3)"
LONG = """\
 Viaduct makes a strided array of a pointer that a program holds: the buffer of
 a C library, a frame of a camera driver, memory on a GPU. NumPy, PyTorch, CuPy,
 JAX and others use it in place. It copies between any two layouts, and between
 host and GPU.
 .
"""
COMPILE = """\
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
    py3compile -p python3-viaduct
fi
"""
CLEAN = """\
#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
    py3clean -p python3-viaduct
fi
"""


@dataclass(frozen=True)
class Release:
    version: str
    machine: str
    maintainer: str
    license: str
    homepage: str


@dataclass(frozen=True)
class Package:
    name: str
    section: str
    depends: str
    summary: str
    text: str
    # Files of DEBIAN/, by their names; those that begin with #! are run.
    control: dict[str, str]
    # More lines of the control file.
    fields: str = ""


def packages_of(release: Release, symbols: list[str]) -> list[Package]:
    library = f"libviaduct1 (= {release.version})"
    head = ["libviaduct.so.1 libviaduct1 #MINVER#", "* Build-Depends-Package: libviaduct-dev"]
    lines = [*head, *(f" {symbol} {release.version}" for symbol in symbols)]
    return [
        Package(
            "libviaduct1",
            "libs",
            LIBC,
            "memory that already exists, used by any other runtime",
            " This package has the shared library.\n",
            {
                "shlibs": f"libviaduct 1 libviaduct1 (>= {release.version})\n",
                "symbols": "\n".join(lines) + "\n",
                "triggers": "activate-noawait ldconfig\n",
            },
            "Multi-Arch: same\n",
        ),
        Package(
            "libviaduct-dev",
            "libdevel",
            library,
            "memory that already exists, used by any other runtime (development)",
            " This package has the headers for C and C++, the sources of the Fortran\n"
            " module, and what CMake and pkg-config read.\n",
            {},
            "Multi-Arch: same\n",
        ),
        Package(
            "python3-viaduct",
            "python",
            f"{library}, python3 (>= 3.11), {LIBC}",
            "memory that already exists, used by any other runtime (Python)",
            " This package has the Python module viaduct.\n",
            {"postinst": COMPILE, "prerm": CLEAN},
        ),
    ]


def make(package: Package, folder: Path, release: Release, output: Path) -> None:
    """`folder` holds usr/ and nothing else; it gets the documents that every package of Debian has, and DEBIAN/."""
    write_documents(package, folder / "usr/share/doc" / package.name, release)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    control = folder / "DEBIAN"
    control.mkdir()
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    size = sum(path.stat().st_size for path in files) // 1024 + 1
    for name, text in (package.control | {"control": fields(package, release, size), "md5sums": "".join(sums)}).items():
        (control / name).write_text(text)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            is_program = path.parent == control and path.read_text().startswith("#!")
            path.chmod(0o755 if path.is_dir() or is_program else 0o644)
    name = f"{package.name}_{release.version}_{ARCHITECTURES[release.machine]}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(folder), str(output / name)]
    subprocess.run(command, check=True, capture_output=True)


def fields(package: Package, release: Release, size: int) -> str:
    homepage = f"Homepage: {release.homepage}\n" if release.homepage else ""
    return (
        f"Package: {package.name}\nSource: viaduct\nVersion: {release.version}\n"
        f"Architecture: {ARCHITECTURES[release.machine]}\nMaintainer: {release.maintainer}\n"
        f"Installed-Size: {size}\nDepends: {package.depends}\n{package.fields}"
        f"Section: {package.section}\nPriority: optional\n{homepage}"
        f"Description: {package.summary}\n{LONG}{package.text}"
    )


def write_documents(package: Package, folder: Path, release: Release) -> None:
    folder.mkdir(parents=True)
    date = formatdate(int(os.environ.get("SOURCE_DATE_EPOCH", Path(__file__).stat().st_mtime)), localtime=False)
    entry = f"""\
        viaduct ({release.version}) unstable; urgency=medium

          * Release {release.version}.

         -- {release.maintainer}  {date.replace("-0000", "+0000")}
        """
    # Without a time in it the file is the same each time.
    with (folder / "changelog.gz").open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(textwrap.dedent(entry).encode())
    granted = release.license or "none has been chosen"
    (folder / "copyright").write_text(
        f"Viaduct {release.version}\n\nCopyright: {date.split()[3]} {release.maintainer}\n\nLicence: {granted}\n"
    )
