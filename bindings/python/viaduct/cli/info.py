"""`info`: the library, the host, every CUDA device and its routes; or the reason why there is none."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import Any, TypeAlias

from .. import Error, __version__, device_count, device_info, stats
from . import machine
from .page import Page, in_bytes

Links: TypeAlias = dict[str, machine.Link]

BUILT_WITHOUT = "expected a build with CUDA"


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "info", help="show the library, the devices, and which routes of a copy are on", description=__doc__
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, page: Page) -> int:
    links = machine.nvidia_links()
    page.heading(f"viaduct {__version__}")
    show_device(page, "cpu", links)
    count = device_count("cuda")
    for number in range(count):
        show_device(page, f"cuda:{number}", links)
    if count == 0:
        page.say()
        page.heading("cuda", "none")
        page.fact("reason", why_no_device())
    show_library(page, links)
    return 0


def show_device(page: Page, device: str, links: Links) -> None:
    page.say()
    try:
        info = device_info(device)
    except Error as error:
        page.fact(device, str(error))
        return
    page.heading(device, info["name"])
    page.fact("memory", f"{info['total_bytes'] / 2**30:.1f} GiB")
    if info["compute_capability"]:
        page.fact("compute capability", "{}.{}".format(*divmod(info["compute_capability"], 10)))
        page.fact("link", machine.link_of(info["device_id"], links))
    for route in info["routes"].splitlines():
        name, _, state = route.partition(": ")
        page.fact(name, state, "yellow" if state.startswith("off") else "")


def show_library(page: Page, links: Links) -> None:
    page.say()
    page.heading("library")
    page.fact("file", machine.file_of_library())
    page.fact("package", f"{Path(__file__).resolve().parents[1]}, in Python {platform.python_version()}")
    page.fact("built", "without CUDA" if BUILT_WITHOUT in why_no_device() else "with CUDA")
    version = machine.driver_version(links)
    if version is not None:
        page.fact("driver", version)
    held = stats()
    page.fact("pinned now", f"{in_bytes(held['staged_bytes'])} for staging, {in_bytes(held['pinned_bytes'])} in arrays")
    peers = ", ".join(f"{name} {version}" for name, version in machine.installed_peers())
    page.fact("installed next to it", peers or "none of the packages that it exchanges arrays with")


def why_no_device() -> str:
    """Empty where there is one."""
    try:
        device_info("cuda:0")
    except Error as error:
        text = str(error)
        return text.partition("expected a usable driver: ")[2] or text.removeprefix("via_device_info: ")
    return ""
