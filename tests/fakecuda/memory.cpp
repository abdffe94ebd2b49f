#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace fake {
namespace {

char *map_pages(size_t bytes, int protection) {
    void *at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    return static_cast<char *>(at);
}

// The reach of accessible memory from an address on; adjacent mappings of one reservation count as one.
struct ByteRange {
    size_t bytes = 0;
    std::vector<BlockPtr> blocks;
};

ByteRange reach_from(const Driver &state, CUdeviceptr address, size_t wanted) {
    ByteRange reach;
    BlockPtr block = find_block(state, address);
    while (block != nullptr) {
        reach.blocks.push_back(block);
        reach.bytes = block->end() - address;
        const BlockPtr &first = reach.blocks.front();
        if (reach.bytes >= wanted || first->kind != Block::Kind::mapping) {
            break;
        }
        block = find_block(state, block->end());
        if (block != nullptr && block->reservation != first->reservation) {
            break;
        }
    }
    return reach;
}

void fault(Driver &state, Context &context, fake_misuse misuse) {
    state.count(misuse);
    poison(context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

char *view_at(const Block &block, CUdeviceptr address) { return block.view + (address - block.base); }

}  // namespace

bool may_touch(const Context &context, const Block &block, By by) {
    if (block.kind == Block::Kind::mapping) {
        return block.access.contains(context.device);
    }
    if (by == By::copy_engine || block.host_touchable() || block.device == context.device) {
        return true;
    }
    if (block.kind == Block::Kind::pool) {
        return block.pool->access.contains(context.device);
    }
    return block.context != nullptr && context.peers.contains(block.context->handle);
}

size_t page_size() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

Physical::Physical(size_t bytes, int ordinal)
    : file(memfd_create("fakecuda", MFD_CLOEXEC)), size(bytes), device(ordinal) {
    require(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, CUDA_ERROR_OUT_OF_MEMORY);
}

Physical::~Physical() {
    if (file >= 0) {
        close(file);
    }
}

Reservation::~Reservation() {
    if (view != nullptr) {
        munmap(view, size);
    }
}

Block::~Block() {
    if (owns_view) {
        munmap(view, round_up(size, page_size()));
    }
}

char *reserve_addresses(Driver &state, size_t bytes, size_t alignment) {
    const size_t guard = std::max(alignment, page_size());
    const size_t whole = round_up(bytes, page_size()) + 2 * guard;
    char *region = map_pages(whole, PROT_NONE);
    state.regions.emplace_back(region, whole);
    const auto first = reinterpret_cast<uintptr_t>(region) + page_size();
    return reinterpret_cast<char *>(round_up(first, guard));
}

bool any_block_in(const Driver &state, CUdeviceptr base, size_t bytes) {
    const auto after = state.blocks.lower_bound(base + bytes);
    return after != state.blocks.begin() && std::prev(after)->second->end() > base;
}

void add_block(Driver &state, const BlockPtr &block) {
    if (any_block_in(state, block->base, block->size)) {
        state.count(FAKE_UNMAPPED_WHILE_LOCKED);
    }
    block->id = ++state.ids;
    state.blocks[block->base] = block;
}

void fill_new(Driver &state, Block &block) {
    if (state.setting(FAKE_FILL) >= 0) {
        std::memset(block.view, static_cast<int>(state.setting(FAKE_FILL)), block.size);
    }
}

BlockPtr make_device_block(Driver &state, Device &device, Block::Kind kind, size_t bytes) {
    const auto capacity = static_cast<size_t>(state.setting(FAKE_DEVICE_MEMORY));
    require(device.used <= capacity && bytes <= capacity - device.used, CUDA_ERROR_OUT_OF_MEMORY);
    auto block = std::make_shared<Block>();
    block->kind = kind;
    block->device = device.ordinal;
    block->size = bytes;
    block->view = map_pages(round_up(bytes, page_size()), PROT_READ | PROT_WRITE);
    block->owns_view = true;
    block->base = reinterpret_cast<CUdeviceptr>(reserve_addresses(state, bytes, page_size()));
    fill_new(state, *block);
    device.used += bytes;
    add_block(state, block);
    return block;
}

BlockPtr make_host_block(Driver &state, Block::Kind kind, size_t bytes) {
    auto block = std::make_shared<Block>();
    block->kind = kind;
    block->size = bytes;
    block->view = reserve_addresses(state, bytes, page_size());
    block->base = reinterpret_cast<CUdeviceptr>(block->view);
    require(mprotect(block->view, round_up(bytes, page_size()), PROT_READ | PROT_WRITE) == 0, CUDA_ERROR_OUT_OF_MEMORY);
    fill_new(state, *block);
    add_block(state, block);
    return block;
}

void end_block(Driver &state, const BlockPtr &block) {
    block->state = Block::State::gone;
    state.blocks.erase(block->base);
    if (block->kind == Block::Kind::registered) {
        return;
    }
    if (block->kind != Block::Kind::mapping) {
        state.freed[block->base] = block->size;
    }
    if (block->kind == Block::Kind::device || block->kind == Block::Kind::pool) {
        state.devices[static_cast<size_t>(block->device)].used -= block->size;
    }
    if (block->kind == Block::Kind::pinned || block->kind == Block::Kind::managed) {
        // In its place: pages of nothing, so that the address is never another's.
        mmap(block->view, round_up(block->size, page_size()), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
}

BlockPtr find_block(const Driver &state, CUdeviceptr address) {
    auto after = state.blocks.upper_bound(address);
    if (after == state.blocks.begin()) {
        return nullptr;
    }
    const BlockPtr &block = std::prev(after)->second;
    return address < block->end() ? block : nullptr;
}

BlockPtr find_base(Driver &state, CUdeviceptr address) {
    const auto at = state.blocks.find(address);
    return at == state.blocks.end() ? nullptr : at->second;
}

bool was_freed(const Driver &state, CUdeviceptr address) {
    auto after = state.freed.upper_bound(address);
    if (after == state.freed.begin()) {
        return false;
    }
    const auto &[base, size] = *std::prev(after);
    return address < base + size;
}

BlockPtr check_range(Driver &state, CUdeviceptr address, size_t bytes) {
    const ByteRange reach = reach_from(state, address, bytes);
    if (reach.blocks.empty() && was_freed(state, address)) {
        state.count(FAKE_USE_AFTER_FREE);
    }
    require(!reach.blocks.empty() && reach.bytes >= bytes && !reach.blocks.front()->freeing);
    for (const BlockPtr &block : reach.blocks) {
        require(block->kind != Block::Kind::mapping || !block->access.empty());
    }
    return reach.blocks.front();
}

bool walks_page_tables(const Driver &state, int device) {
    const auto &attributes = state.devices[static_cast<size_t>(device)].attributes;
    const auto at = attributes.find(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
    return at != attributes.end() && at->second != 0;
}

View touch(Driver &state, Context &context, CUdeviceptr address, size_t bytes, By by) {
    ByteRange reach = reach_from(state, address, bytes);
    View view;
    if (address != 0 && reach.blocks.empty() && !was_freed(state, address) &&
        walks_page_tables(state, context.device)) {
        view.data = reinterpret_cast<char *>(address);
        return view;
    }
    if (reach.bytes < bytes || reach.blocks.empty()) {
        fault(state, context, was_freed(state, address) ? FAKE_USE_AFTER_FREE : FAKE_ILLEGAL_ADDRESS);
        return view;
    }
    for (const BlockPtr &block : reach.blocks) {
        if (block->state == Block::State::pending) {
            fault(state, context, FAKE_USE_BEFORE_ALLOC);
            return view;
        }
        if (!may_touch(context, *block, by)) {
            fault(state, context, FAKE_ILLEGAL_ADDRESS);
            return view;
        }
    }
    view.data = view_at(*reach.blocks.front(), address);
    view.keep = std::move(reach.blocks);
    return view;
}

View peek(const Driver &state, CUdeviceptr address, size_t bytes) {
    ByteRange reach = reach_from(state, address, bytes);
    View view;
    if (!reach.blocks.empty() && reach.bytes >= bytes) {
        view.data = view_at(*reach.blocks.front(), address);
        view.keep = std::move(reach.blocks);
    }
    return view;
}

}  // namespace fake
