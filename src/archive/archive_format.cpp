#include "archive/archive_format.hpp"

#include <string_view>

#include "archive/gguf.hpp"
#include "archive/npz.hpp"
#include "archive/safetensors.hpp"
#include "file/npy.hpp"
#include "file/read_write.hpp"

namespace via {

// A safetensors file begins with the length of its JSON, at most 100 MB, which may look like a ZIP's first bytes, yet
// not like GGUF's.
Status read_tensors(OpenFile *open, TensorList *out_list) {
    constexpr int64_t kStart = 9;
    char bytes[kStart];
    int64_t got = 0;
    VIA_TRY(read_up_to(open, bytes, 0, kStart, &got));
    const std::string_view start(bytes, static_cast<size_t>(got));
    if (is_npy(start)) {
        return fail(VIA_ERROR_FORMAT, "the file is one .npy array; expected an archive, or via_load for one array");
    }
    if (is_gguf(start)) {
        return read_gguf(open, out_list);
    }
    return is_npz(start) && !start.ends_with('{') ? read_npz(open, out_list) : read_safetensors(open, out_list);
}

}  // namespace via
