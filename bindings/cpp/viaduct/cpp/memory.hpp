// Where arrays are allocated, by the library or by the caller's own functions.
#ifndef VIADUCT_CPP_MEMORY_HPP
#define VIADUCT_CPP_MEMORY_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/handle.hpp"

namespace viaduct {

/** Where memory is: a VIA_DEVICE_... and which one. */
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

// A pair of functions as the callbacks of via_memory_create_custom. No exception may leave a callback, so that the
// functions must not throw: that is asked of them where they are given.
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

// Ends what a release callback is handed.
template <class T>
void delete_context(void *context) {
    delete static_cast<T *>(context);
}

}  // namespace detail

/** via_memory, owned. */
class Memory : public detail::Handle<Memory, via_memory, via_memory_retain, via_memory_release> {
public:
    using Handle::Handle;

    /** `kind` is a VIA_MEMORY_... */
    [[nodiscard]] static Result<Memory> create(std::int32_t kind, std::int32_t device_id = 0) {
        via_memory *memory = nullptr;
        return detail::made<Memory>(via_memory_create(kind, device_id, &memory), memory);
    }

    /**
     * The caller's own: void *allocate(int64_t nbytes, int64_t alignment, void *stream) noexcept, which may return
     * nullptr, and void free(void *address, int64_t nbytes, void *stream) noexcept. They are kept until the last array
     * made from it is gone; on failure they are gone on return.
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
