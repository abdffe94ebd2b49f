#include "copy/duplicate.hpp"

#include "copy/copy.hpp"
#include "core/memory.hpp"

namespace via {

Status duplicate(via_array *src, via_array **out_array) {
    ArrayHolder copy;
    VIA_TRY(make_empty(host_memory(), src->dtype, src->ndim, src->shape(), src->flags & VIA_ARRAY_SUBBYTE_PADDED,
                       copy.out()));
    VIA_TRY(copy_array(copy.get(), src));
    *out_array = copy.give();
    return VIA_OK;
}

}  // namespace via
