"""The conformance kit on CUDA memory: streams, the CUDA array interface, and everything else once more."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import viaduct as via
from viaduct.conformance import Peer, check
from viaduct.conformance._peers import find_peer
from viaduct.conformance._subjects import rows_for

NAMED = {row.name: row for row in rows_for("cuda")}


def test_viaduct_fails_no_row_on_a_device() -> None:
    report = check("viaduct", "cuda")
    assert [result for result in report.results if result.outcome in ("fail", "crash", "absent")] == []
    assert len(report.results) == len(NAMED) > 250


class Exporter:
    """An array that forgets the consumer's stream, or takes any for its own."""

    def __init__(self, stream: Any) -> None:
        self.array, self.stream = via.empty((2, 3), "float32", device="cuda:0"), stream

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords | {"stream": self.stream})

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def exporting_to(stream: Any) -> Peer:
    """A library that fills as it should and exports to this stream, whichever it is asked for."""
    viaduct = find_peer("viaduct", "cuda")
    names = {
        "make": lambda: Exporter(stream),
        "fill": lambda x, s: via.fill(x.array, 7, stream=s),
        "Stream": via.Stream,
    }
    return replace(
        viaduct,
        module=f"exporting to {stream}",
        array="m.make()",
        content="",
        fill="m.fill(x, m.Stream.current())",
        namespace={"m": SimpleNamespace(**names)},
    )


def taking_by(take: Any) -> Peer:
    viaduct = find_peer("viaduct", "cuda")
    names = {"take": take, "Stream": via.Stream, "asarray": via.asarray}
    return replace(
        viaduct,
        module=f"taking by {take}",
        from_dlpack="m.take(p)",
        from_cuda_interface="m.take(p)",
        namespace={"m": SimpleNamespace(**names)},
    )


class Interface:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = fields


def with_fields(**fields: Any) -> Any:
    return lambda p: via.asarray(Interface(p.__cuda_array_interface__ | fields))


@pytest.mark.parametrize(
    ("peer", "name", "words"),
    [
        (exporting_to(-1), "has the consumer's stream wait for its own", "does not wait"),
        (exporting_to(-1), "exports nothing to stream 0, which could mean two", "exported it"),
        (exporting_to(-1), "exports nothing to stream -2", "exported it"),
        (exporting_to(0), "exports to every stream that there is", "stream=None"),
        (
            taking_by(lambda p: via.from_dlpack(p.__dlpack__(max_version=(1, 0), stream=1))),
            "asks producers for the stream that it works on",
            "stream=1",
        ),
        (
            taking_by(lambda p: via.from_dlpack(p.__dlpack__(max_version=(1, 0), stream=0))),
            "asks for a stream that is one",
            "stream=0",
        ),
        (
            taking_by(with_fields(stream=None)),
            "imports no CUDA array interface with stream 0, which could mean two",
            "took it",
        ),
        (taking_by(with_fields(strides=None)), "imports a CUDA array interface with strides in bytes", "other ones"),
        (taking_by(with_fields(mask=None)), "imports no CUDA array interface with a mask", "took it"),
    ],
)
def test_who_is_wrong_about_streams_or_interfaces_fails_the_row(peer: Peer, name: str, words: str) -> None:
    outcome, found = NAMED[name].judge(peer)
    assert outcome == "fail" and words in found
