#include "cuda/stream/destroy_handle.hpp"

#include <new>

#include "core/async/reaper.hpp"

namespace via::cuda {
namespace {

struct LateEnd {
    Watch watch;
    Native native;
};

void end_now(const Native &native) {
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

void end_late(Watch *watch) {
    auto *late = reinterpret_cast<LateEnd *>(watch);
    if (driver_is_usable(false)) {
        end_now(late->native);
    }
    delete late;
}

}  // namespace

void end_native_later(const Native &native) {
    if (!driver_is_usable(false)) {
        return;
    }
    // Without memory it stays until its context ends.
    auto *late = new (std::nothrow) LateEnd{{nullptr, 0, end_late, nullptr}, native};
    if (late != nullptr) {
        watch(&late->watch);
    }
}

void end_native(const Native &native) {
    if (!driver_is_usable(false)) {
        return;
    }
    if (inside_driver_callback()) {
        return end_native_later(native);
    }
    end_now(native);
}

}  // namespace via::cuda
