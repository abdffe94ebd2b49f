#include "core/base/reference_count.hpp"

#include <dlfcn.h>

namespace via {
namespace {

constexpr char kNever = 0;

__attribute__((constructor)) void find_flag() {
    if (const void *found = dlsym(RTLD_DEFAULT, "__libc_single_threaded"); found != nullptr) {
        single_threaded_flag = static_cast<const char *>(found);
    }
}

}  // namespace

constinit const char *single_threaded_flag = &kNever;

}  // namespace via
