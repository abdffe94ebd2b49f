"""PyTorch: a raw pointer of either side in the hands of the other, without a copy."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import viaduct as via
from cuda_driver import Block
from gpu_peers import TORCH_FLOAT8, USUAL, counted, ends, gpu_peer, on_host

torch = gpu_peer("torch", lambda module: bool(module.cuda.is_available()))


def by_interface(a: via.Array) -> Any:
    return torch.as_tensor(a, device="cuda:0")


def by_table(a: via.Array) -> Any:
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no table of C functions")
    return a.to(torch.Tensor)


@pytest.mark.parametrize("take", [torch.from_dlpack, by_interface, by_table])
def test_a_raw_pointer_becomes_a_tensor(take: Any) -> None:
    a = counted(12, shape=(3, 4))
    t = take(a)
    assert t.data_ptr() == a.ptr and tuple(t.shape) == (3, 4) and t.device == torch.device("cuda:0")
    t += 1
    assert a.copy("cpu").tolist() == t.cpu().tolist()
    assert take(a.T).data_ptr() == a.ptr and take(a.T).stride() == (1, 4)
    assert take(a[::2, 1:]).data_ptr() == a[::2, 1:].ptr


def test_a_capsule_becomes_a_tensor() -> None:
    block = Block(48)
    gone: list[int] = []
    for version in ((1, 0), None):
        device = torch.device("cuda:0")
        a = via.wrap(block.ptr, (3, 4), torch.float32, device=device, release=lambda: gone.append(1))
        capsule = a.__dlpack__(max_version=version)
        del a
        t = torch.from_dlpack(capsule)
        assert t.data_ptr() == block.ptr and tuple(t.shape) == (3, 4)
        del capsule, t
        assert ends(gone)
        gone.clear()


def test_a_pointer_becomes_a_tensor_in_one_call() -> None:
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no table of C functions")
    block = Block(48)
    gone: list[int] = []
    t = via.wrap(block.ptr, (3, 4), "float32", device="cuda:0", release=lambda: gone.append(1), to=torch.Tensor)
    assert tuple(t.fill_(2).shape) == (3, 4) and t.sum().item() == 24
    found = t.data_ptr()
    assert found == block.ptr and not gone
    del t
    assert ends(gone)


def test_a_tensor_made_by_the_table_is_ready_on_the_current_stream() -> None:
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no table of C functions")
    writer, side = via.Stream(), torch.cuda.Stream()
    big = via.empty(256 << 20, "uint8", device="cuda:0")
    for value in range(1, 20):
        via.fill(big, value, stream=writer)
    big.set_ready(writer)
    with torch.cuda.stream(side):
        assert int(big.to(torch.Tensor)[-1]) == 19


@pytest.mark.parametrize("name", [*USUAL, "bfloat16", "complex32", *TORCH_FLOAT8])
def test_every_dtype_goes_both_ways(name: str) -> None:
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")
    source = counted(16, "uint8") if name not in USUAL else counted(8, name)
    a = source if name in USUAL else source.view(name)
    t = torch.from_dlpack(a)
    assert t.data_ptr() == a.ptr and t.dtype == getattr(torch, name)
    back = via.from_dlpack(t)
    assert back.ptr == a.ptr and back.dtype_name == name and back.device == "cuda:0"
    assert on_host(back) == on_host(a)


@pytest.mark.parametrize("take", [via.asarray, via.from_dlpack])
def test_a_tensor_is_taken_where_it_is(take: Any) -> None:
    t = torch.arange(24, dtype=torch.float32, device="cuda").reshape(2, 3, 4)
    a = take(t)
    assert a.ptr == t.data_ptr() and a.shape == (2, 3, 4) and a.device == "cuda:0" and not a.readonly
    assert a.copy("cpu").tolist() == t.cpu().tolist()
    view = t.permute(2, 0, 1)[1:, :, ::2]
    b = take(view)
    assert b.ptr == view.data_ptr() and b.element_strides == view.stride()
    assert torch.equal(torch.from_dlpack(b), view)
    expanded = t[:1].expand(5, 3, 4)
    assert take(expanded).element_strides == expanded.stride()


def test_the_raw_pointer_of_a_tensor_is_wrapped() -> None:
    t = torch.arange(12, dtype=torch.bfloat16, device="cuda")
    a = via.wrap(t.data_ptr(), (3, 4), torch.bfloat16, device=t.device, owner=t)
    assert a.device == "cuda:0" and a.dtype_name == "bfloat16"
    with pytest.raises(ValueError, match="within the allocation|mapped"):
        via.wrap(t.data_ptr(), (1 << 40,), "float32", device=t.device)


def test_the_streams_are_each_others() -> None:
    stream = torch.cuda.Stream()
    assert via.Stream.wrap(stream).handle == stream.cuda_stream
    assert via.Stream.wrap(torch.cuda.default_stream()) == via.Stream.legacy
    mine = via.Stream()
    with torch.cuda.stream(torch.cuda.ExternalStream(mine.handle)):
        t = torch.arange(1 << 20, dtype=torch.float32, device="cuda") * 2
    a = via.wrap(t.data_ptr(), (1 << 20,), "float32", device="cuda:0", owner=t)
    a.set_ready(mine)
    with torch.cuda.stream(stream):
        total = float(torch.from_dlpack(a)[:1000].sum())
    assert total == sum(2.0 * i for i in range(1000))
    event = torch.cuda.Event()
    event.record(stream)
    via.Event.wrap(event).synchronize()


def test_work_of_torchs_stream_is_waited_for() -> None:
    for take in (via.asarray, via.from_dlpack):
        with torch.cuda.stream(torch.cuda.Stream()):
            t = torch.zeros(1 << 24, dtype=torch.float32, device="cuda")
            for _ in range(20):
                t += 1
            a = take(t)
        assert a.copy("cpu")[-1].item() == 20


def test_our_stream_is_torchs_consumer_stream() -> None:
    mine = via.Stream()
    t = torch.ones(1 << 22, device="cuda")
    with mine:
        a = via.from_dlpack(t, copy=True)
    assert a.ptr != t.data_ptr() and a.copy("cpu")[0].item() == 1


def test_the_memory_is_not_released_before_torchs_work_has_run() -> None:
    block = Block(1 << 26)
    gone: list[int] = []
    a = via.wrap(block.ptr, (1 << 24,), "float32", device="cuda:0", owner=block, release=lambda: gone.append(1))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        t = torch.from_dlpack(a)
        for _ in range(50):
            t.fill_(1)
    a.record_stream(stream)
    del a, t
    assert ends(gone) and stream.query()


def test_pinned_tensors_and_pinned_arrays() -> None:
    t = torch.arange(12, dtype=torch.float32).pin_memory()
    assert via.pointer_info(t.data_ptr())["device"] == "pinned"
    a = via.asarray(t)
    assert a.ptr == t.data_ptr() and a.device in ("cpu", "pinned")
    pinned = via.empty(12, "float32", device="pinned")
    exported = torch.from_dlpack(pinned.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert exported.data_ptr() == pinned.ptr and exported.device.type == "cpu" and exported.is_pinned()


def test_copies_go_between_tensors() -> None:
    t = torch.randn(100, 200, device="cuda")
    out = torch.empty(100, 200)
    via.copy(out, t)
    assert torch.equal(out, t.cpu())
    back = torch.empty_like(t)
    via.copy(back, out, stream=torch.cuda.current_stream())
    torch.cuda.synchronize()
    assert torch.equal(back, t)
    task = via.copy_submit(back, torch.zeros(100, 200))
    task.wait()
    assert not back.any()


def test_read_only_and_empty_memory() -> None:
    a = counted(12).as_readonly()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.from_dlpack(a).data_ptr() == a.ptr
    assert tuple(torch.from_dlpack(via.empty((0, 3), "float32", device="cuda:0")).shape) == (0, 3)
    assert via.asarray(torch.empty((0, 3), device="cuda")).shape == (0, 3)


def test_the_owner_lives_as_long_as_torch_holds_the_memory() -> None:
    block = Block(48)
    gone: list[int] = []
    t = torch.from_dlpack(
        via.wrap(block.ptr, 12, "float32", device="cuda:0", owner=block, release=lambda: gone.append(1))
    )
    view = t[3:]
    del t
    assert not gone
    del view
    assert ends(gone)


def test_memory_of_torchs_allocator_serves_as_ours() -> None:
    given: list[int] = []

    def alloc(nbytes: int, alignment: int, stream: int) -> int:
        given.append(torch.cuda.caching_allocator_alloc(nbytes, 0, stream))
        return given[-1]

    def free(address: int, nbytes: int, stream: int) -> None:
        torch.cuda.caching_allocator_delete(address)
        given.remove(address)

    memory = via.memory(alloc=alloc, free=free, device="cuda:0")
    a = via.empty((3, 4), "float32", memory=memory)
    assert a.ptr in given
    via.fill(a, 1)
    assert float(torch.from_dlpack(a).sum()) == 12
    del a, memory
    via.stats()
    assert not given


def test_capture_into_a_torch_graph_is_not_broken_by_exchange() -> None:
    t = torch.zeros(1 << 16, device="cuda")
    a = via.asarray(t)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inside = torch.from_dlpack(a)
        inside += 1
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert float(t[0]) == 2
