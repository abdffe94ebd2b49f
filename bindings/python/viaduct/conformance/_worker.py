"""The child process: runs rows one after the other and reports each, until it is done or dies."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import replace
from typing import Any

from ._memory import device_is_well
from ._peers import Peer, find_peer
from ._rows import DEVICE_LOST
from ._subjects import rows_for


def peer_of(order: dict[str, Any]) -> Peer:
    given = {name: text for name, text in order["expressions"].items() if text}
    return replace(find_peer(order["peer"], order["device"]), namespace={}, **given)


def run(order: dict[str, Any]) -> int:
    """Writes a line of JSON as each row begins, and one as it ends, to the descriptor that the order names."""
    out = os.fdopen(order["out"], "w", buffering=1)

    def report(**said: Any) -> None:
        out.write(json.dumps(said) + "\n")

    peer = peer_of(order)
    peer.names()
    report(version=peer.version)
    for index, row in enumerate(rows_for(order["device"])):
        if index < order["first"]:
            continue
        report(begins=index)
        outcome, words = row.judge(peer)
        report(ends=index, outcome=outcome, words=words)
        if outcome == "fail" and order["device"] == "cuda" and not device_is_well():
            return DEVICE_LOST
    report(done=True)
    return 0


def main() -> None:
    faulthandler.disable()
    status = run(json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(status)  # what a library does when the interpreter ends is none of the rows


if __name__ == "__main__":
    main()
