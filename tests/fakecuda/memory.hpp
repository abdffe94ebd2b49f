// What is where: device memory that only the driver can touch, pinned and managed memory that everyone can.
#ifndef FAKECUDA_MEMORY_HPP
#define FAKECUDA_MEMORY_HPP

#include "call.hpp"

namespace fake {

constexpr size_t device_granularity = size_t{2} << 20;

// Memory behind VMM mappings: a file, so that it can be seen at several places.
struct Physical {
    Physical(size_t bytes, int ordinal);
    ~Physical();
    Physical(const Physical &) = delete;
    Physical &operator=(const Physical &) = delete;

    int file = -1;
    size_t size = 0;
    int device = 0;
};

// A reserved range of addresses, and where the driver sees what is mapped there.
struct Reservation {
    ~Reservation();
    CUdeviceptr base = 0;
    size_t size = 0;
    char *view = nullptr;
};

struct Block {
    enum class Kind { device, pool, managed, pinned, registered, mapping };
    enum class State { pending, live, gone };

    ~Block();

    Kind kind = Kind::device;
    State state = State::live;
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned long long id = 0;
    int device = 0;
    unsigned int flags = 0;
    bool freeing = false;  // a stream-ordered free is under way
    bool sync_memops = false;
    char *view = nullptr;
    std::shared_ptr<Context> context;  // none for pool memory and mappings
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Reservation> reservation;
    std::shared_ptr<Physical> physical;
    std::map<int, CUmemAccess_flags> access;  // of mappings, by device
    bool owns_view = false;
    bool in_graph = false;                     // made by a graph's own allocation
    int graphs = 0;                            // that can bring it to life
    int opened = 0;                            // how often, where it is memory of another process
    std::pair<int, unsigned long long> owner;  // that process, and the block there

    CUdeviceptr end() const { return base + size; }
    bool host() const { return kind == Kind::pinned || kind == Kind::registered; }
    bool host_touchable() const { return host() || kind == Kind::managed; }
};
using BlockPtr = std::shared_ptr<Block>;

struct Pool {
    CUmemoryPool handle = nullptr;
    int device = 0;
    bool is_default = false;
    cuuint64_t release_threshold = 0;
    size_t used = 0;
    size_t used_high = 0;
    std::map<int, int> switches;  // reuse attributes
    std::map<int, CUmemAccess_flags> access;
};

inline size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }
size_t page_size();

// Addresses nothing is mapped at, page-aligned, with a page of nothing on either side; given back at the reset.
char *reserve_addresses(Driver &state, size_t bytes, size_t alignment);

// Memory of a device in the eyes of the driver only.
BlockPtr make_device_block(Driver &state, Device &device, Block::Kind kind, size_t bytes);
// Memory that the host can touch as well.
BlockPtr make_host_block(Driver &state, Block::Kind kind, size_t bytes);
bool any_block_in(const Driver &state, CUdeviceptr base, size_t bytes);
void add_block(Driver &state, const BlockPtr &block);
void fill_new(Driver &state, Block &block);

// Ends a block: its addresses are known to have been freed.
void end_block(Driver &state, const BlockPtr &block);

// The memory that holds this address, nullptr for none; pending memory counts.
BlockPtr find_block(const Driver &state, CUdeviceptr address);
BlockPtr find_base(Driver &state, CUdeviceptr address);
bool was_freed(const Driver &state, CUdeviceptr address);

// Refuses a range that is not all memory; notes stale addresses. Returns the block where it begins.
BlockPtr check_range(Driver &state, CUdeviceptr address, size_t bytes);

// Bytes as the driver sees them, kept alive while used.
struct View {
    char *data = nullptr;
    std::vector<BlockPtr> keep;
};
// Copies reach every device; kernels and fills only those that access was given to.
enum class By { copy_engine, kernel };

// Whether a device reaches host memory that the driver knows nothing of.
bool walks_page_tables(const Driver &state, int device);

bool may_touch(const Context &context, const Block &block, By by);

// The view of a range when work on it runs; data is nullptr, and the context poisoned, where it cannot be touched.
View touch(Driver &state, Context &context, CUdeviceptr address, size_t bytes, By by);

// The same for the control interface: no context, no consequences.
View peek(const Driver &state, CUdeviceptr address, size_t bytes);

}  // namespace fake

#endif
