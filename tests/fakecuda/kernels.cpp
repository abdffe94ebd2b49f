// The library's own kernels, compiled for the host: every module has them. A launch runs block after block, and between
// two barriers thread after thread, so their index arithmetic is the real one. Every access is checked on its own.
#include "cuda/kernels/kernels.hpp"

#include <cstring>
#include <vector>

#include "memory.hpp"

namespace fake {
namespace {

// What the launch under way has been let touch, so that not every access asks the driver.
class Reached {
public:
    char *find(CUdeviceptr address, size_t bytes) {
        if (address % bytes != 0) {
            return faulted_ ? nullptr : ask(0, bytes);
        }
        for (const View &view : views_) {
            const Block &block = *view.keep.front();
            if (address >= block.base && address + bytes <= block.end()) {
                return view.data + (address - block.base);
            }
        }
        return faulted_ ? nullptr : ask(address, bytes);
    }

private:
    // Whether a kernel reaches what another context of its device has allocated was not recorded, and the library does
    // not try.
    static bool is_of_other_context(const Block &block, const Context &running) {
        return block.kind == Block::Kind::device && block.device == running.device && block.context != nullptr &&
               block.context.get() != &running;
    }

    char *ask(CUdeviceptr address, size_t bytes) {
        Driver &state = driver();
        const std::lock_guard<std::mutex> lock(state.mutex);
        Context &running = *this_thread().running;
        View view = touch(state, running, address, bytes, By::kernel);
        if (!view.keep.empty() && is_of_other_context(*view.keep.front(), running)) {
            view = touch(state, running, 0, bytes, By::kernel);
        }
        faulted_ = view.data == nullptr;
        char *const found = view.data;
        if (!faulted_ && view.keep.size() == 1) {
            view.data -= address - view.keep.front()->base;
            views_.push_back(std::move(view));
        }
        return found;
    }

    std::vector<View> views_;
    bool faulted_ = false;
};

thread_local Reached *reached = nullptr;

template <class Kernel>
void run_kernel(void **args, const fake_launch *launch, void *) {
    typename Kernel::Params params;
    std::memcpy(&params, args[0], sizeof params);
    Reached mine;
    reached = &mine;
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (uint32_t block = 0; block < launch->grid[0]; ++block) {
        Kernel::run(params, *shared, block, via::kernels::Threads{Kernel::kThreads});
    }
    reached = nullptr;
}

template <class Kernel>
KernelEntry entry_of() {
    KernelEntry entry;
    entry.run = run_kernel<Kernel>;
    entry.param_sizes = {sizeof(typename Kernel::Params)};
    entry.attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = static_cast<int>(Kernel::kThreads);
    return entry;
}

}  // namespace

void add_library_kernels(Driver &state) {
    using namespace via::kernels;
#define VIA_ADD(name, ...) state.kernels[#name] = entry_of<__VA_ARGS__>();
    VIA_ALL_KERNELS(VIA_ADD)
#undef VIA_ADD
}

}  // namespace fake

void *via::kernels::host_view(uint64_t address, uint64_t nbytes) { return fake::reached->find(address, nbytes); }
