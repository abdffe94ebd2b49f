"""`python -m viaduct [info]`: what this machine can do, and why not more."""

from __future__ import annotations

import sys
import textwrap

from . import Error, __version__, device_count, device_info

WIDTH = 78


def report() -> str:
    """The library, the host and every CUDA device; or the reason why there is none."""
    lines = [f"viaduct {__version__}"]
    lines += describe("cpu")
    count = device_count("cuda")
    for number in range(count):
        lines += describe(f"cuda:{number}")
    if count == 0:
        lines += ["", "cuda  none", *folded("reason", why_no_device())]
    return "\n".join(lines)


def describe(device: str) -> list[str]:
    try:
        info = device_info(device)
    except Error as error:
        return ["", *folded(device, str(error))]
    lines = ["", f"{device}  {info['name']}", *folded("memory", gibibytes(info["total_bytes"]))]
    if info["compute_capability"]:
        lines += folded("compute capability", "{}.{}".format(*divmod(info["compute_capability"], 10)))
    for route in info["routes"].splitlines():
        name, _, state = route.partition(": ")
        lines += folded(name, state)
    return lines


def why_no_device() -> str:
    try:
        device_info("cuda:0")
    except Error as error:
        text = str(error)
        return text.partition("needs CUDA: ")[2] or text.removeprefix("via_device_info: ")
    return "there is no device"


def gibibytes(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"


def folded(name: str, text: str) -> list[str]:
    return textwrap.wrap(f"{name}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["info"]):
        print("usage: python -m viaduct [info]", file=sys.stderr)
        return 2
    print(report())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
