// What one process reports another of an array, with anything in its fields and the check of its bytes put right: taken
// if and only if it is sound and lies within the memory that it names, and then every byte of it can be read.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "description.hpp"
#include "ipc/ticket.hpp"

namespace {

constexpr int64_t kSharedBytes = 4096;

// An array of bytes, and what is reported of it.
class Shared {
public:
    Shared() {
        const int64_t shape[] = {kSharedBytes};
        via_memory *memory = nullptr;
        EXPECT(via_memory_create(VIA_MEMORY_SHARED, 0, &memory) == VIA_OK);
        EXPECT(via_empty(memory, VIA_UINT8, 1, shape, nullptr, &array_) == VIA_OK);
        via_memory_release(memory);
        for (int64_t i = 0; i < kSharedBytes; ++i) {
            start()[i] = static_cast<char>(i * 37 + i / 256);
        }
        char bytes[VIA_IPC_MAX_BYTES];
        int64_t length = 0;
        EXPECT(via_array_export_ipc(array_, sizeof bytes, bytes, &length) == VIA_OK);
        EXPECT(via::read_ticket(bytes, length, &ticket_) == VIA_OK);
    }

    char *start() const { return static_cast<char *>(via_array_data(array_)); }
    const via::Ticket &ticket() const { return ticket_; }

private:
    via_array *array_ = nullptr;  // kept for good
    via::Ticket ticket_;
};

int32_t length_for(int32_t ndim) { return static_cast<int32_t>(8 + offsetof(via::Ticket, dims)) + 16 * ndim; }

int32_t choose_dtype(Bytes *bytes) {
    constexpr int32_t kKnown[] = {VIA_UINT8,
                                  VIA_FLOAT32,
                                  VIA_FLOAT64,
                                  VIA_INT16,
                                  VIA_BOOL,
                                  VIA_COMPLEX128,
                                  VIA_FLOAT4_E2M1FN,
                                  VIA_FLOAT6_E2M3FN,
                                  VIA_FLOAT16,
                                  -12,
                                  VIA_FLOAT32 | 4 << 16,
                                  0};
    return bytes->between(0, 7) != 0 ? bytes->pick(kKnown) : bytes->number32();
}

void choose_layout(Bytes *bytes, via::Ticket *ticket) {
    const int32_t rank = bytes->between(0, 63);
    ticket->ndim = rank < 60 ? rank % 5 : rank < 62 ? VIA_MAX_NDIM - 62 + rank : bytes->number32();
    const int32_t axes = std::clamp<int32_t>(ticket->ndim, 0, VIA_MAX_NDIM);
    ticket->nbytes = length_for(axes);
    for (int32_t i = 0; i < axes; ++i) {
        ticket->dims[i] = bytes->number();
        ticket->dims[axes + i] = bytes->number();
    }
}

// The file is the one that there is, none, or what another number stands for; 0 to 2 are the process's own.
void choose_file(Bytes *bytes, via::Ticket *ticket) {
    const int32_t kind = bytes->between(0, 31);
    if (kind < 4) {
        ticket->file.descriptor = kind - 1;
    } else if (kind == 4) {
        ticket->file.number ^= uint64_t{1} << bytes->between(0, 63);
    } else if (kind == 5) {
        ticket->file.inode ^= uint64_t{1} << bytes->between(0, 63);
    } else if (kind == 6) {
        ticket->file.process = -bytes->between(0, 1);
    }
}

via::Ticket choose_ticket(Bytes *bytes, const Shared &shared) {
    via::Ticket ticket = shared.ticket();
    choose_file(bytes, &ticket);
    ticket.device_type = bytes->between(0, 31) != 0 ? VIA_DEVICE_CPU : bytes->number32();
    ticket.dtype = choose_dtype(bytes);
    choose_layout(bytes, &ticket);
    ticket.flags = bytes->between(0, 15) != 0 ? (bytes->flag() ? VIA_ARRAY_READ_ONLY : 0) : bytes->number32();
    ticket.offset = bytes->flag() ? bytes->number() : kSharedBytes / 2;
    return ticket;
}

// Whether it differs from a true one in nothing but the array that it describes.
bool is_plain(const via::Ticket &ticket, const Shared &shared) {
    return std::memcmp(&ticket.file, &shared.ticket().file, sizeof ticket.file) == 0 &&
           ticket.device_type == VIA_DEVICE_CPU && (ticket.flags & ~VIA_ARRAY_READ_ONLY) == 0 && ticket.ndim >= 0 &&
           ticket.ndim <= VIA_MAX_NDIM && via_dtype_is_valid(ticket.dtype) != 0;
}

Description describe(const via::Ticket &ticket, const char *start) {
    Description given{};
    given.address =
        reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(start) + static_cast<uintptr_t>(ticket.offset));
    given.dtype = ticket.dtype;
    given.padded = (ticket.flags & VIA_ARRAY_SUBBYTE_PADDED) != 0;
    given.ndim = ticket.ndim;
    given.shape = ticket.shape();
    given.strides = ticket.steps();
    given.unit = given.is_packed() ? Unit::Elements : Unit::Bytes;
    return given;
}

// An array without elements is somewhere in the memory too, or just behind it.
bool is_within(const via::Ticket &ticket, const Description &given, const char *start) {
    return given.has_no_elements() ? ticket.offset >= 0 && ticket.offset <= kSharedBytes
                                   : lies_within(given, start, kSharedBytes, INT64_MAX);
}

// At another address than the exporter's; what is beyond the mapping cannot be read.
void check_taken(via_array *array, const via::Ticket &ticket, const Shared &shared) {
    const Description given = describe(ticket, static_cast<char *>(via_array_data(array)) - ticket.offset);
    expect_described(array, given);
    EXPECT(is_within(ticket, given, static_cast<const char *>(given.address) - ticket.offset));
    if (given.has_no_elements()) {
        return;
    }
    Wide low = 0;
    Wide high = 0;
    measure_bits(given, &low, &high);
    const auto first = static_cast<int64_t>(low / 8);
    const auto count = static_cast<size_t>((high - low + 7) / 8);
    EXPECT(std::memcmp(static_cast<const char *>(given.address) + first, shared.start() + ticket.offset + first,
                       count) == 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Shared shared;
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    via::Ticket ticket = choose_ticket(&bytes, shared);
    char reported[VIA_IPC_MAX_BYTES];
    int64_t length = 0;
    via::write_ticket(&ticket, sizeof reported, reported, &length);
    via_array *array = nullptr;
    const via_status status = via_array_import_ipc(reported, length, &array);
    EXPECT((array != nullptr) == (status == VIA_OK));
    if (is_plain(ticket, shared)) {
        const Description given = describe(ticket, shared.start());
        EXPECT((status == VIA_OK) == (is_sound(given) && is_within(ticket, given, shared.start())));
    }
    if (status == VIA_OK) {
        check_taken(array, ticket, shared);
    } else {
        expect_reported(status, "via_array_import_ipc");
    }
    via_array_release(array);
    expect_alive(before);
    return 0;
}
