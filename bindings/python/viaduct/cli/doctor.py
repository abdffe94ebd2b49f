"""Shows what this machine lacks for the library, and the command that fixes it."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import device_count, device_info, num_threads
from . import info, machine
from .page import Page, has_rich

BUILD_AGAIN = "pip install --force-reinstall .   # in the source tree, with nvcc and the CUDA headers installed"
RAISE_MEMORY = "cat /sys/fs/cgroup/memory.max   # the limit of this process: raise it"
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class Finding(NamedTuple):
    """One examined item. `fix` is empty if nothing is wrong."""

    name: str
    found: str
    fix: str = ""
    optional: bool = False


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor", help="show what is missing, and the command that fixes it", description=__doc__
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, page: Page) -> int:
    """Returns 1 if something required is missing, otherwise 0."""
    findings = list(examine())
    for finding in findings:
        show(page, finding)
    wrong = [finding for finding in findings if finding.fix and not finding.optional]
    page.say()
    page.paragraph(closing_line(len(wrong), sum(finding.optional for finding in findings)))
    return 1 if wrong else 0


def show(page: Page, finding: Finding) -> None:
    mark, style = mark_of(finding)
    for line in page.folded(f"{finding.name}: {finding.found}", f"{mark:<9}", " " * 9):
        page.say(line, style)
    # A command is never folded: it is there to be copied.
    for line in finding.fix.splitlines():
        page.say(f"         {line}", "bold")


def mark_of(finding: Finding) -> tuple[str, str]:
    if not finding.fix:
        return "ok", "green"
    return ("could", "") if finding.optional else ("MISSING", "red")


def closing_line(wrong: int, optional: int) -> str:
    first = "Nothing is missing" if wrong == 0 else f"{wrong} thing{'s are' if wrong > 1 else ' is'} missing"
    return f"{first}; {optional} could be added." if optional else f"{first}."


def examine() -> Iterator[Finding]:
    yield examine_threads()
    yield examine_huge_pages()
    yield examine_driver()
    for number in range(device_count("cuda")):
        yield from examine_device(number)
    yield from examine_peers()
    yield from examine_extras()


# ------------------------------------------------------------------------------------------------ the host


def examine_threads() -> Finding:
    count, cpus = num_threads(), machine.cpus_of_machine()
    found = f"{count} of {cpus} CPU{'s' if cpus > 1 else ''}"
    if "VIADUCT_NUM_THREADS" in os.environ and count < cpus:
        return Finding("threads of a host copy", f"{found}, as VIADUCT_NUM_THREADS says", "unset VIADUCT_NUM_THREADS")
    return Finding("threads of a host copy", found)


def examine_huge_pages() -> Finding:
    """The kernel clears new host memory, which takes far longer in small pages."""
    found = machine.read_text(HUGE_PAGES)
    if "[never]" in found:
        command = f"echo madvise | {as_root()}tee {HUGE_PAGES}"
        return Finding("huge pages", "off; copies into new host memory are slower", command)
    return Finding("huge pages", found.partition("[")[2].partition("]")[0] or "not reported by this system")


def as_root() -> str:
    return "" if os.geteuid() == 0 or shutil.which("sudo") is None else "sudo "


# ------------------------------------------------------------------------------------------------ CUDA


def examine_driver() -> Finding:
    why = info.why_no_device()
    if not why:
        count = device_count("cuda")
        return Finding("CUDA", f"{count} device{'s' if count > 1 else ''}")
    if info.BUILT_WITHOUT in why:
        found = "this build was made without the CUDA headers"
        return Finding("CUDA", found, BUILD_AGAIN, optional=not machine.has_nvidia_device())
    if not machine.has_nvidia_device() and "VIADUCT_LIBCUDA" not in os.environ:
        return Finding("CUDA", "no NVIDIA device on this machine; everything for host memory works")
    return Finding("CUDA", why, how_to_fix_driver(why))


def how_to_fix_driver(why: str) -> str:
    """Returns the command that fixes the driver, by its answer."""
    if os.environ.get("VIADUCT_LIBCUDA"):
        return "unset VIADUCT_LIBCUDA"
    if "finds no device" in why and os.environ.get("CUDA_VISIBLE_DEVICES") is not None:
        return "unset CUDA_VISIBLE_DEVICES"
    if "11.4" in why or "INSUFFICIENT_DRIVER" in why:
        return install_driver() + ("   # on the host of this container" if is_container() else "")
    if is_container():
        return "docker run --gpus all ...   # from the outside, with the NVIDIA container toolkit"
    if "could not be opened" in why:
        return install_driver()
    if not os.access("/dev/nvidiactl", os.R_OK | os.W_OK) and Path("/dev/nvidiactl").exists():
        return f"{as_root()}chmod a+rw /dev/nvidia*"
    return f"{as_root()}nvidia-modprobe -u -c=0"


def is_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()


def install_driver() -> str:
    system = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    name = f"{system.get('ID', '')} {system.get('ID_LIKE', '')}"
    if "ubuntu" in name:
        return f"{as_root()}ubuntu-drivers install"
    if "debian" in name:
        return f"{as_root()}apt-get install nvidia-driver   # of the non-free component"
    return "install the driver from https://www.nvidia.com/drivers"


def examine_device(number: int) -> Iterator[Finding]:
    device = f"cuda:{number}"
    reported = device_info(device)
    routes = dict(line.partition(": ")[::2] for line in reported["routes"].splitlines())
    yield of_route(f"{device} kernels", routes.get("kernels", ""), fix_kernels)
    yield of_route(f"{device} staging", routes.get("staging of pageable memory", ""), lambda _: RAISE_MEMORY)


def of_route(name: str, state: str, fix: Callable[[str], str]) -> Finding:
    is_on = state.startswith("on")
    return Finding(name, state.partition(", ")[2] or state, "" if is_on else fix(state))


def fix_kernels(why: str) -> str:
    return install_driver() if "driver" in why else BUILD_AGAIN


# ------------------------------------------------------------------------------------------------ Python


def examine_peers() -> Iterator[Finding]:
    """Yields findings for installed packages that are built for CPUs only, if there is a device."""
    if device_count("cuda") == 0:
        return
    torch = machine.version_of("torch")
    if torch is not None:
        fix = "pip install --force-reinstall torch" if torch.endswith("+cpu") else ""
        yield Finding("PyTorch", f"{torch}{', built without CUDA' if fix else ''}", fix, bool(fix))
    if machine.version_of("jax") is not None:
        fix = "" if machine.version_of("jax-cuda13-plugin jax-cuda12-plugin") else 'pip install "jax[cuda13]"'
        yield Finding("JAX", "has no plugin for CUDA" if fix else "has its plugin for CUDA", fix, bool(fix))


def examine_extras() -> Iterator[Finding]:
    if machine.version_of("numpy") is None:
        yield Finding("NumPy", "not installed; dtypes are names, and a.numpy() is missing", "pip install numpy", True)
    if not has_rich():
        yield Finding("tables and progress", "plain, as rich is not installed", "pip install rich", True)
    if machine.version_of("matplotlib") is None:
        yield Finding("bench --plot", "no picture, as matplotlib is not installed", "pip install matplotlib", True)
