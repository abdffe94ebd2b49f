// The kernels of conversions, compiled for the host: they make the bits that the host makes, of elements anywhere, and
// read and write nothing else.
#include "cuda/launch/convert_kernel.hpp"

#include <array>
#include <memory>
#include <vector>

#include "copy/convert/convert_host.hpp"
#include "copy_support.hpp"

namespace {

using via::ElementConversion;
using via::ElementLoops;
using via::ScalarKind;
using via::cuda::ConvertKernelPlan;
using via::kernels::Id;

struct Bounds {
    uint64_t low;
    uint64_t high;
    bool holds(uint64_t address, uint64_t nbytes) const { return address >= low && address + nbytes <= high; }
};

Bounds readable;
Bounds writable;

}  // namespace

void *via::kernels::host_view(uint64_t address, uint64_t nbytes) {
    assert_true(readable.holds(address, nbytes) || writable.holds(address, nbytes));
    assert_int_equal(address % nbytes, 0);
    return reinterpret_cast<void *>(address);
}

namespace {

constexpr auto kFirst = static_cast<size_t>(Id::via_convert_1_1);
constexpr auto kLast = static_cast<size_t>(Id::via_convert_16_1);
std::array<int, kLast - kFirst + 1> launches;

template <class Kernel>
void run(const ConvertKernelPlan &plan, bool backwards) {
    typename Kernel::Shared shared;
    for (uint64_t block = 0; block < plan.blocks; ++block) {
        Kernel::run(plan.params, shared, static_cast<uint32_t>(block), {Kernel::kThreads, backwards});
    }
}

void run_plan(const ConvertKernelPlan &plan, bool backwards) {
    ++launches[static_cast<size_t>(plan.kernel) - kFirst];
    switch (plan.kernel) {
        using via::kernels::Convert;
#define VIA_RUN(name, ...) \
    case Id::name:         \
        return run<__VA_ARGS__>(plan, backwards);
        VIA_CONVERT_KERNELS(VIA_RUN)
#undef VIA_RUN
        default:
            assert_true(false);  // no kernel of conversions
    }
}

// Elements of which some are zero, and some are all ones but for the sign.
struct Memory {
    explicit Memory(int64_t nbytes, Random *random) : bytes(static_cast<size_t>(nbytes) + 64) {
        for (char &byte : bytes) {
            byte = static_cast<char>(random->between(0, 9) < 2 ? 0 : random->between(0, 255));
        }
        start = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64);
    }
    Bounds bounds() const {
        const auto low = reinterpret_cast<uint64_t>(bytes.data());
        return {low, low + bytes.size()};
    }
    std::vector<char> bytes;
    char *start;
};

// A layout of three axes, which may be dense, and may begin at any byte.
struct Lead {
    int64_t dst;
    int64_t src;
    int64_t gap;  // elements from one to the next; 1: adjacent
};

void check(const ElementConversion &elements, const Lead &lead, Random *random) {
    const int64_t dst_bytes = bytes_of(elements.dst);
    const int64_t src_bytes = bytes_of(elements.src);
    const int64_t rows = lead.gap == 1 ? 1 : 7;
    const int64_t columns = random->between(1, 700);
    const int64_t count = rows * columns;
    const Memory src(count * lead.gap * src_bytes + 64, random);
    Memory dst(count * lead.gap * dst_bytes + 64, random);
    ElementLoops loops{};
    loops.dst = dst.start + lead.dst;
    loops.src = src.start + lead.src;
    loops.count = count;
    loops.ndim = lead.gap == 1 ? 1 : 2;
    loops.axes[0] = {columns, lead.gap * dst_bytes, (lead.gap == 1 ? 1 : rows) * src_bytes};
    loops.axes[1] = {rows, columns * lead.gap * dst_bytes, src_bytes};

    std::vector<char> before = dst.bytes;
    convert_elements(loops, elements);
    const std::vector<char> wanted = dst.bytes;
    std::copy(before.begin(), before.end(), dst.bytes.begin());

    ConvertKernelPlan plan;
    plan_convert_kernel(loops, elements, &plan);
    assert_true(lead.gap != 1 || lead.dst != 0 || lead.src != 0 || plan.params.ndim == 0);
    readable = src.bounds();
    writable = dst.bounds();
    run_plan(plan, count % 2 == 0);
    assert_true(dst.bytes == wanted);
}

bool is_conversion(ScalarKind dst, ScalarKind src) {
    const bool from_complex = src >= ScalarKind::Complex32;
    return dst != src && (!from_complex || dst == ScalarKind::Bool);
}

uint8_t part_bytes(ScalarKind kind) {
    return static_cast<uint8_t>(kind >= ScalarKind::Complex32 ? bytes_of(kind) / 2 : bytes_of(kind));
}

void kernels_make_the_bits_of_the_host(void **) {
    Random random(27);
    for (int32_t pair = 0; pair < via::kScalarKinds * via::kScalarKinds; ++pair) {
        const auto to = static_cast<ScalarKind>(pair / via::kScalarKinds);
        const auto from = static_cast<ScalarKind>(pair % via::kScalarKinds);
        if (!is_conversion(to, from)) {
            continue;
        }
        const int64_t to_step = bytes_of(to);
        const int64_t from_step = bytes_of(from);
        for (const Lead &lead : {Lead{0, 0, 1}, Lead{to_step, 0, 1}, Lead{0, from_step, 3}, Lead{1, 3, 1}}) {
            check({to, from, 0, pair % 2 == 0}, lead, &random);
            check({to, from, part_bytes(from), pair % 2 != 0}, lead, &random);
        }
    }
}

void elements_that_stay_are_copied_or_swapped(void **) {
    Random random(28);
    for (const int32_t bytes : {1, 2, 4, 8}) {
        const ScalarKind kind = via::raw_kind(bytes);
        for (const Lead &lead : {Lead{0, 0, 1}, Lead{bytes, 0, 1}, Lead{0, 0, 2}}) {
            check({kind, kind, 0, false}, lead, &random);
            check({kind, kind, static_cast<uint8_t>(bytes), false}, lead, &random);
        }
    }
}

void every_kernel_of_conversions_has_been_run(void **) {
    for (const int count : launches) {
        assert_true(count > 0);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(kernels_make_the_bits_of_the_host),
        cmocka_unit_test(elements_that_stay_are_copied_or_swapped),
        cmocka_unit_test(every_kernel_of_conversions_has_been_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
