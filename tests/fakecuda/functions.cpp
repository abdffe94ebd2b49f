#include <algorithm>
#include <cstring>

#include "call.hpp"

namespace fake {
namespace {

enum class When { ONCE_READY, ANYTIME, STARTS };

struct Entry {
    const char *name;
    const char *symbol;
    int version;
    When when;
    void *address;
};

const Entry entries[] = {
#define FAKECUDA_FUNCTION(name, symbol, version, when) \
    {#name, #symbol, version, When::when, reinterpret_cast<void *>(&::symbol)},
#include "functions.def"
#undef FAKECUDA_FUNCTION
};

const Entry &entry_of(Fn function) { return entries[static_cast<size_t>(function)]; }

}  // namespace

const char *function_symbol(Fn function) { return entry_of(function).symbol; }

bool function_is(Fn function, const std::string &name) {
    return name == entry_of(function).name || name == entry_of(function).symbol;
}

bool allowed_anytime(Fn function) { return entry_of(function).when == When::ANYTIME; }

// The newest form of a function that the version asked for knows.
void *find_function(const char *name, int version, CUdriverProcAddressQueryResult *why) {
    void *found = nullptr;
    *why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (const Entry &entry : entries) {
        if (std::strcmp(entry.name, name) != 0) {
            continue;
        }
        if (entry.version <= version) {
            found = entry.address;
            *why = CU_GET_PROC_ADDRESS_SUCCESS;
        } else if (found == nullptr) {
            *why = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        }
    }
    return found;
}

namespace {

void answer_address(Call &call, const char *symbol, void **pfn, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status) {
    require(symbol != nullptr && pfn != nullptr && version <= call.state().setting(FAKE_DRIVER_VERSION));
    // Code built for per-thread default streams asks for other functions, which are not here.
    require((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) == 0, CUDA_ERROR_NOT_SUPPORTED);
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SUCCESS;
    *pfn = find_function(symbol, version, &why);
    if (status != nullptr) {
        *status = why;
    }
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags) {
    return enter(Fn::cuGetProcAddress,
                 [&](Call &call) { answer_address(call, symbol, pfn, cudaVersion, flags, nullptr); });
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus) {
    return enter(Fn::cuGetProcAddress_v2,
                 [&](Call &call) { answer_address(call, symbol, pfn, cudaVersion, flags, symbolStatus); });
}
}
