"""How a library asks a producer, and what it makes of the answers."""

from __future__ import annotations

import enum
import functools
import gc
import threading
from typing import Any

from . import _abi
from ._importing import EITHER, REFUSE, TAKE, check_refused, exported_again, forms, hand_over, is_read_only
from ._peers import Peer, plain, takes
from ._producer import Producer
from ._reader import Absent, Broken
from ._rows import Rows, raised_by, settles, words_of

ROWS = Rows()
KEYWORDS = {"stream", "max_version", "dl_device", "copy"}


def taken_by(peer: Peer, producer: Any, **keywords: Any) -> list[Any]:
    """What the library made of it, alone in a list so that it can be released; Absent if it refused."""
    taken: list[Any] = []
    error = raised_by(lambda: taken.append(peer.take(producer, **keywords)))
    if error is not None:
        raise Absent(f"refused it: {words_of(error)}")
    return taken


def first_question(peer: Peer) -> dict[str, Any]:
    producer = plain(peer)
    taken_by(peer, producer)
    if not producer.asked:
        raise Absent("it takes tensors by another road than __dlpack__()")
    return producer.asked[0]


@ROWS.row("imports a vector, in one form at least")
def _takes_a_vector(peer: Peer) -> None:
    errors = [raised_by(functools.partial(peer.take, plain(peer, legacy=legacy))) for _, legacy in forms()]
    if all(errors):
        raise Broken(" and ".join(words_of(error) for error in errors if error is not None))


@ROWS.row("asks for a version that it can take, as two numbers")
def _asks_for_a_version(peer: Peer) -> None:
    version = first_question(peer).get("max_version")
    if not isinstance(version, tuple) or [type(number) for number in version] != [int, int] or version[0] < 1:
        raise Broken(f"asked with max_version={version!r}")


@ROWS.row("asks with keywords of the standard alone")
def _asks_with_known_keywords(peer: Peer) -> None:
    if unknown := set(first_question(peer)) - KEYWORDS:
        raise Broken(f"asked with {sorted(unknown)}")


@ROWS.row("asks host memory for no stream", "cpu")
def _asks_for_no_stream(peer: Peer) -> None:
    stream = first_question(peer).get("stream")
    if stream is not None:
        raise Broken(f"asked with stream={stream!r}")


@ROWS.row("asks for a stream that is one", "cuda")
def _asks_for_a_stream(peer: Peer) -> None:
    stream = first_question(peer).get("stream")
    if stream is not None and (not isinstance(stream, int) or stream == 0 or stream < -1):
        raise Broken(f"asked with stream={stream!r}")


@ROWS.row("asks a producer of before the keywords again, without them")
def _asks_again(peer: Peer) -> None:
    producer = plain(peer, legacy=True, knows=("stream",))
    hand_over(peer, producer, TAKE)
    if "max_version" in producer.asked[-1]:
        raise Broken(f"asked with {producer.asked[-1]}")


@ROWS.row("imports the unversioned form from who knows max_version")
def _takes_the_older_form(peer: Peer) -> None:
    hand_over(peer, plain(peer, legacy=True), TAKE)


@ROWS.row("imports a device type that is an enumerator")
def _takes_an_enumerator(peer: Peer) -> None:
    kind = enum.IntEnum("kind", {"THIS": peer.device_type})
    hand_over(peer, plain(peer, reported_device=(kind.THIS, 0)), TAKE)


