#include "ipc/ticket.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace via {
namespace {

// The last character is the version of the format.
constexpr char kMagic[8] = {'V', 'I', 'A', 'D', 'U', 'C', 'T', '1'};
constexpr int32_t kFlags = VIA_ARRAY_READ_ONLY | VIA_ARRAY_SUBBYTE_PADDED;

constexpr int64_t length_for(int32_t ndim) {
    return static_cast<int64_t>(sizeof kMagic + offsetof(Ticket, dims)) +
           2 * int64_t{ndim} * static_cast<int64_t>(sizeof(int64_t));
}

static_assert(length_for(VIA_MAX_NDIM) <= VIA_IPC_MAX_BYTES);

// FNV-1a of 64 bits (Fowler, Noll and Vo).
uint64_t checksum_of(const Ticket &ticket) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(&ticket);
    const size_t end = static_cast<size_t>(ticket.nbytes) - sizeof kMagic;
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = sizeof ticket.checksum; i < end; ++i) {
        sum = (sum ^ bytes[i]) * 0x100000001b3;
    }
    return sum;
}

Status malformed(const char *what) {
    return fail(VIA_ERROR_EXCHANGE, "bytes are no description: %s; expected what via_array_export_ipc stored", what);
}

Status check_magic(const void *bytes, int64_t length) {
    if (length < length_for(0) || std::memcmp(bytes, kMagic, sizeof kMagic - 1) != 0) {
        return malformed(length < length_for(0) ? "there are too few" : "they begin with other bytes");
    }
    const char version = static_cast<const char *>(bytes)[sizeof kMagic - 1];
    return version == kMagic[sizeof kMagic - 1]
               ? VIA_OK
               : fail(VIA_ERROR_VERSION, "the version of the description is %d; expected %d", version - '0',
                      kMagic[sizeof kMagic - 1] - '0');
}

Status check_fields(const Ticket &ticket, int64_t length) {
    if (ticket.ndim < 0 || ticket.ndim > VIA_MAX_NDIM || ticket.nbytes != length_for(ticket.ndim) ||
        ticket.nbytes != length) {
        return malformed("their number differs from that of the dimensions");
    }
    if (ticket.checksum != checksum_of(ticket)) {
        return malformed("their checksum is wrong");
    }
    if (ticket.device_type != VIA_DEVICE_CPU && ticket.device_type != VIA_DEVICE_CUDA) {
        return malformed("their device_type is unknown");
    }
    return (ticket.flags & ~kFlags) == 0 && ticket.reserved == 0 ? VIA_OK : malformed("a flag is unknown");
}

}  // namespace

void describe_array(via_array *array, Ticket *out_ticket) {
    *out_ticket = Ticket{};
    out_ticket->nbytes = static_cast<int32_t>(length_for(array->ndim));
    out_ticket->device_type = array->device_type;
    out_ticket->file.descriptor = -1;
    out_ticket->dtype = array->dtype;
    out_ticket->ndim = array->ndim;
    out_ticket->flags = array->flags & kFlags;
    std::copy_n(array->shape(), array->ndim, out_ticket->dims);
    std::copy_n(array->steps(), array->ndim, out_ticket->dims + array->ndim);
}

void write_ticket(Ticket *ticket, int64_t capacity, void *bytes, int64_t *out_length) {
    *out_length = ticket->nbytes;
    if (capacity >= ticket->nbytes) {
        ticket->checksum = checksum_of(*ticket);
        std::memcpy(bytes, kMagic, sizeof kMagic);
        std::memcpy(static_cast<char *>(bytes) + sizeof kMagic, ticket,
                    static_cast<size_t>(ticket->nbytes) - sizeof kMagic);
    }
}

Status read_ticket(const void *bytes, int64_t length, Ticket *out_ticket) {
    VIA_TRY(check_magic(bytes, length));
    *out_ticket = Ticket{};
    const auto rest = static_cast<size_t>(std::min(length, length_for(VIA_MAX_NDIM))) - sizeof kMagic;
    std::memcpy(out_ticket, static_cast<const char *>(bytes) + sizeof kMagic, rest);
    return check_fields(*out_ticket, length);
}

}  // namespace via
