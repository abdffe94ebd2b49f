"""What the suites of NumPy, PyTorch, CuPy and the array API standard check of a library's DLPack, asked of Viaduct.

What tests/python asks already is not asked again: names of capsules, versions, streams, read-only, copies, dtypes.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
import viaduct as via
from peers import grid, is_gone, peer
from tensors import Producer
from test_support_matrix import NAMES
from viaduct.conformance._abi import IS_COPIED
from viaduct.conformance._reader import Taken

VERSIONS: list[Any] = [None, (0, 0), (0, 8), (1, 0), (1, 3), (2, 0), (100, 3)]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "record12"])
def test_every_keyword_goes_with_every_other_for_every_dtype(name: str) -> None:
    """The array API's own suite draws these at random; here are all."""
    for shape in ((), (0,), (1,), (2, 1, 2), (2, 0, 2)):
        a = via.empty(shape, name)
        assert a.__dlpack_device__() == (1, 0)
        for copy, version, device in itertools.product((None, False, True), VERSIONS, (None, (1, 0))):
            taken = Taken(a.__dlpack__(copy=copy, max_version=version, dl_device=device))
            assert taken.versioned == (version is not None and version[0] >= 1)
            assert taken.shape == shape
            assert bool(taken.flags & IS_COPIED) == (copy is True and taken.versioned)


def test_what_is_taken_is_on_the_device_that_was_asked_for() -> None:
    a = grid()
    for copy, device in itertools.product((None, False, True), (None, "cpu", (1, 0))):
        b = via.from_dlpack(a, device=device, copy=copy)
        assert b.device == "cpu" and b.tolist() == a.tolist()
        assert (b.ptr == a.ptr) == (copy is not True)


def test_a_device_that_there_is_not_is_refused_by_name() -> None:
    for device in ("gpu", "tpu:0", (8, 0)):
        with pytest.raises((ValueError, RuntimeError, BufferError, NotImplementedError)) as error:
            via.from_dlpack(grid(), device=device)  # type: ignore[arg-type]
        assert "device" in str(error.value)


def test_a_kind_of_device_that_there_is_not_is_a_buffer_error() -> None:
    for kind in range(-1, 20):
        if kind != 1:
            with pytest.raises(BufferError):
                grid().__dlpack__(max_version=(1, 0), dl_device=(kind, 0))


def test_views_are_where_their_array_is() -> None:
    a = grid()
    for view in (a[::2], a.T, a[0, 1], a[:0], a.reshape(12), via.from_dlpack(a)[1]):
        assert view.__dlpack_device__() == a.__dlpack_device__()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_holds_no_more_than_its_array(version: Any) -> None:
    a = grid()
    before = sys.getrefcount(a)
    capsule = a.__dlpack__(max_version=version)
    assert via.stats()["outstanding_exports"] == 1
    del capsule
    assert sys.getrefcount(a) == before and via.stats()["outstanding_exports"] == 0


def test_a_capsule_that_dies_of_an_exception_frees_its_tensor_and_lets_the_exception_pass() -> None:
    def fail(version: Any) -> None:
        capsule = via.from_dlpack(Producer().capsule()).__dlpack__(max_version=version)
        raise RuntimeError(f"with {capsule}")

    for version in VERSIONS:
        with pytest.raises(RuntimeError, match="with <capsule"):
            fail(version)
    assert via.stats()["outstanding_exports"] == 0


def test_memory_is_freed_with_the_capsule_or_with_who_took_it() -> None:
    def exported() -> tuple[Any, Any]:
        import weakref

        class Owner:
            memory = bytearray(64)

        owner = Owner()
        memory = via.asarray(owner.memory)
        return weakref.ref(owner), via.wrap(memory.ptr, 64, "uint8", owner=owner).__dlpack__()

    owner, capsule = exported()
    assert owner() is not None
    del capsule
    assert is_gone(owner)
    owner, capsule = exported()
    taken = via.from_dlpack(capsule)
    del capsule
    assert owner() is not None
    del taken
    assert is_gone(owner)


def test_writes_go_both_ways() -> None:
    torch, numpy = peer("torch"), peer("numpy")
    a = grid()
    t, n = torch.from_dlpack(a), numpy.from_dlpack(a)
    t[0, 0] = 20
    assert a[0, 0].item() == n[0, 0] == 20
    a[2, 3] = 30
    assert t[2, 3].item() == n[2, 3] == 30
    taken = via.from_dlpack(t)
    taken[1, 1] = 40
    assert a[1, 1].item() == 40


