// Conversions that involve CUDA's memory. The rooms above have checked the arrays.
//
// How it works. As items_transfer.hpp says, with the kernel of kernels/convert.cuh: the narrower elements cross the
// link. In Staged, workers of the host convert, or bring together, what they put into the slots of the ring, and do the
// reverse with what they take from there. The device has no part if its elements are adjacent and have been converted.
#pragma once

#include "core/base/text_buffer.hpp"
#include "core/layout/element_loops.hpp"
#include "core/layout/scalar_kinds.hpp"
#include "cuda/items_transfer.hpp"

namespace via::cuda {

// What is done to elements before they cross a link, and after; one of both changes nothing.
struct LinkConversion {
    LinkConversion(const ElementConversion &elements, bool converts_first)
        : bytes(bytes_of(converts_first ? elements.dst : elements.src)),
          before(converts_first ? elements : unchanged(bytes)),
          after(converts_first ? unchanged(bytes) : elements) {}
    int32_t bytes;  // of an element that crosses
    ElementConversion before;
    ElementConversion after;
};

// `loops` go in the order of the host's memory, if one side is pageable, otherwise of dst.
class ConvertTransfer final : public ItemsTransfer {
public:
    ElementLoops loops;
    ElementConversion elements;
    bool converts_first;  // before elements cross a link

    LinkConversion link() const { return {elements, converts_first}; }

    const char *what() const override { return "a conversion on a device"; }
    VIA_NODISCARD Status enqueue(const ResolvedStream &stream, via_task *task, IndexFence **out_faults) const override;
};

// Returns whether elements that are converted before they cross a link are no wider there.
constexpr bool is_no_wider(const ElementConversion &elements) {
    return bytes_of(elements.dst) <= bytes_of(elements.src);
}

// Returns the conversion of elements that cross as the narrower ones.
inline LinkConversion link_of(const ElementConversion &elements) { return {elements, is_no_wider(elements)}; }

// Converts between a device and elements that are not in memory, by the ring, as transfer_io copies. The address of the
// host's side numbers the elements, and is never touched.
VIA_NODISCARD Status convert_io(const ConvertTransfer &transfer, via_task *task, Fence **out_fence);

// Many conversions to adjacent elements of a device, whose sources follow one another in the bytes of an endpoint.
struct JoinedConversion {
    struct Part {
        int64_t offset;  // of its bytes, a multiple of 64
        char *dst;
        int64_t count;     // of elements
        int64_t src_step;  // from one to the next in the endpoint
        ElementConversion elements;
        int64_t gap;  // bytes of dst behind them that become 0
    };
    const Part *parts;  // in the order of their bytes
    int64_t part_count;
    int64_t nbytes;
    via_array *dst;  // has all of them
    IoEndpoint *io;
    int32_t workers;
    via_task *task;
};

// Converts chunk by chunk as they cross the link, as transfer_io copies. Stores false in *out_done, and does nothing,
// where there is no ring, or no kernel.
VIA_NODISCARD Status convert_joined(const JoinedConversion &joined, bool *out_done, Fence **out_fence);

// Writes the route in a few words.
void describe_convert(const ConvertTransfer &transfer, TextBuffer *text);

}  // namespace via::cuda