def reported_by(error: BaseException) -> str:
    """What it says, and what it says that it came of."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{error}\n{before or ''}"


@ROWS.row("hands on what a producer raises")
def _hands_on_errors(peer: Peer) -> None:
    class Reluctant(Producer):
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("not today")

    error = raised_by(lambda: peer.take(Reluctant(peer.memory())))
    if error is None or "not today" not in reported_by(error):
        raise Broken("took it" if error is None else f"raised {words_of(error)}")


@ROWS.row("hands on what __dlpack_device__ raises")
def _hands_on_device_errors(peer: Peer) -> None:
    class Reluctant(Producer):
        def __dlpack_device__(self) -> Any:
            raise BufferError("not here")

    error = raised_by(lambda: peer.take(Reluctant(peer.memory(), (3,), (1,), legacy=not takes(peer, False))))
    if error is None:
        raise Absent("it does not ask for the device")
    if "not here" not in reported_by(error):
        raise Broken(f"raised {words_of(error)}")


def refuse_answer(peer: Peer, answer: Any) -> None:
    class Wrong(Producer):
        def __dlpack__(self, **_: Any) -> Any:
            return answer(self)

    producer = Wrong(peer.memory(), (3,), (1,), legacy=True)
    if raised_by(lambda: peer.take(producer)) is None:
        raise Broken("took it")
    check_refused(producer)


@ROWS.row("refuses what is no capsule")
def _refuses_numbers(peer: Peer) -> None:
    refuse_answer(peer, lambda _: 7)


@ROWS.row("refuses None for a capsule")
def _refuses_none(peer: Peer) -> None:
    refuse_answer(peer, lambda _: None)


@ROWS.row("refuses a capsule of another name")
def _refuses_other_capsules(peer: Peer) -> None:
    refuse_answer(peer, lambda producer: producer.capsule(b"something_else"))


@ROWS.row("refuses a capsule without a name")
def _refuses_nameless_capsules(peer: Peer) -> None:
    refuse_answer(peer, lambda producer: _abi.new_capsule(0x1000, None, None))


def refuse_used(legacy: bool, peer: Peer) -> None:
    """A consumer that does not look at the name takes the tensor a second time, and deletes it twice."""
    if not takes(peer, legacy):
        raise Absent("it takes no tensors of this form")

    class Again(Producer):
        def __dlpack__(self, **_: Any) -> Any:
            return self.capsules[0] if self.capsules else self.capsule()

    producer = Again(peer.memory(), (3,), (1,), legacy=legacy)
    first = taken_by(peer, producer)
    if raised_by(lambda: peer.take(producer)) is None:
        raise Broken("took the same capsule a second time")
    del first[:]
    settles(lambda: producer.deleted > 0)
    if producer.deleted != 1:
        raise Broken(f"the deleter was called {producer.deleted} times")


for form, is_legacy in forms():
    ROWS.add(f"refuses a capsule that was used ({form})", functools.partial(refuse_used, is_legacy))


@ROWS.row("copies when copy is True")
def _copies(peer: Peer) -> None:
    copy_as_wished(peer, True)


@ROWS.row("does not copy when copy is False")
def _does_not_copy(peer: Peer) -> None:
    copy_as_wished(peer, False)


def copy_as_wished(peer: Peer, copy: bool) -> None:
    if raised_by(lambda: peer.take(plain(peer))) is not None:
        raise Absent("it takes no vector")
    producer = plain(peer)
    hand_over(peer, producer, EITHER, copy=copy)


@ROWS.row("keeps the deleter for the last view of the memory")
def _holds_the_memory(peer: Peer) -> None:
    producer = plain(peer)
    taken = taken_by(peer, producer)
    held = [slice_of(taken[0], producer)]
    del taken[:]
    gc.collect()
    if producer.deleted:
        raise Broken("the deleter was called while a view of the memory lived")
    del held[:]
    if not settles(lambda: producer.deleted == 1):
        raise Broken(f"the deleter was called {producer.deleted} times")


def slice_of(x: Any, producer: Producer) -> Any:
    """All but the first element, on the same memory."""
    made: list[Any] = []
    raised_by(lambda: made.append(x[1:]))
    exported = exported_again(made[0]) if made else None
    if exported is None or exported.address != producer.address + 4:
        raise Absent("its slices are no views")
    return made[0]


@ROWS.row("may be released on another thread")
def _releases_on_threads(peer: Peer) -> None:
    producer = plain(peer)
    taken = taken_by(peer, producer)
    thread = threading.Thread(target=taken.clear)
    thread.start()
    thread.join()
    if not settles(lambda: producer.deleted == 1):
        raise Broken(f"the deleter was called {producer.deleted} times")


@ROWS.row("imports many tensors at once, and releases each once")
def _takes_many(peer: Peer) -> None:
    producers = [plain(peer, legacy=bool(i % 2)) for i in range(64)]
    taken = [each for producer in producers for each in taken_by(peer, producer)]
    taken.clear()
    if not settles(lambda: all(producer.deleted == 1 for producer in producers)):
        raise Broken(f"the deleters were called {sorted({producer.deleted for producer in producers})} times")


@ROWS.row("keeps read-only memory from being written")
def _keeps_read_only(peer: Peer) -> None:
    if not takes(peer, False):
        raise Absent("it does not ask for the form that could say so")
    taken = taken_by(peer, plain(peer, flags=_abi.READ_ONLY))
    if not is_read_only(peer, taken[0]):
        raise Broken("read-only was dropped")


@ROWS.row("refuses memory of another device than its producer reported")
def _refuses_liars(peer: Peer) -> None:
    """It may believe the tensor and not ask; it must not believe the description."""
    other = _abi.CPU if peer.device_type == _abi.CUDA else _abi.CUDA_HOST
    hand_over(peer, plain(peer, reported_device=(other, 0)), EITHER)


@ROWS.row("refuses a device that is no pair")
def _refuses_malformed_devices(peer: Peer) -> None:
    producer = plain(peer, reported_device="cpu")
    hand_over(peer, producer, REFUSE if peer.device_type == _abi.CUDA else EITHER)
