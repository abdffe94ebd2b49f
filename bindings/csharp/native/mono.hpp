#pragma once

#include <dlfcn.h>

// What only Mono needs of the native layer; bindings/csharp/src/MonoRuntime.cs has the rest. .NET has none of these
// functions, and the answers are then those for .NET.
namespace viacs::mono {

// A function that Mono has and .NET has not.
template <class Function>
Function *find(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

// Mono ends the process whose native code calls a managed function once its handlers of the end have run.
inline bool is_over() {
    static auto *const ask = find<int()>("mono_runtime_is_shutting_down");
    return ask != nullptr && ask() != 0;
}

// Whether a managed function is under way on the thread; .NET, which is not asked, may say so of all.
inline bool is_managed() {
    static auto *const domain = find<void *()>("mono_domain_get");
    return domain == nullptr || domain() != nullptr;
}

// Mono counts a thread that has called a managed function among its own, and waits for all of those as it ends: for
// ever, if the thread is one of C's that idles. So one that came from elsewhere goes back there, as it does where it
// ends.
inline void release_thread() {
    static auto *const detach = find<void()>("mono_thread_info_detach");
    if (detach != nullptr) {
        detach();
    }
}

}  // namespace viacs::mono
