"""Draws the plan of a copy between two layouts. Accesses no memory and needs none."""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import Any, NamedTuple

from .. import Array, InvalidArgumentError, copy_explain, wrap
from .drawing import draw_flow, draw_layouts, draw_loops
from .page import Page, in_bytes, width_of_output

# Where there is nothing.
SRC_ADDRESS, DST_ADDRESS = 1 << 45, 1 << 46

PLACE = r"(?:device(?: \d+)?|(?:pageable|pinned|managed) memory)"

EXAMPLES = """examples:
  python -m viaduct explain 1000,1000 F
  python -m viaduct explain 512,512 --to cuda:0 --dtype float16
  python -m viaduct explain 8,3,224,224 602112,4,2688,12
"""


class Plan(NamedTuple):
    """The text of a plan by its lines' names."""

    route: str
    element: str
    loops: str
    tile: str
    tiles: str
    threads: str
    bytes: str


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="draw the plan of a copy",
        description=textwrap.fill(__doc__ or "", width_of_output()),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shape", metavar="SHAPE", help="extents, as in 480,640")
    parser.add_argument(
        "src",
        nargs="?",
        default="C",
        metavar="STRIDES",
        help="strides of the source in bytes, as NumPy's; or C or F (C by default)",
    )
    parser.add_argument(
        "dst", nargs="?", default="C", metavar="DST_STRIDES", help="strides of the destination, likewise"
    )
    parser.add_argument("--dtype", default="float32", help="dtype of both; float32 by default")
    parser.add_argument(
        "--from",
        dest="from_device",
        default="cpu",
        metavar="DEVICE",
        help="device of the source: cpu, pinned, managed, cuda:0 ...",
    )
    parser.add_argument("--to", dest="to_device", default="cpu", metavar="DEVICE", help="device of the destination")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, page: Page) -> int:
    shape = as_numbers("SHAPE", options.shape)
    src = make_array(SRC_ADDRESS, shape, options.src, options.dtype, options.from_device)
    dst = make_array(DST_ADDRESS, shape, options.dst, options.dtype, options.to_device)
    plan = read_plan(copy_explain(dst, src))
    extents = " x ".join(map(str, shape)) or "one element"
    page.heading(f"{extents} {src.dtype_name}, {in_bytes(src.nbytes)}", f"{src.device} to {dst.device}")
    page.say()
    draw_flow(page, stages(plan, src, dst))
    page.say()
    report(page, plan)
    if src.ndim > 0 and src.size > 0 and None not in (src.strides, dst.strides):
        page.say()
        draw_layouts(page, src, dst)
    return 0


def as_numbers(name: str, text: str, others: str = "") -> tuple[int, ...]:
    """As they are typed, or as Python prints them; `others` are what else could have been there."""
    words = re.split(r"[\s,x()\[\]]+", text.strip())
    try:
        return tuple(int(word) for word in words if word)
    except ValueError:
        raise InvalidArgumentError(f"explain: {name} is {text!r}; expected numbers such as 480,640{others}") from None


def make_array(address: int, shape: tuple[int, ...], strides: str, dtype: str, device: str) -> Array:
    """On an address that nobody looks at, with as much room on either side as any layout takes."""
    row_major = wrap(address, shape, dtype, device=device, check=False)
    if strides.strip().upper() == "C":
        return row_major
    if strides.strip().upper() == "F":
        return wrap(address, shape[::-1], dtype, device=device, check=False).T
    steps = as_numbers("STRIDES", strides, ", C or F")
    if len(steps) != len(shape):
        raise InvalidArgumentError(f"explain: STRIDES has {len(steps)} numbers; expected {len(shape)}")
    return wrap(address, shape, dtype, strides=steps, device=device, check=False)


def read_plan(text: str) -> Plan:
    lines = dict(line.partition(": ")[::2] for line in text.splitlines())
    return Plan(*(lines.get(name, "") for name in Plan._fields))


def report(page: Page, plan: Plan) -> None:
    page.fact("route", plan.route)
    if plan.loops:
        draw_loops(page, plan.loops, plan.element)
    elif plan.element:
        page.fact("element", plan.element)
    if plan.tile:
        page.fact("tile", plan.tile)
        page.fact("tiles", plan.tiles)
    if plan.bytes:
        page.fact("bytes", plan.bytes)


# ------------------------------------------------------------------------------------------------ what it passes


def stages(plan: Plan, src: Array, dst: Array) -> list[tuple[str, str]]:
    """The places that the bytes pass, each with what takes them to the next."""
    between = way_between(plan)
    source, destination = place("from", src), place("to", dst)
    if len(between) == 1:
        return [(source, between[0]), (destination, "")]
    first, middle, last = between
    return [(source, first), (middle, last), (destination, "")]


def place(name: str, array: Array) -> str:
    return f"{name} {array.device}, {steps_of(array)}{order_of(array)}"


def steps_of(array: Array) -> str:
    """In bytes, unless elements share them."""
    steps = array.element_strides if array.strides is None else array.strides
    unit = " in elements" if array.strides is None else ""
    return f"strides{unit} {', '.join(map(str, steps))}" if steps else "no strides"


def order_of(array: Array) -> str:
    if array.ndim < 2:
        return ""
    return ": row-major" if array.c_contiguous else ": column-major" if array.f_contiguous else ""


def way_between(plan: Plan) -> list[str]:
    """One step, or two with what lies between them."""
    route = plan.route
    staged = re.match(r"staged, (.*) to (.*), (\d+ workers), (\d+ slots of up to \d+ KiB)(?:, (.*))?", route)
    if staged:
        return staged_steps(*staged.groups())
    if "copied by the driver" in route:
        return bounced_steps(route)
    if plan.threads:
        return [f"{route.partition(', ')[0]}, {plan.threads} thread{'s' if plan.threads != '1' else ''}"]
    return [re.sub(rf"(^|, ){PLACE} to {PLACE}(, |$)", r"\1", route).rstrip(", ")]


def bounced_steps(route: str) -> list[str]:
    """The driver copies between the host's part and a kernel's; either may be missing."""
    host = re.search("(gathered|scattered) by the host", route)
    kernel = re.search("(un)?packed by a kernel", route)
    steps = ["the driver's copy"]
    if host:
        steps = [f"{steps[0]}, {kernel[0]}" if kernel else steps[0], "host memory", host[0]]
        return steps[::-1] if host[1] == "gathered" else steps
    if kernel:
        steps += ["device memory", kernel[0]]
    return steps if kernel is None or kernel[1] else steps[::-1]


def staged_steps(src: str, dst: str, workers: str, slots: str, extra: str | None) -> list[str]:
    """The workers are at the host's end, and copy engines at the device's."""
    kernel = f", {extra}" if extra and "kernel" in extra else ""
    host = f"{workers}{f', {extra}' if extra and not kernel else ''}"
    engine = f"copy engine{kernel}"
    ring = f"pinned ring, {slots}"
    return [host, ring, engine] if "pageable" in src else [engine, ring, host]
