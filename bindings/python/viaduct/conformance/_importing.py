"""How a library is judged that has been handed a tensor: what it took, what it kept, and what it released."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from . import _abi
from ._peers import Peer
from ._producer import Producer
from ._reader import Absent, Broken, Taken, expected, export
from ._rows import Refused, raised_by, settles, words_of

# What a library owes a tensor.
TAKE, EITHER, REFUSE = "take", "take or refuse", "refuse"


def hand_over(peer: Peer, producer: Producer, must: str, **keywords: Any) -> None:
    """Has the library take the tensor and release it again, and looks at every step."""
    taken: list[Any] = []
    error = raised_by(lambda: taken.append(peer.take(producer, **keywords)))
    if error is not None:
        words = words_of(error)
        del error
        if producer.unasked:
            raise Absent("it does not ask for the versioned form")
        check_refused(producer)
        judge_refusal(peer, producer, must, words)
        return
    if must == REFUSE:
        raise Broken("took it" + seen_as(taken[0]))
    check_taken(peer, producer, taken[0], keywords.get("copy"))
    taken.clear()
    check_ended(producer)


def judge_refusal(peer: Peer, producer: Producer, must: str, words: str) -> None:
    other_rank = bool(peer.ranks) and len(producer.shape) not in peer.ranks
    if must == TAKE and not other_rank:
        raise Broken(f"refused it: {words}")
    if must != REFUSE:
        raise Refused(words)


def seen_as(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f", with shape {tuple(shape)}" if isinstance(shape, Sequence) and len(shape) < 8 else ""


def check_refused(producer: Producer) -> None:
    """The tensor is still the capsule's to delete, or has been deleted by whoever marked the capsule."""
    gc.collect()
    if producer.is_marked():
        if producer.has_deleter and not settles(lambda: producer.deleted == 1):
            raise Broken(f"refused, marked the capsule as used and called the deleter {producer.deleted} times")
        return
    if producer.deleted:
        raise Broken("refused, deleted the tensor and left the capsule to delete it again")
    producer.end_unused()


def check_taken(peer: Peer, producer: Producer, x: Any, copy: bool | None) -> None:
    if not producer.is_marked():
        raise Broken("took the tensor and did not mark the capsule as used: it will be deleted twice")
    taken = exported_again(x)
    if taken is not None:
        check_place(producer, taken, copy)
    wanted = expected(producer)
    check_content("read", wanted, own_view(peer, x))
    if taken is not None and (taken.bits % 8 == 0 or producer.dtype[1] % 8 != 0):
        check_content("exported again", wanted, elements_of(taken))


def exported_again(x: Any) -> Taken | None:
    """What the library has taken, as it says itself; None for what it cannot export."""
    if not hasattr(x, "__dlpack__"):
        return None
    exported: list[Taken] = []
    raised_by(lambda: exported.append(export(x)))
    return exported[0] if exported else None


def own_view(peer: Peer, x: Any) -> bytes | None:
    """As the library itself sees the elements; None where it has no means to say."""
    seen: list[bytes] = []
    if peer.content:
        raised_by(lambda: seen.append(peer.evaluate(peer.content, x=x)))
    return seen[0] if seen else None


def elements_of(taken: Taken) -> bytes | None:
    try:
        return taken.elements()
    except Absent:
        return None


def check_place(producer: Producer, taken: Taken, copy: bool | None) -> None:
    if not expected(producer):
        return
    shares = taken.address == producer.address
    if shares and copy is True:
        raise Broken("shares the memory though a copy was asked for")
    if not shares and copy is False:
        raise Broken("copied though a copy was forbidden")
    if shares and producer.deleted:
        raise Broken("the deleter was called while the memory is in use")
    if tuple(taken.shape) != producer.shape and taken.bits == producer.dtype[1] * producer.dtype[2]:
        raise Broken(f"made shape {producer.shape} into {taken.shape}")


def check_content(how: str, wanted: bytes, found: bytes | None) -> None:
    if found is not None and found != wanted:
        raise Broken(f"{how}, the elements are other ones: {found[:24].hex(' ', 4)}, not {wanted[:24].hex(' ', 4)}")


def check_ended(producer: Producer) -> None:
    """Of a tensor that was taken and released."""
    wanted = 1 if producer.has_deleter else 0
    settles(lambda: producer.deleted >= wanted)
    if producer.deleted != wanted:
        raise Broken(f"the deleter was called {producer.deleted} times")


def forms(*, legacy: bool = True, versioned: bool = True) -> list[tuple[str, bool]]:
    return [("versioned", False)] * versioned + [("unversioned", True)] * legacy


def is_read_only(peer: Peer, x: Any) -> bool:
    """Whether the library keeps from writing, or says at least that nobody may."""
    if peer.writable and not peer.evaluate(peer.writable, x=x):
        return True
    exported = exported_again(x)
    return exported is not None and bool(exported.flags & _abi.READ_ONLY)
