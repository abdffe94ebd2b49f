// Allocators of the library, and of the caller's own functions.
#ifndef VIADUCT_CPP_MEMORY_HPP
#define VIADUCT_CPP_MEMORY_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/handle.hpp"

namespace viaduct {

/** A kind of memory, a VIA_DEVICE_..., and a device id. */
struct Device {
    std::int32_t type = VIA_DEVICE_CPU;
    std::int32_t id = 0;
};

constexpr bool operator==(Device left, Device right) noexcept { return left.type == right.type && left.id == right.id; }
constexpr bool operator!=(Device left, Device right) noexcept { return !(left == right); }

/** Memory of a CUDA device. */
constexpr Device cuda(std::int32_t id = 0) noexcept { return {VIA_DEVICE_CUDA, id}; }

inline namespace VIADUCT_ERRORS_NAMESPACE {
namespace detail {

// Adapts a pair of functions to the callbacks of via_memory_create_custom. No exception may leave a callback: the
// functions must be noexcept, which is checked where they are passed.
template <class Allocate, class Free>
struct Allocator {
    Allocate allocate;
    Free free;

    static std::int32_t give(std::int64_t nbytes, std::int64_t alignment, void *stream, void *self, void **address) {
        *address = static_cast<Allocator *>(self)->allocate(nbytes, alignment, stream);
        return *address == nullptr;
    }

    static void take(void *address, std::int64_t nbytes, void *stream, void *self) {
        static_cast<Allocator *>(self)->free(address, nbytes, stream);
    }
};

// Deletes the context of a release callback.
template <class T>
void delete_context(void *context) {
    delete static_cast<T *>(context);
}

}  // namespace detail

/** Owns a via_memory. */
class Memory : public detail::Handle<Memory, via_memory, via_memory_retain, via_memory_release> {
public:
    using Handle::Handle;

    /** Makes an allocator of a kind, a VIA_MEMORY_... */
    [[nodiscard]] static Result<Memory> create(std::int32_t kind, std::int32_t device_id = 0) {
        return detail::make<Memory>(via_memory_create, kind, device_id);
    }

    /**
     * Makes an allocator of the caller's functions: void *allocate(int64_t nbytes, int64_t alignment, void *stream)
     * noexcept, which may return nullptr, and void free(void *address, int64_t nbytes, void *stream) noexcept. Holds
     * them until the last array made from it is gone. On failure they are destroyed on return.
     */
    template <class Allocate, class Free>
    [[nodiscard]] static Result<Memory> custom(Device device, Allocate allocate, Free free) {
        static_assert(std::is_nothrow_invocable_r_v<void *, Allocate &, std::int64_t, std::int64_t, void *>,
                      "allocate must be noexcept and return void *");
        static_assert(std::is_nothrow_invocable_v<Free &, void *, std::int64_t, void *>, "free must be noexcept");
        using Pair = detail::Allocator<Allocate, Free>;
        std::unique_ptr<Pair> pair(new Pair{std::move(allocate), std::move(free)});
        via_memory *memory = nullptr;
        const via_status status =
            via_memory_create_custom(device.type, device.id, Pair::give, pair.get(), Pair::take, pair.get(),
                                     detail::delete_context<Pair>, pair.get(), &memory);
        if (status == VIA_OK) {
            static_cast<void>(pair.release());
        }
        return detail::made<Memory>(status, memory);
    }

    Device device() const { return {via_memory_device_type(get()), via_memory_device_id(get())}; }
};

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