def test_the_stride_along_one_element_is_passed_on_as_it_is() -> None:
    torch = peer("torch")
    x = torch.rand(16)[::3][:1]
    a = via.from_dlpack(x)
    assert a.shape == (1,) and a.item() == x.item()
    assert torch.from_dlpack(a).item() == x.item()


def test_views_of_pytorch_that_are_still_to_be_negated_or_conjugated_are_refused_on_every_road() -> None:
    """PyTorch's table exports both as they lie in memory, and its __dlpack__ the negated ones."""
    torch = peer("torch")
    conjugated = torch.conj(torch.tensor([1 + 1j, 2 - 3j]))
    for x in (conjugated, conjugated.imag):
        for take in (via.from_dlpack, via.asarray, lambda x: via.from_dlpack(x, copy=True)):
            with pytest.raises(BufferError, match="resolve_conj"):
                take(x)
        resolved = x.resolve_neg().resolve_conj()
        assert via.from_dlpack(resolved).tolist() == x.tolist()


def test_tensors_that_require_a_gradient_are_refused_by_every_road() -> None:
    """As PyTorch's own __dlpack__, numpy() and __cuda_array_interface__ do; its table exports them without a word."""
    torch = peer("torch")
    leaf = torch.arange(3.0, requires_grad=True)
    for x in (leaf, leaf * 2, torch.nn.Parameter(torch.arange(3.0))):
        for take in (via.from_dlpack, via.asarray, lambda x: via.from_dlpack(x, copy=True)):
            with pytest.raises(BufferError, match="gradient.*detach"):
                take(x)
        with torch.no_grad(), pytest.raises(BufferError, match="gradient.*detach"):
            via.from_dlpack(x)
        assert via.from_dlpack(x.detach()).tolist() == x.tolist()
    via.from_dlpack(leaf.detach())[0] = 5
    assert leaf[0] == 5


def test_what_pytorch_cannot_export_is_refused() -> None:
    torch = peer("torch")
    for x in (torch.empty(3, device="meta"), torch.zeros(3).to_mkldnn()):
        with pytest.raises((RuntimeError, BufferError)):
            via.from_dlpack(x)


def test_what_numpy_refuses_to_export_arrives_as_its_own_refusal() -> None:
    numpy = peer("numpy")
    record = numpy.zeros(5, numpy.dtype([("number", numpy.int32), ("letter", numpy.int8)]))
    for x in (record["number"], numpy.arange(5, dtype=">i8"), numpy.asarray(numpy.datetime64("2021-05-27"))):
        with pytest.raises(BufferError):
            via.from_dlpack(x)


def test_fields_of_records_that_dlpack_cannot_say_come_by_another_road() -> None:
    numpy = peer("numpy")
    record = numpy.zeros(5, numpy.dtype([("number", numpy.int32), ("letter", numpy.int8)]))
    record["number"] = range(5)
    a = via.asarray(record["number"])
    assert a.strides == (5,) and a.tolist() == list(range(5))


def test_creation_functions_take_arrays_as_they_are() -> None:
    torch, numpy = peer("torch"), peer("numpy")
    a = grid()
    assert torch.tensor(a).tolist() == a.tolist()
    assert torch.asarray(a).data_ptr() == a.ptr
    assert torch.utils.dlpack.from_dlpack(a.__dlpack__()).data_ptr() == a.ptr
    assert numpy.array(a).tolist() == a.tolist()
    assert numpy.asarray(a).ctypes.data == a.ptr


def test_a_keyword_that_is_no_truth_is_refused() -> None:
    numpy = peer("numpy")
    with pytest.raises((TypeError, ValueError)):
        grid().__dlpack__(copy=numpy.array([1, 2, 3]))  # type: ignore[arg-type]


def test_a_producer_of_before_the_versions_is_taken_with_its_stream_alone() -> None:
    numpy = peer("numpy")

    class Old:
        def __init__(self) -> None:
            self.array = numpy.arange(5)

        def __dlpack__(self, stream: Any = None) -> Any:
            return self.array.__dlpack__(stream=stream)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    old = Old()
    a = via.from_dlpack(old)
    assert a.ptr == old.array.ctypes.data and a.tolist() == [0, 1, 2, 3, 4]
