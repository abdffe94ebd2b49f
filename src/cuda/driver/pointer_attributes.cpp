#include "cuda/pointer_attributes.hpp"

#include <iterator>

#include "core/array/device_type.hpp"
#include "core/system/address_probe.hpp"
#include "cuda/device.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {
namespace {

// The driver's answer about an address. Unknown addresses get zeros, and no error.
struct Answer {
    unsigned int type = 0;
    unsigned int managed = 0;
    int ordinal = -1;
    CUdeviceptr start = 0;
    size_t nbytes = 0;
    CUcontext context = nullptr;
    CUmemoryPool pool = nullptr;

    bool known() const { return type != 0; }

    // Returns whether this is memory mapped to a reserved range (VMM). The driver then reports all that was reserved as
    // its range, and does not say which device may access it.
    bool is_mapped() const { return context == nullptr && pool == nullptr; }
};

constexpr unsigned int kAll = 7;
constexpr unsigned int kOfKind = 3;

// Asks for the first `count` members.
CUresult ask(const void *address, Answer *out_answer, unsigned int count = kAll) {
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    void *values[] = {&out_answer->type,   &out_answer->managed, &out_answer->ordinal, &out_answer->start,
                      &out_answer->nbytes, &out_answer->context, &out_answer->pool};
    static_assert(std::size(names) == kAll && std::size(values) == kAll);
    return driver().cuPointerGetAttributes(count, names, values, number_of(address));
}

// Uses id 0 for pinned and managed memory, which every device reaches.
PointerAttributes kind_of(const Answer &answer) {
    if (!answer.known()) {
        return {};
    }
    const int32_t device_type = answer.managed != 0                 ? VIA_DEVICE_CUDA_MANAGED
                                : answer.type == CU_MEMORYTYPE_HOST ? VIA_DEVICE_CUDA_HOST
                                                                    : VIA_DEVICE_CUDA;
    return {true, device_type, device_type == VIA_DEVICE_CUDA ? answer.ordinal : 0, false, nullptr, 0};
}

// A mapping or an allocation.
struct Range {
    CUdeviceptr start;
    size_t nbytes;
};

// Returns CUDA_ERROR_NOT_FOUND if nothing is mapped there, or no device may touch it.
CUresult find_range(CUdeviceptr address, Range *out_range) {
    return driver().cuMemGetAddressRange(&out_range->start, &out_range->nbytes, address);
}

// Returns what a device may do with mapped memory, or everything if the driver cannot say.
unsigned long long access_of(int32_t device_id, CUdeviceptr address) {
    unsigned long long access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device_id;
    if (driver().cuMemGetAccess == nullptr || driver().cuMemGetAccess(&access, &location, address) != CUDA_SUCCESS) {
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    return access;
}

void fill_range(const void *address, const Answer &answer, PointerAttributes *attributes) {
    Range range{answer.start, answer.nbytes};
    if (answer.is_mapped() || range.nbytes == 0) {
        const CallbackScope quiet;  // an unknown range is no failure of the call
        ContextScope scope;         // ranges can be asked for only inside one
        if (scope.enter_device(answer.ordinal) != VIA_OK || find_range(number_of(address), &range) != CUDA_SUCCESS) {
            range = {0, 0};
        }
    }
    attributes->base = reinterpret_cast<void *>(range.start);
    attributes->nbytes = static_cast<int64_t>(range.nbytes);
}

const char *name_of(int32_t device_type) {
    return device_type == VIA_DEVICE_CUDA        ? "device memory"
           : device_type == VIA_DEVICE_CUDA_HOST ? "pinned memory"
                                                 : "managed memory";
}

Status unknown_address(const char *argument, via_array *array) {
    const char *expected = name_of(array->device_type);
    if (!is_readable(array->data)) {
        return fail(VIA_ERROR_POINTER,
                    "%saddress is %p, which the CUDA driver does not know: never allocated, or freed; expected %s",
                    argument, array->data, expected);
    }
    if (array->device_type == VIA_DEVICE_CUDA &&
        device_attribute(array->device_id, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0) {
        return fail(VIA_ERROR_POINTER,
                    "%saddress is %p, ordinary host memory, which device %d reaches but does not own; expected %s: "
                    "VIA_DEVICE_CPU names it, or VIA_WRAP_UNCHECKED takes it as it is",
                    argument, array->data, array->device_id, expected);
    }
    return fail(VIA_ERROR_POINTER, "%saddress is %p, ordinary host memory; expected %s", argument, array->data,
                expected);
}

// Accepts managed memory as memory of any device, as many libraries name it.
Status check_kind(const char *argument, via_array *array, const PointerAttributes &attributes) {
    const int32_t named = array->device_type;
    const int32_t found = attributes.device_type;
    if (found != named && !(found == VIA_DEVICE_CUDA_MANAGED && named == VIA_DEVICE_CUDA)) {
        return fail(VIA_ERROR_DEVICE, "%saddress is %p, which is %s (%s); expected %s (%s)", argument, array->data,
                    name_of(found), DeviceTypeName(found).text, name_of(named), DeviceTypeName(named).text);
    }
    if (found == VIA_DEVICE_CUDA && attributes.device_id != array->device_id) {
        return fail(VIA_ERROR_DEVICE, "%saddress is %p, which is memory of device %d; expected that of device %d",
                    argument, array->data, attributes.device_id, array->device_id);
    }
    return VIA_OK;
}

long long distance(via_array *array, CUdeviceptr address) {
    return static_cast<long long>(address - number_of(array->data));
}

Status leaves_allocation(const char *argument, via_array *array, const ByteSpan &span, const Range &range) {
    return fail(VIA_ERROR_POINTER,
                "%saddress is %p, and the array takes bytes %lld to %lld from there; expected it within the "
                "allocation, which has bytes %lld to %lld",
                argument, array->data, static_cast<long long>(span.low), static_cast<long long>(span.high),
                distance(array, range.start), distance(array, range.start + range.nbytes));
}

Status unmapped(const char *argument, via_array *array, const ByteSpan &span, CUdeviceptr at) {
    return fail(VIA_ERROR_POINTER,
                "%saddress is %p, and the array takes bytes %lld to %lld from there; expected all of them mapped, "
                "and byte %lld is not",
                argument, array->data, static_cast<long long>(span.low), static_cast<long long>(span.high),
                distance(array, at));
}

Status check_access(const char *argument, via_array *array, CUdeviceptr at) {
    const unsigned long long access = access_of(array->device_id, at);
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        return fail(VIA_ERROR_POINTER,
                    "%saddress is %p, and device %d has no access to byte %lld from there; expected memory that it "
                    "may read",
                    argument, array->data, array->device_id, distance(array, at));
    }
    if (access == CU_MEM_ACCESS_FLAGS_PROT_READ && !array->is_read_only()) {
        return fail(VIA_ERROR_READ_ONLY, "%saddress is %p, which device %d may only read; expected a read-only array",
                    argument, array->data, array->device_id);
    }
    return VIA_OK;
}

// Checks mapping by mapping, upwards from the lowest byte: adjacent ones may carry one array. Apart from check_extent,
// whose frame it would make larger.
[[gnu::noinline]] Status check_mappings(const char *argument, via_array *array, const ByteSpan &span) {
    ContextScope scope;
    VIA_TRY(scope.enter_device(array->device_id));
    const CUdeviceptr first = number_of(array->data) + static_cast<CUdeviceptr>(span.low);
    const CUdeviceptr end = number_of(array->data) + static_cast<CUdeviceptr>(span.high);
    for (CUdeviceptr at = first; at < end;) {
        Range range{0, 0};
        VIA_TRY(check_access(argument, array, at));
        const CUresult result = find_range(at, &range);
        if (result == CUDA_ERROR_NOT_FOUND) {
            return unmapped(argument, array, span, at);
        }
        VIA_TRY(check_driver(result, "cuMemGetAddressRange"));
        at = range.start + range.nbytes;
    }
    return VIA_OK;
}

[[gnu::always_inline]] inline Status check_extent(const char *argument, via_array *array, const Answer &answer) {
    const ByteSpan span = byte_span(array);
    if (answer.is_mapped() || answer.nbytes == 0) [[unlikely]] {
        return check_mappings(argument, array, span);
    }
    const Range range{answer.start, answer.nbytes};
    const CUdeviceptr data = number_of(array->data);
    const bool starts_inside = data + static_cast<CUdeviceptr>(span.low) >= range.start;
    const bool ends_inside = data + static_cast<CUdeviceptr>(span.high) <= range.start + range.nbytes;
    return starts_inside && ends_inside ? VIA_OK : leaves_allocation(argument, array, span, range);
}

// Leaves the answer unknown for an address that can be nobody's, and where nobody uses the driver.
CUresult ask_if_in_use(const void *address, Answer *out_answer) {
    const CUresult result = is_in_use() ? ask(address, out_answer) : CUDA_SUCCESS;
    if (result != CUDA_ERROR_INVALID_VALUE) [[likely]] {
        return result;
    }
    *out_answer = {};
    return CUDA_SUCCESS;
}

CUresult look_up(const void *address, PointerAttributes *out_attributes) {
    *out_attributes = {};
    Answer answer;
    const CUresult result = ask_if_in_use(address, &answer);
    if (result != CUDA_SUCCESS || !answer.known()) {
        return result;
    }
    *out_attributes = kind_of(answer);
    out_attributes->read_only =
        answer.is_mapped() && access_of(answer.ordinal, number_of(address)) == CU_MEM_ACCESS_FLAGS_PROT_READ;
    fill_range(address, answer, out_attributes);
    return CUDA_SUCCESS;
}

}  // namespace

Status query_pointer(const void *address, PointerAttributes *out_attributes) {
    return check_driver(look_up(address, out_attributes), "cuPointerGetAttributes");
}

PointerAttributes find_pointer(const void *address) {
    PointerAttributes attributes{};
    (void)look_up(address, &attributes);
    return attributes;
}

Status query_pointer_kind(const void *address, PointerAttributes *out_attributes) {
    Answer answer;
    *out_attributes = {};
    VIA_TRY(check_driver(is_in_use() ? ask(address, &answer, kOfKind) : CUDA_SUCCESS, "cuPointerGetAttributes"));
    *out_attributes = kind_of(answer);
    return VIA_OK;
}

Status check_pointer(const char *argument, via_array *array) {
    if (array->size == 0) {
        return VIA_OK;
    }
    VIA_TRY(need_driver("memory of a device"));
    Answer answer;
    VIA_TRY(check_driver(ask(array->data, &answer), "cuPointerGetAttributes"));
    if (!answer.known()) {
        return unknown_address(argument, array);
    }
    VIA_TRY(check_kind(argument, array, kind_of(answer)));
    return check_extent(argument, array, answer);
}

Status detect_pointer(via_array *array, bool check) {
    if (array->size == 0) {
        return VIA_OK;
    }
    Answer answer;
    VIA_TRY(check_driver(ask_if_in_use(array->data, &answer), "cuPointerGetAttributes"));
    if (!answer.known()) {
        return VIA_OK;
    }
    const PointerAttributes attributes = kind_of(answer);
    array->device_type = attributes.device_type;
    array->device_id = attributes.device_id;
    return check ? check_extent("", array, answer) : VIA_OK;
}

}  // namespace via::cuda
