// Conversions that involve CUDA's memory. The rooms above have checked the arrays.
//
// How it works. items_route chooses by where the arrays are:
//   Kernel  a kernel of one device reaches both, and converts in one launch (kernels/convert.cuh).
//   Staged  pageable memory and a device: the narrower elements cross the link. Workers of the host convert, or bring
//           together, what they put into the slots of the ring, and do the reverse with what they take from there. The
//           device's part is a kernel by way of scratch memory; there is none if its elements are adjacent and have
//           been converted.
//   Peer    two devices: each one's kernel converts or packs, and the driver copies the narrower elements in between.
// Staged and Peer go a part of the elements at a time (route/packed_parts.hpp).
#pragma once

#include "core/base/text_buffer.hpp"
#include "core/layout/element_loops.hpp"
#include "core/layout/scalar_kinds.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// Converts elements first to first + count - 1 between the host's memory and packed ones.
using ConvertPacked = void (*)(const ElementLoops &loops, const ElementConversion &elements, int64_t first,
                               int64_t count, void *packed);
using ConvertUnpacked = void (*)(const ElementLoops &loops, const ElementConversion &elements, int64_t first,
                                 int64_t count, const void *packed);

struct ConvertTransfer {
    Transfer transfer;   // sides, arrays and addresses; nbytes are those of dst
    ElementLoops loops;  // in the order of the host's memory, if one side is pageable, otherwise of dst
    ElementConversion elements;
    ConvertPacked pack;
    ConvertUnpacked unpack;
};

// Returns whether elements are converted before they cross a link, since that makes them no wider.
constexpr bool converts_first(const ElementConversion &elements) {
    return bytes_of(elements.dst) <= bytes_of(elements.src);
}

// Refuses what the functions below would refuse, and loads kernels. Errors: as transfer_on; VIA_ERROR_UNSUPPORTED
// without kernels.
VIA_NODISCARD Status check_convert(const ConvertTransfer &transfer);

// Convert as transfer_now, transfer_on and transfer_for_task copy.
VIA_NODISCARD Status convert_now(const ConvertTransfer &transfer);
VIA_NODISCARD Status convert_on(const ConvertTransfer &transfer, via_stream *stream);
VIA_NODISCARD Status convert_for_task(const ConvertTransfer &transfer, via_task *task, Fence **out_fence);

// Writes the route in a few words.
void describe_convert(const ConvertTransfer &transfer, TextBuffer *text);

}  // namespace via::cuda
