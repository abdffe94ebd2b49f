// Stream-ordered allocation: memory that comes to be, and goes, when its stream gets there.
#include "capture.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {
namespace {

std::shared_ptr<Pool> make_pool(int device) {
    auto made = std::make_shared<Pool>();
    made->device = device;
    made->switches = {{CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1},
                      {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1},
                      {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1}};
    return made;
}

std::shared_ptr<Pool> default_pool(Call &call, Device &device) {
    if (device.default_pool == nullptr) {
        device.default_pool = make_pool(device.ordinal);
        device.default_pool->is_default = true;
        device.default_pool->handle = call.state().pools.add(device.default_pool);
    }
    return device.default_pool;
}

std::shared_ptr<Pool> current_pool(Call &call, Device &device) {
    return device.pool != nullptr ? device.pool : default_pool(call, device);
}

std::shared_ptr<Pool> pool_of(Call &call, CUmemoryPool handle) {
    return look_up(call, call.state().pools, handle, CUDA_ERROR_INVALID_VALUE);
}

// Work that brings a block to life.
Work birth(const BlockPtr &block) {
    return [block](Context &) {
        const std::lock_guard lock(driver().mutex);
        if (block->state == Block::State::pending) {
            fill_new(driver(), *block);
            block->state = Block::State::live;
        }
    };
}

// Work that ends one; a graph's own memory can come to life again.
Work death(const BlockPtr &block) {
    return [block](Context &) {
        const std::lock_guard lock(driver().mutex);
        if (block->in_graph) {
            block->state = Block::State::pending;
        } else if (block->state != Block::State::gone) {
            block->pool->used -= block->size;
            end_block(driver(), block);
        }
    };
}

void allocate_in_order(Call &call, const std::shared_ptr<Stream> &stream, const std::shared_ptr<Pool> &pool,
                       size_t bytes, CUdeviceptr *out) {
    Driver &state = call.state();
    check_capture(*stream);
    if (stream->capture == nullptr) {
        call.unsafe();
    }
    if (bytes == 0) {
        *out = 0;
        return;
    }
    const BlockPtr block = make_device_block(state, call.device(pool->device), Block::Kind::pool, bytes);
    block->pool = pool;
    block->state = Block::State::pending;
    block->in_graph = stream->capture != nullptr;
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    *out = block->base;
    submit(call, stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, birth(block));
    if (block->in_graph) {
        own_in_graph(*stream, block);
    }
}

void require_no_error(const Block &block) {
    require(block.context == nullptr || block.context->error == CUDA_SUCCESS,
            block.context == nullptr ? CUDA_SUCCESS : block.context->error);
}

void free_plain_in_order(Call &call, const std::shared_ptr<Stream> &stream, const BlockPtr &block) {
    require(stream->capture == nullptr);
    require_no_error(*block);
    call.unsafe();
    block->freeing = true;
    auto op = std::make_shared<Op>();
    op->always = true;
    op->work = [block](Context &) {
        const std::lock_guard lock(driver().mutex);
        if (block->state != Block::State::gone) {
            end_block(driver(), block);
        }
    };
    enqueue(call.state(), stream, op);
}

void free_pool_in_order(Call &call, const std::shared_ptr<Stream> &stream, const BlockPtr &block) {
    require(block->in_graph == (stream->capture != nullptr));
    if (stream->capture != nullptr) {
        submit(call, stream, CU_GRAPH_NODE_TYPE_MEM_FREE, death(block));
        return;
    }
    call.unsafe();
    block->freeing = true;
    auto op = std::make_shared<Op>();
    op->always = true;
    op->work = death(block);
    enqueue(call.state(), stream, op);
}

void free_in_order(Call &call, CUdeviceptr address, CUstream handle) {
    const auto stream = call.stream(handle);
    check_capture(*stream);
    if (stream->capture == nullptr) {
        call.unsafe();
    }
    if (address == 0) {
        return;
    }
    const BlockPtr block = find_base(call.state(), address);
    if ((block != nullptr && block->freeing) || (block == nullptr && was_freed(call.state(), address))) {
        call.state().count(FAKE_DOUBLE_FREE);
    }
    require(block != nullptr && !block->freeing);
    if (block->kind == Block::Kind::pool) {
        free_pool_in_order(call, stream, block);
    } else {
        require(block->kind == Block::Kind::device);
        free_plain_in_order(call, stream, block);
    }
}

cuuint64_t pool_number(const Pool &pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            return pool.release_threshold;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return pool.used_high;
        default:
            return pool.used;
    }
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev) {
    return enter(Fn::cuDeviceGetDefaultMemPool, [&](Call &call) {
        require(pool_out != nullptr);
        *pool_out = default_pool(call, call.device(dev))->handle;
    });
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
    return enter(Fn::cuDeviceGetMemPool, [&](Call &call) {
        require(pool != nullptr);
        *pool = current_pool(call, call.device(dev))->handle;
    });
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    return enter(Fn::cuDeviceSetMemPool, [&](Call &call) {
        const auto found = pool_of(call, pool);
        require(found->device == call.device(dev).ordinal);
        call.device(dev).pool = found;
    });
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps) {
    return enter(Fn::cuMemPoolCreate, [&](Call &call) {
        require(pool != nullptr && poolProps != nullptr);
        require(poolProps->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
        require(poolProps->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
        const auto made = make_pool(call.device(poolProps->location.id).ordinal);
        *pool = made->handle = call.state().pools.add(made);
    });
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
    return enter(Fn::cuMemPoolDestroy, [&](Call &call) {
        const auto found = pool_of(call, pool);
        require(!found->is_default);
        call.state().pools.remove(pool);
        Device &device = call.device(found->device);
        if (device.pool == found) {
            device.pool = nullptr;
        }
    });
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
    return enter(Fn::cuMemPoolTrimTo, [&](Call &call) {
        call.unsafe();
        pool_of(call, pool);
    });
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    return enter(Fn::cuMemPoolGetAttribute, [&](Call &call) {
        const auto found = pool_of(call, pool);
        require(value != nullptr);
        const auto at = found->switches.find(attr);
        if (at != found->switches.end()) {
            *static_cast<int *>(value) = at->second;
        } else {
            *static_cast<cuuint64_t *>(value) = pool_number(*found, attr);
        }
    });
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    return enter(Fn::cuMemPoolSetAttribute, [&](Call &call) {
        const auto found = pool_of(call, pool);
        require(value != nullptr);
        if (found->switches.contains(attr)) {
            found->switches[attr] = *static_cast<int *>(value);
        } else if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
            found->release_threshold = *static_cast<cuuint64_t *>(value);
        } else {
            require(attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
            found->used_high = found->used;
        }
    });
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    return enter(Fn::cuMemPoolSetAccess, [&](Call &call) {
        const auto found = pool_of(call, pool);
        for (size_t i = 0; i < count; ++i) {
            const int peer = call.device(map[i].location.id).ordinal;
            require(peer == found->device || call.device(peer).peers[found->device], CUDA_ERROR_INVALID_DEVICE);
            if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
                require(peer != found->device);
                found->access.erase(peer);
            } else {
                found->access[peer] = map[i].flags;
            }
        }
    });
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location) {
    return enter(Fn::cuMemPoolGetAccess, [&](Call &call) {
        const auto found = pool_of(call, memPool);
        require(flags != nullptr && location != nullptr);
        const bool open = location->id == found->device || found->access.contains(location->id);
        *flags = open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    });
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
    return enter(Fn::cuMemAllocAsync, [&](Call &call) {
        const auto stream = call.stream(hStream);
        require(dptr != nullptr);
        const auto pool = current_pool(call, call.device(stream->context->device));
        allocate_in_order(call, stream, pool, bytesize, dptr);
    });
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
    return enter(Fn::cuMemAllocFromPoolAsync, [&](Call &call) {
        const auto stream = call.stream(hStream);
        require(dptr != nullptr);
        allocate_in_order(call, stream, pool_of(call, pool), bytesize, dptr);
    });
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    return enter(Fn::cuMemFreeAsync, [&](Call &call) { free_in_order(call, dptr, hStream); });
}
}
