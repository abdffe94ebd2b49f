#include "file/whole_array.hpp"

#include "file/file_transfer.hpp"

namespace via {

Status save_array(const char *path, via_array *array, const via_file_options &given) {
    via_file_options options = given;
    options.atomic_write = 1;
    UniqueFile file;
    VIA_TRY(create_file(path, {array->dtype, array->ndim, array->shape()}, options, file.out()));
    return transfer_array({file.get(), array, Direction::Write, 0}, nullptr);
}

Status load_array(const char *path, via_memory *memory, const via_file_options &options, via_array **out_array) {
    UniqueFile file;
    UniqueArray array;
    VIA_TRY(open_file(path, options, file.out()));
    const int64_t nbytes = file.get()->nbytes_known;
    const FileContent bytes{VIA_UINT8, 1, &nbytes};
    const NpyHeader &header = file.get()->header;
    const FileContent content = file.get()->is_npy ? FileContent{header.dtype, header.ndim, header.shape} : bytes;
    VIA_TRY(make_empty(memory, content.dtype, content.ndim, content.shape, 0, array.out()));
    VIA_TRY(transfer_array({file.get(), array.get(), Direction::Read, 0}, nullptr));
    *out_array = array.release();
    return VIA_OK;
}

}  // namespace via
