#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "compare.hpp"
#include "facts.hpp"

namespace facts {

static void *library() {
    static void *const handle = [] {
        const char *path = std::getenv("VIADUCT_LIBCUDA");
        void *opened = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (opened == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(2);
        }
        return opened;
    }();
    return handle;
}

void *symbol_or_null(const char *name) { return dlsym(library(), name); }

void *symbol(const char *name) {
    void *found = symbol_or_null(name);
    if (found == nullptr) {
        std::fprintf(stderr, "the driver has no %s\n", name);
        std::exit(2);
    }
    return found;
}

static const char *current_group = "";

void say(const std::string &what, const std::string &value) {
    std::printf("%s: %s = %s\n", current_group, what.c_str(), value.c_str());
    std::fflush(stdout);
}

void say(const std::string &what, long long value) { say(what, std::to_string(value)); }

void must(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS) {
        say(std::string("STOPPED at ") + what, result);
        std::_Exit(1);
    }
}

CUcontext start() {
    CUcontext context = nullptr;
    MUST(cu(cuInit)(0));
    MUST(cu(cuDevicePrimaryCtxRetain)(&context, 0));
    MUST(cu(cuCtxSetCurrent)(context));
    return context;
}

CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    MUST(cu(cuMemAlloc)(&memory, bytes));
    return memory;
}

char *pinned_memory(size_t bytes) {
    void *memory = nullptr;
    MUST(cu(cuMemHostAlloc)(&memory, bytes, 0));
    std::memset(memory, 0, bytes);
    return static_cast<char *>(memory);
}

CUstream stream(unsigned int flags) {
    CUstream made = nullptr;
    MUST(cu(cuStreamCreate)(&made, flags));
    return made;
}

CUevent event(unsigned int flags) {
    CUevent made = nullptr;
    MUST(cu(cuEventCreate)(&made, flags));
    return made;
}

// `spare` does nothing; `fault` writes where nothing is; `store` writes a word at the given address.
const char test_image[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry spare(.param .u64 p)\n{\nret;\n}\n"
    ".visible .entry fault(.param .u64 p)\n{\n.reg .b64 %a;\n.reg .b32 %v;\n"
    "mov.u64 %a, 64;\nmov.u32 %v, 1;\nst.global.u32 [%a], %v;\nret;\n}\n"
    ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %a;\n.reg .b32 %v;\n"
    "ld.param.u64 %a, [p];\nmov.u32 %v, 1;\nst.global.u32 [%a], %v;\nret;\n}\n";

// The fake driver takes no code from images: it is given what the kernels do.
static void register_kernels() {
    using Register = void(const char *, void (*)(void **, const void *, void *), void *, int32_t, const size_t *);
    using Address = void *(uint64_t, size_t);
    auto *report = reinterpret_cast<Register *>(symbol_or_null("fake_register_kernel"));
    static auto *const address = reinterpret_cast<Address *>(symbol_or_null("fake_device_address"));
    if (report != nullptr) {
        const size_t size = sizeof(CUdeviceptr);
        report("spare", [](void **, const void *, void *) {}, nullptr, 1, &size);
        report(
            "store", [](void **args, const void *, void *) { address(*static_cast<CUdeviceptr *>(args[0]), 4); },
            nullptr, 1, &size);
        report("fault", [](void **, const void *, void *) { address(64, 4); }, nullptr, 1, &size);
    }
}

CUmodule test_module() {
    static CUmodule module = nullptr;
    if (module == nullptr) {
        register_kernels();
        MUST(cu(cuModuleLoadData)(&module, test_image));
    }
    return module;
}

CUfunction kernel(const char *name) {
    CUfunction function = nullptr;
    MUST(cu(cuModuleGetFunction)(&function, test_module(), name));
    return function;
}

Stall::Stall(CUstream on, int patience_ms) : patience_ms_(patience_ms) { MUST(cu(cuLaunchHostFunc)(on, wait, this)); }

Stall::~Stall() {
    open_ = true;
    while (!over_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void CUDA_CB Stall::wait(void *self) {
    Stall &stall = *static_cast<Stall *>(self);
    for (int waited = 0; waited < stall.patience_ms_ && !stall.open_; ++waited) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stall.over_ = true;
}

// How long a stall lasts at most: longer than a call takes that does not wait, on a machine with more to do than this.
static int patience_ms() {
    const char *text = std::getenv("FACTS_PATIENCE_MS");
    return text != nullptr ? std::atoi(text) : 300;
}

std::string returns_while_stalled(CUstream on, const std::function<void()> &call) {
    MUST(cu(cuCtxSynchronize)());
    std::string answer;
    {
        Stall stall(on, patience_ms());
        call();
        answer = stall.is_over() ? "waits" : "returns";
    }
    MUST(cu(cuCtxSynchronize)());
    return answer;
}

}  // namespace facts

static void run_apart(const facts::Group &group) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        facts::current_group = group.name;
        group.run();
        std::fflush(stdout);
        std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        std::printf("%s: ended by signal %d\n", group.name, WTERMSIG(status));
    }
}

static bool wanted(const facts::Group &group, const std::vector<std::string> &names) {
    return std::find(names.begin(), names.end(), group.name) != names.end();
}

// Runs the groups named, or all that one device is enough for.
static void run_groups(const std::vector<std::string> &names) {
    for (const auto *groups : {&facts::context_groups, &facts::memory_groups, &facts::stream_groups,
                               &facts::capture_groups, &facts::graph_groups}) {
        for (const facts::Group &group : *groups) {
            if (names.empty() || wanted(group, names)) {
                run_apart(group);
            }
        }
    }
    for (const facts::Group &group : facts::peer_groups) {
        if (wanted(group, names)) {
            run_apart(group);
        }
    }
}

// facts [GROUP...] prints; facts --compare RECORDED DIFFERENCES FOUND [GROUP...] writes to FOUND and compares.
int main(int argc, char **argv) {
    const bool comparing = argc >= 5 && std::strcmp(argv[1], "--compare") == 0;
    const std::vector<std::string> names(argv + (comparing ? 5 : 1), argv + argc);
    if (comparing && std::freopen(argv[4], "w", stdout) == nullptr) {
        std::perror(argv[4]);
        return 2;
    }
    run_groups(names);
    std::fflush(stdout);
    return comparing ? facts::compare(argv[2], argv[4], argv[3]) : 0;
}
