"""New arrays on devices, and those that asarray() brings there."""

from __future__ import annotations

import pytest
import viaduct as via


@pytest.mark.parametrize("device", ["cuda:0", "pinned", "managed"])
def test_zeros_ones_and_full_are_made_where_they_are_wanted(device: str) -> None:
    stream = via.Stream()
    for a, value in (
        (via.zeros(5, "int32", device=device), 0),
        (via.ones(5, "int32", device=device), 1),
        (via.full(5, 9, "int32", device=device), 9),
        (via.full(5, 8, "int32", memory="pool", stream=stream).copy(device), 8),
    ):
        a.synchronize()
        assert a.device == device and a.copy("cpu").tolist() == [value] * 5


@pytest.mark.parametrize("options", [{"device": "cuda:0"}, {"device": "pinned"}, {"memory": "managed"}, {}])
def test_a_stream_orders_the_fill_of_memory_that_no_stream_allocates(options: dict[str, str]) -> None:
    stream = via.Stream()
    for a, value in (
        (via.zeros(5, "int32", stream=stream, **options), 0),  # type: ignore[arg-type]
        (via.full(5, 9, "int32", stream=stream, **options), 9),  # type: ignore[arg-type]
        (via.ones_like(via.empty(5, "int32", **options), stream=stream), 1),  # type: ignore[arg-type]
    ):
        stream.synchronize()
        assert a.copy("cpu").tolist() == [value] * 5
    with pytest.raises(via.InvalidArgumentError, match="which no stream orders"):
        via.empty(5, "int32", stream=stream, **options)  # type: ignore[call-overload]


def test_arrays_like_another_are_on_its_device_unless_asked_otherwise() -> None:
    a = via.zeros((2, 3), "float32", device="cuda:0")
    assert via.empty_like(a).device == "cuda:0"
    assert via.full_like(a, 3, device="cpu").tolist() == [[3] * 3] * 2
    assert via.zeros_like(a, memory="pinned").device == "pinned"


@pytest.mark.parametrize(
    ("device", "memory"),
    [("pinned", "host"), ("pinned", "shared"), ("pinned", "managed"), ("managed", "pinned"), ("managed", "host")],
)
def test_memory_of_another_kind_than_the_device_that_is_named_is_refused(device: str, memory: str) -> None:
    with pytest.raises(via.DeviceError, match=f'memory is "{memory}"; expected memory of the device that is named'):
        via.empty(3, "int8", device=device, memory=memory)
    with pytest.raises(via.DeviceError, match="expected memory of the device that is named"):
        via.memory(memory, device)
    assert via.empty(3, "int8", device=device, memory=device).device == device
    assert via.empty_like(via.empty(3, "int8", device=device), memory=memory).device in (memory, "cpu")


@pytest.mark.skipif(via.device_count() < 2, reason="there is one device")
def test_memory_like_that_of_another_device_is_on_that_device() -> None:
    a = via.zeros((2, 3), "float32", device="cuda:1")
    for memory in ("device", "pool"):
        assert via.empty_like(a, memory=memory).device == "cuda:1"
        assert via.empty_like(a, device="cuda:0", memory=memory).device == "cuda:0"
        assert via.empty(3, "int8", device="cuda:1", memory=memory).device == "cuda:1"
    assert via.empty_like(a, memory="host").device == "cpu"
    assert via.empty_like(a, memory="pinned").device == "pinned"


def test_asarray_copies_to_another_device_and_not_to_its_own() -> None:
    a = via.full(4, 3, "float32", device="cuda:0")
    assert via.asarray(a, device="cuda:0") is a
    host = via.asarray(a, device="cpu")
    assert host.device == "cpu" and host.tolist() == [3] * 4
    back = via.asarray(host, device="cuda", copy=True)
    assert back.device == "cuda:0" and back.copy("cpu").tolist() == [3] * 4
    with pytest.raises(via.NeedsCopyError, match="cuda:0"):
        via.asarray(a, device="cpu", copy=False)


def test_copyto_repeats_on_a_stream() -> None:
    stream = via.Stream()
    dst = via.zeros((3, 4), "float32", device="cuda:0")
    via.copyto(dst, via.full(4, 2, "float32"), stream=stream)
    via.copyto(dst[0], 5, stream=stream)
    stream.synchronize()
    assert dst.copy("cpu").tolist() == [[5] * 4, [2] * 4, [2] * 4]
