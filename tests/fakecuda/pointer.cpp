// What the driver says of an address.
#include <cstring>

#include "memory.hpp"

namespace fake {
namespace {

constexpr int unknown_ordinal = -2;

template <class Value>
CUresult answer(void *data, Value value) {
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
}

std::shared_ptr<Context> context_of_question(Call &call) {
    try {
        return call.context_to_ask(nullptr);
    } catch (const Refusal &) {
        return nullptr;
    }
}

// Where an address lies: in memory, in a reservation, or nowhere.
struct PointerAttributes {
    CUdeviceptr address = 0;
    BlockPtr block;
    std::shared_ptr<Reservation> reservation;
    std::shared_ptr<Context> context;  // that the question is asked in
};

PointerAttributes find_pointer(Call &call, CUdeviceptr address) {
    const Driver &state = call.state();
    PointerAttributes place{address, find_block(state, address), nullptr, context_of_question(call)};
    if (place.block != nullptr && (place.block->freeing || place.block->in_graph)) {
        place.block = nullptr;
    }
    const auto after = state.reservations.upper_bound(address);
    if (after != state.reservations.begin()) {
        const auto &reservation = std::prev(after)->second;
        if (address < reservation->base + reservation->size) {
            place.reservation = reservation;
        }
    }
    return place;
}

bool reachable(const PointerAttributes &place) {
    return place.block != nullptr && (place.block->kind != Block::Kind::mapping || !place.block->access.empty());
}

// By kernels of the context that asks.
bool reached(const PointerAttributes &place) {
    return reachable(place) && may_touch(*place.context, *place.block, By::kernel);
}

CUresult report_device_pointer(const PointerAttributes &place, void *data) {
    if (place.context == nullptr) {
        answer(data, CUdeviceptr{0});
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    answer(data, reached(place) ? place.address : CUdeviceptr{0});
    return reached(place) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// An unknown address is taken for the host's own by cuPointerGetAttributes.
CUresult report_host_pointer(const PointerAttributes &place, void *data) {
    const bool host = place.block == nullptr || place.block->host_touchable();
    answer(data, host ? place.address : CUdeviceptr{0});
    return place.block != nullptr && host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult report_range(const PointerAttributes &place, CUpointer_attribute attribute, void *data) {
    CUdeviceptr start = 0;
    size_t size = 0;
    if (place.reservation != nullptr) {
        start = place.reservation->base;
        size = place.reservation->size;
    } else if (place.block != nullptr) {
        start = place.block->base;
        size = place.block->size;
    }
    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
        answer(data, start);
    } else {
        answer(data, size);
    }
    return place.block != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult report_of_nothing(CUpointer_attribute attribute, void *data) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            answer(data, uint64_t{0});
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            answer(data, unknown_ordinal);
            break;
        default:
            answer(data, 0);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUmemorytype type_of(const Block &block) { return block.host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; }

CUresult report_of_block(const Block &block, CUpointer_attribute attribute, void *data) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return answer(data, block.context != nullptr ? block.context->handle : nullptr);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return answer(data, type_of(block));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return answer(data, static_cast<unsigned int>(block.sync_memops));
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return answer(data, block.id);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return answer(data, static_cast<unsigned int>(block.kind == Block::Kind::managed));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return answer(data, block.device);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return answer(data, 1);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return answer(data, block.pool != nullptr ? block.pool->handle : nullptr);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:  // whatever the device that asks may do
            return answer(data, static_cast<unsigned int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return answer(data, static_cast<unsigned int>(block.kind == Block::Kind::device));
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult report(const PointerAttributes &place, CUpointer_attribute attribute, void *data) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return report_device_pointer(place, data);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return report_host_pointer(place, data);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return report_range(place, attribute, data);
        default:
            return place.block != nullptr ? report_of_block(*place.block, attribute, data)
                                          : report_of_nothing(attribute, data);
    }
}

// One by one, an answer that is none leaves the caller's variable alone.
CUresult report_one(const PointerAttributes &place, CUpointer_attribute attribute, void *data) {
    uint64_t scratch = 0;
    const CUresult result = report(place, attribute, &scratch);
    return result == CUDA_SUCCESS ? report(place, attribute, data) : result;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    return enter(Fn::cuPointerGetAttribute, [&](Call &call) {
        require(data != nullptr);
        const CUresult result = report_one(find_pointer(call, ptr), attribute, data);
        require(result == CUDA_SUCCESS, result);
    });
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                        CUdeviceptr ptr) {
    return enter(Fn::cuPointerGetAttributes, [&](Call &call) {
        require(attributes != nullptr && data != nullptr);
        const PointerAttributes place = find_pointer(call, ptr);
        for (unsigned int i = 0; i < numAttributes; ++i) {
            const CUresult result = report(place, attributes[i], data[i]);
            require(result != CUDA_ERROR_NOT_SUPPORTED, result);
        }
    });
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr) {
    return enter(Fn::cuPointerSetAttribute, [&](Call &call) {
        const BlockPtr block = find_block(call.state(), ptr);
        require(value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && block != nullptr);
        block->sync_memops = *static_cast<const unsigned int *>(value) != 0;
    });
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
    return enter(Fn::cuMemGetAddressRange_v2, [&](Call &call) {
        call.context();
        const PointerAttributes place = find_pointer(call, dptr);
        require(reachable(place), CUDA_ERROR_NOT_FOUND);
        if (pbase != nullptr) {
            *pbase = place.block->base;
        }
        if (psize != nullptr) {
            *psize = place.block->size;
        }
    });
}
}
