#include "cuda/stream/stream_handles.hpp"

#include <new>

#include "core/async/reaper.hpp"

namespace via::cuda {
namespace {

struct LateEnd {
    DeferredCallback deferred;
    NativeHandle native;
};

void end_now(const NativeHandle &native) {
    if (state_of(native.key) != ContextState::Alive) {
        return;
    }
    if (native.stream != nullptr) {
        (void)driver().cuStreamDestroy(native.stream);
    }
    if (native.event != nullptr) {
        (void)driver().cuEventDestroy(native.event);
    }
}

void end_late(DeferredCallback *deferred) {
    auto *late = reinterpret_cast<LateEnd *>(deferred);
    if (driver_is_usable(false)) {
        end_now(late->native);
    }
    delete late;
}

}  // namespace

void destroy_native_later(const NativeHandle &native) {
    if (!driver_is_usable(false)) {
        return;
    }
    // Without memory the handle stays until its context ends.
    auto *late = new (std::nothrow) LateEnd{{nullptr, 0, end_late, nullptr}, native};
    if (late != nullptr) {
        defer(&late->deferred);
    }
}

void destroy_native(const NativeHandle &native) {
    if (!driver_is_usable(false)) {
        return;
    }
    if (inside_driver_callback()) {
        return destroy_native_later(native);
    }
    end_now(native);
}

}  // namespace via::cuda
