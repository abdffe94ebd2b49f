// The tensors and texts that the header of one file names, with the checks that all formats share.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.hpp"

namespace via {

class TensorList {
public:
    // Adds a tensor of whose bytes nbytes are in the file, once fill(tensor) has read the rest of its header, or has
    // stored why it is refused. Refuses a name that occurs twice, contains NUL, or is no UTF-8, before that. Errors,
    // with the name: VIA_ERROR_FORMAT, also if dtype times shape differ; VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW; those of
    // fill.
    template <class Fill>
    VIA_NODISCARD Status add(std::string_view name, const Fill &fill) {
        ArchiveTensor tensor;
        tensor.name = std::make_shared<const std::string>(name);
        VIA_TRY(add_name(*tensor.name));
        VIA_TRY(name_tensor(*tensor.name, fill(&tensor)));
        VIA_TRY(tensor.refusal != nullptr ? VIA_OK : name_tensor(*tensor.name, check_bytes(tensor)));
        tensors_.push_back(std::move(tensor));
        return VIA_OK;
    }

    // Adds a text of the metadata. Errors: VIA_ERROR_FORMAT for a name that occurs twice.
    VIA_NODISCARD Status add_text(const std::string &name, std::string value);

    // Sorts the tensors by their bytes, which fill the last data_bytes of the file, each from a multiple of `alignment`
    // on. Then counts offsets from the beginning of the file. Errors: VIA_ERROR_FORMAT for overlaps, holes, and other
    // ends than that of the file.
    VIA_NODISCARD Status settle_adjacent(int64_t data_offset, int64_t data_bytes, int64_t alignment);

    std::vector<ArchiveTensor> &tensors() { return tensors_; }
    std::vector<ArchiveText> &texts() { return texts_; }

private:
    VIA_NODISCARD Status add_name(const std::string &name);
    VIA_NODISCARD static Status check_bytes(const ArchiveTensor &tensor);

    std::set<std::string, std::less<>> names_;
    std::set<std::string, std::less<>> text_names_;
    std::vector<ArchiveTensor> tensors_;
    std::vector<ArchiveText> texts_;
};

// Computes the bytes of a tensor's dtype and shape. Errors: VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW; VIA_ERROR_FORMAT for
// packed elements that are no whole bytes.
VIA_NODISCARD Status count_bytes(const ArchiveTensor &tensor, int64_t *out_nbytes);

}  // namespace via
