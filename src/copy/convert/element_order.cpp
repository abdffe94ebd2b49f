#include "copy/convert/element_order.hpp"

#include <algorithm>
#include <utility>

#include "copy/copy_check.hpp"
#include "copy/plan/overlap.hpp"
#include "core/layout/axes.hpp"
#include "core/layout/casting.hpp"

namespace via {
namespace {

Status check_unpacked(const char *argument, via_array *array) {
    return !array->is_packed()
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "%s has packed elements of %s; expected elements of a byte each", argument,
                      DtypeName(array->dtype).text);
}

// Collects axes as for an array whose steps come first, and gives them back as they are.
class Collector {
public:
    Collector(LoopOrder order, ElementLoops *loops) : by_src_(order == LoopOrder::OfSrc), loops_(loops) {}

    void add(int64_t extent, int64_t dst_step, int64_t src_step, bool is_numbered = false) {
        if (extent == 1) {
            return;
        }
        Axis axis{extent, by_src_ ? src_step : dst_step, by_src_ ? dst_step : src_step};
        const bool is_backward = axis.dst_step < 0;
        if (is_backward) {
            flip(&axis, by_src_ ? &src_offset_ : &dst_offset_, by_src_ ? &dst_offset_ : &src_offset_);
        }
        const int32_t at = insert_axis(axis, loops_->axes, &loops_->ndim);
        if (is_numbered) {
            loops_->numbered = at;
            is_reversed_ = is_backward;
        } else if (at <= loops_->numbered) {
            ++loops_->numbered;
        }
    }

    void finish(int64_t dst_bytes, int64_t src_bytes) {
        merge_loops(loops_);
        for (int32_t i = 0; by_src_ && i < loops_->ndim; ++i) {
            std::swap(loops_->axes[i].dst_step, loops_->axes[i].src_step);
        }
        if (loops_->ndim == 0) {
            loops_->axes[loops_->ndim++] = {1, dst_bytes, src_bytes};
        }
        loops_->dst += dst_offset_;
        loops_->src += src_offset_;
    }

    bool is_reversed() const { return is_reversed_; }

private:
    const bool by_src_;
    ElementLoops *const loops_;
    bool is_reversed_ = false;
    int64_t dst_offset_ = 0;
    int64_t src_offset_ = 0;
};

// Returns the bytes of one lane, with both parts of a complex number.
int64_t lane_bytes(via_array *array) { return array->item_bytes() / dtype_lanes(array->dtype); }

}  // namespace

Status find_elements(via_array *dst, via_array *src, bool is_affine, ElementConversion *out_elements) {
    VIA_TRY(check_unpacked("dst", dst));
    VIA_TRY(check_unpacked("src", src));
    *out_elements = {};
    if (!find_scalar_kind(dst->dtype, &out_elements->dst) || !find_scalar_kind(src->dtype, &out_elements->src)) {
        return fail(VIA_ERROR_DTYPE, "src has dtype %s; expected booleans, integers, floats or complex numbers",
                    DtypeName(src->dtype).text);
    }
    if (is_complex(out_elements->src) && out_elements->dst != ScalarKind::Bool) {
        out_elements->src = part_of_complex(out_elements->src);
        out_elements->dst = is_complex(out_elements->dst) ? part_of_complex(out_elements->dst) : out_elements->dst;
    }
    if (out_elements->dst == out_elements->src && !is_affine) {  // in another byte order
        out_elements->dst = out_elements->src = raw_kind(bytes_of(out_elements->src));
    }
    return VIA_OK;
}

bool make_element_loops(via_array *dst, via_array *src, const ElementConversion &elements, LoopOrder order,
                        int32_t numbered, ElementLoops *out_loops) {
    const int64_t dst_bytes = bytes_of(elements.dst);
    const int64_t src_bytes = bytes_of(elements.src);
    const int32_t lanes = dtype_lanes(dst->dtype);
    const bool by_parts = lane_bytes(dst) > dst_bytes;
    out_loops->dst = static_cast<char *>(dst->data);
    out_loops->src = static_cast<const char *>(src->data);
    out_loops->count = dst->size * lanes * (by_parts ? 2 : 1);
    out_loops->ndim = 0;
    out_loops->numbered = -1;
    out_loops->number = 0;
    Collector collector(order, out_loops);
    collector.add(by_parts ? 2 : 1, dst_bytes, src_bytes);
    collector.add(lanes, lane_bytes(dst), lane_bytes(src));
    for (int32_t i = dst->ndim - 1; i >= 0; --i) {
        collector.add(dst->shape()[i], dst->steps()[i], src->steps()[i], i == numbered);
    }
    collector.finish(dst_bytes, src_bytes);
    return collector.is_reversed();
}

Status check_overlap(const ElementLoops &loops, const ElementConversion &elements) {
    Plan written{};
    written.dst = loops.dst;
    written.src = loops.src;
    written.run = bytes_of(elements.dst);
    written.ndim = loops.ndim;
    std::copy_n(loops.axes, loops.ndim, written.axes);
    VIA_TRY(check_self_overlap(written));
    RunSet dst(reinterpret_cast<int64_t>(loops.dst), bytes_of(elements.dst));
    RunSet src(reinterpret_cast<int64_t>(loops.src), bytes_of(elements.src));
    for (int32_t i = 0; i < loops.ndim; ++i) {
        dst.add(loops.axes[i].extent, loops.axes[i].dst_step);
        src.add(loops.axes[i].extent, loops.axes[i].src_step);
    }
    const Overlap overlap = find_overlap(dst, src);
    return overlap == Overlap::None ? VIA_OK
                                    : fail(VIA_ERROR_OVERLAP, "dst %s src; expected memory apart",
                                           overlap == Overlap::Found ? "shares bytes with" : "may share bytes with");
}

}  // namespace via
