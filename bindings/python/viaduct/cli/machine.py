"""What the machine reports besides the library: links, the driver's own version, other packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from . import driver

# Those that take or export arrays, by the names of their packages; CuPy has one for each CUDA.
PEERS = {
    "NumPy": "numpy",
    "PyTorch": "torch",
    "CuPy": "cupy-cuda13x cupy-cuda12x cupy-cuda11x cupy",
    "JAX": "jax",
    "TensorFlow": "tensorflow tensorflow-cpu",
    "Numba": "numba",
    "RMM": "rmm-cu13 rmm-cu12 rmm",
    "mpi4py": "mpi4py",
    "PyArrow": "pyarrow",
}


class Link(NamedTuple):
    """How a device is connected, as nvidia-smi reports."""

    generation: str
    lanes: str
    driver: str

    def __str__(self) -> str:
        return f"PCIe {self.generation} x{self.lanes}"


def version_of(packages: str) -> str | None:
    """The version of the first of some packages that is installed; none is imported."""
    for package in packages.split():
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    return None


def installed_peers() -> Iterator[tuple[str, str]]:
    for name, packages in PEERS.items():
        version = version_of(packages)
        if version is not None:
            yield name, version


def file_of_library() -> str:
    """The library that this process has loaded."""
    mapped = read_text(Path("/proc/self/maps"))
    for line in mapped.splitlines():
        if "libviaduct.so" in line:
            return line.split(maxsplit=5)[-1]
    return "part of the extension module" if mapped else "not known without /proc"


def nvidia_links() -> dict[str, Link]:
    """By the last parts of a device's address on its bus; empty where nvidia-smi is not there or has nothing to report."""
    if shutil.which("nvidia-smi") is None:
        return {}
    query = "--query-gpu=pci.bus_id,pcie.link.gen.max,pcie.link.width.max,driver_version"
    try:
        done = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = [re.split(r",\s*", line.strip()) for line in done.stdout.splitlines()]
    return {short_address(fields[0]): Link(*fields[1:]) for fields in lines if len(fields) == 4}


def short_address(bus: str) -> str:
    """What the driver and nvidia-smi have in common: they write the domain with 4 and 8 digits."""
    return bus.lower().rpartition(":")[0][-7:] + ":" + bus.lower().rpartition(":")[2]


def link_of(number: int, links: Mapping[str, Link]) -> str:
    """The link of a CUDA device, as far as it is known."""
    bus = driver.bus_address(number)
    link = links.get(short_address(bus)) if bus else None
    if link is None:
        return f"at {bus}; its width is not known without nvidia-smi" if bus else "not known"
    return f"{link}, at {bus}"


def driver_version(links: Mapping[str, Link]) -> str | None:
    """NVIDIA's number of the driver; CUDA's is another."""
    for link in links.values():
        return link.driver
    found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", read_text(Path("/proc/driver/nvidia/version")))
    return found[0] if found else None


def has_nvidia_device() -> bool:
    """Whether NVIDIA's number is among those of the display controllers on the bus."""
    for device in Path("/sys/bus/pci/devices").glob("*"):
        if read_text(device / "vendor") == "0x10de" and read_text(device / "class")[:4] == "0x03":
            return True
    return False


def read_text(path: Path) -> str:
    """What the system says in a file of its own, names of any bytes included; nothing where it is not mounted."""
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except OSError:
        return ""


def cpus_of_machine() -> int:
    return os.cpu_count() or 1


def memory_available() -> int:
    """Of the machine, or of the process' share where that is less."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", read_text(Path("/proc/meminfo")), re.MULTILINE)
    share = read_text(Path("/sys/fs/cgroup/memory.max"))
    of_machine = int(found[1]) * 1024 if found else 1 << 30
    return min(of_machine, int(share)) if share.isdigit() else of_machine
