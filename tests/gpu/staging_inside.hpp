// What tests share that are made of the library's objects and call the driver, or the fake driver, themselves.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // the library has a function of that name

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>

#include "cuda/driver/context.hpp"
#include "fakecuda.h"

#define VIA_TEXT_OF(name) #name
#define VIA_TEXT(name) VIA_TEXT_OF(name)
#define cu(function) (reinterpret_cast<decltype(&function)>(driver_symbol(VIA_TEXT(function))))
#define fake(function) (reinterpret_cast<decltype(&function)>(driver_symbol(VIA_TEXT(function))))

inline void *driver_symbol(const char *name) {
    const char *given = std::getenv("VIADUCT_LIBCUDA");
    void *library = dlopen(given != nullptr && *given != '\0' ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? dlsym(library, name) : nullptr;
}

// The driver's functions as the library calls them, for tests to stand in for.
inline via::cuda::Driver &driver_table() { return const_cast<via::cuda::Driver &>(via::cuda::driver()); }

#define need_fake_driver()                            \
    do {                                              \
        if (driver_symbol("fake_reset") == nullptr) { \
            skip();                                   \
        }                                             \
    } while (0)

// The primary context of device 0, current on this thread until it is left.
inline via::cuda::ContextScope &primary_scope() {
    static thread_local via::cuda::ContextScope scope;
    return scope;
}

inline void enter_primary() {
    CUcontext context = nullptr;
    assert_int_equal(via::cuda::primary_context(0, &context), VIA_OK);
    assert_int_equal(primary_scope().enter(context), VIA_OK);
}

inline void leave_primary() { primary_scope().leave(); }

// 77, which ctest takes as skipped, where no driver with a device can be had.
template <size_t kCount>
int run_inside(const CMUnitTest (&tests)[kCount]) {
    if (via::cuda::need_driver("this test") != VIA_OK) {
        print_message("skipped: %s\n", via::last_error_text());
        return 77;
    }
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
