// Where arrays are allocated.
#include <cstdlib>
#include <memory>

#include "support.hpp"

using namespace viaduct;

namespace {

struct Ledger {
    std::int64_t bytes = 0;
    int calls = 0;
};

// An allocator of host memory that writes down what it gives; the ledger lives as long as somebody may write in it.
Memory booked(const std::shared_ptr<Ledger> &ledger) {
    return Memory::custom(
        {},
        [ledger](std::int64_t nbytes, std::int64_t alignment, void *) noexcept {
            ledger->bytes += nbytes;
            ++ledger->calls;
            void *address = nullptr;
            return posix_memalign(&address, alignment, nbytes) == 0 ? address : nullptr;
        },
        [ledger](void *address, std::int64_t nbytes, void *) noexcept {
            ledger->bytes -= nbytes;
            std::free(address);
        });
}

void host_memory_is_a_place_like_any_other(void **) {
    const Memory memory = Memory::create(VIA_MEMORY_HOST);
    assert_true(memory.device() == Device{});
    const Array array = Array::empty(memory, VIA_INT32, {5});
    expect_numbers(array.shape(), {5});
    expect_thrown<InvalidArgumentError>("kind", [] { return Memory::create(99); });
}

void the_callers_functions_serve_and_live_until_the_last_array_is_gone(void **) {
    auto ledger = std::make_shared<Ledger>();
    Memory memory = booked(ledger);
    Array array = Array::empty(memory, VIA_FLOAT64, {100});
    assert_int_equal(ledger->bytes, 800);
    memory.reset();
    assert_int_equal(ledger.use_count(), 3);
    array.reset();
    assert_int_equal(ledger->bytes, 0);
    assert_int_equal(ledger->calls, 1);
    assert_int_equal(ledger.use_count(), 1);
}

void an_allocator_that_has_nothing_is_an_error_of_the_callback(void **) {
    const Memory memory = Memory::custom(
        {}, [](std::int64_t, std::int64_t, void *) noexcept -> void * { return nullptr; },
        [](void *, std::int64_t, void *) noexcept {});
    expect_thrown<CallbackError>("via_empty", [&] { return Array::empty(memory, VIA_INT8, {1}); });
}

void functions_that_are_refused_are_destroyed_on_return(void **) {
    auto ledger = std::make_shared<Ledger>();
    expect_thrown<DeviceError>("device_type", [&] {
        return Memory::custom(
            {99, 0}, [ledger](std::int64_t, std::int64_t, void *) noexcept -> void * { return nullptr; },
            [](void *, std::int64_t, void *) noexcept {});
    });
    assert_int_equal(ledger.use_count(), 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(host_memory_is_a_place_like_any_other),
        leaving_nothing(the_callers_functions_serve_and_live_until_the_last_array_is_gone),
        leaving_nothing(an_allocator_that_has_nothing_is_an_error_of_the_callback),
        leaving_nothing(functions_that_are_refused_are_destroyed_on_return),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
