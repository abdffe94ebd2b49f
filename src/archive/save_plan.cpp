#include "archive/save_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "archive/archive_paths.hpp"
#include "archive/safetensors.hpp"
#include "core/base/checked.hpp"
#include "core/base/utf8.hpp"
#include "exchange/json.hpp"

namespace via {
namespace {

Status check_name(std::string_view name, std::set<std::string_view> *names) {
    const bool is_text = utf8_prefix(name) == name.size() && name != "__metadata__";
    if (!is_text) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "the name is not a tensor's; expected UTF-8 other than __metadata__");
    }
    return names->insert(name).second
               ? VIA_OK
               : fail(VIA_ERROR_INVALID_ARGUMENT, "the name is given twice; expected each name once");
}

Status check_array(via_array *array) {
    if (safetensors_dtype(array->dtype).empty()) {
        return fail(VIA_ERROR_DTYPE, "dtype is %s; expected one of safetensors, such as float32",
                    DtypeName(array->dtype).text);
    }
    if ((array->flags & VIA_ARRAY_SUBBYTE_PADDED) != 0) {
        return fail(VIA_ERROR_UNSUPPORTED, "each element of %s has bytes of its own; expected packed ones",
                    DtypeName(array->dtype).text);
    }
    if (!array->is_packed()) {
        return VIA_OK;
    }
    if (array->size * array->item_bits % 8 != 0) {
        return fail(VIA_ERROR_UNSUPPORTED, "the elements have %lld bits; expected whole bytes",
                    as_printed(array->size * array->item_bits));
    }
    return array->size == 0 || is_contiguous(array, VIA_ORDER_ROW_MAJOR)
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "dtype is %s in a strided array; expected adjacent elements",
                      DtypeName(array->dtype).text);
}

Status check_tensors(const SaveRequest &request) {
    std::set<std::string_view> names;
    if (request.count < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d; expected 0 or more", request.count);
    }
    if (request.count > 0 && (request.arrays == nullptr || request.names == nullptr)) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "%s is NULL; expected a pointer to %d",
                    request.arrays == nullptr ? "arrays" : "names", request.count);
    }
    for (int32_t i = 0; i < request.count; ++i) {
        if (request.arrays[i] == nullptr || request.names[i] == nullptr) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "%s[%d] is NULL; expected a pointer",
                        request.arrays[i] == nullptr ? "arrays" : "names", i);
        }
        VIA_TRY(name_tensor(request.names[i], check_name(request.names[i], &names)));
        VIA_TRY(name_tensor(request.names[i], check_array(request.arrays[i])));
    }
    return VIA_OK;
}

using Shards = std::vector<std::vector<int32_t>>;

// Distributes the arrays in the order given.
Status distribute(const SaveRequest &request, Shards *out_shards, int64_t *out_nbytes) {
    int64_t in_shard = 0;
    out_shards->resize(1);
    for (int32_t i = 0; i < request.count; ++i) {
        const int64_t nbytes = request.arrays[i]->nbytes();
        if (!add(*out_nbytes, nbytes, out_nbytes)) {
            return fail(VIA_ERROR_OVERFLOW, "the arrays exceed 2^63 - 1 bytes; expected fewer");
        }
        const bool is_full = request.shard_bytes > 0 && !out_shards->back().empty() &&
                             (in_shard > request.shard_bytes || nbytes > request.shard_bytes - in_shard);
        if (is_full) {
            out_shards->emplace_back();
            in_shard = 0;
        }
        out_shards->back().push_back(i);
        in_shard += nbytes;
    }
    return VIA_OK;
}

Status plan_file(const SaveRequest &request, const std::vector<ArchiveText> &metadata, std::vector<int32_t> arrays,
                 PlannedFile *file) {
    std::stable_sort(arrays.begin(), arrays.end(),
                     [&](int32_t a, int32_t b) { return request.arrays[a]->item_bits > request.arrays[b]->item_bits; });
    std::vector<ArchiveTensor> tensors;
    int64_t end = 0;
    for (const int32_t number : arrays) {
        via_array *array = request.arrays[number];
        ArchiveTensor tensor;
        tensor.name = std::make_shared<const std::string>(request.names[number]);
        tensor.dtype = array->dtype;
        tensor.shape.assign(array->shape(), array->shape() + array->ndim);
        tensor.offset = end;
        tensor.nbytes = array->nbytes();
        file->offsets.push_back(end);
        end += tensor.nbytes;
        tensors.push_back(std::move(tensor));
    }
    file->offsets.push_back(end);
    file->arrays = std::move(arrays);
    file->text = write_safetensors(tensors, metadata);
    const auto start = static_cast<int64_t>(file->text.size());
    if (start - 8 > kMostArchiveText || !add(start, end, &end)) {
        return fail(VIA_ERROR_OVERFLOW, "the header has %lld bytes; expected at most %lld, and 2^63 - 1 with the rest",
                    as_printed(start - 8), as_printed(kMostArchiveText));
    }
    for (int64_t &offset : file->offsets) {
        offset += start;
    }
    return VIA_OK;
}

std::string_view stem_of(std::string_view path) {
    constexpr std::string_view kEnd = ".safetensors";
    return path.ends_with(kEnd) ? path.substr(0, path.size() - kEnd.size()) : path;
}

std::string shard_path(std::string_view path, size_t number, size_t count) {
    char end[64];
    (void)std::snprintf(end, sizeof end, "-%05zu-of-%05zu.safetensors", number + 1, count);
    return std::string(stem_of(path)) + end;
}

void plan_index(const SaveRequest &request, int64_t nbytes, std::vector<PlannedFile> *files) {
    std::string json = "{\"metadata\":{\"total_size\":" + std::to_string(nbytes) + "},\"weight_map\":{";
    for (const PlannedFile &file : *files) {
        const std::string_view name = std::string_view(file.path).substr(file.path.rfind('/') + 1);
        for (const int32_t number : file.arrays) {
            json += json.ends_with('{') ? "" : ",";
            append_json(request.names[number], &json);
            json += ':';
            append_json(name, &json);
        }
    }
    PlannedFile index;
    index.path = std::string(stem_of(request.path)) + ".safetensors.index.json";
    index.text = json + "}}";
    index.offsets.push_back(static_cast<int64_t>(index.text.size()));
    files->push_back(std::move(index));
}

Status check_settings(const SaveRequest &request) {
    const via_file_options &options = request.options;
    VIA_TRY(check_unused({{"mode", options.mode},
                          {"file_format", options.file_format},
                          {"column_major", options.column_major},
                          {"as_bytes", options.as_bytes}}));
    return request.shard_bytes >= 0
               ? check_file_options(options)
               : fail(VIA_ERROR_INVALID_ARGUMENT, "shard_bytes is %lld; expected 0 for one file, or the bytes of each",
                      as_printed(request.shard_bytes));
}

}  // namespace

Status plan_save(const SaveRequest &request, std::vector<PlannedFile> *out_files) {
    std::vector<ArchiveText> metadata;
    Shards shards;
    int64_t nbytes = 0;
    VIA_TRY(check_settings(request));
    VIA_TRY(check_tensors(request));
    if (request.metadata != nullptr) {
        VIA_TRY(name_path("argument metadata", parse_texts(request.metadata, &metadata)));
    }
    VIA_TRY(distribute(request, &shards, &nbytes));
    for (size_t i = 0; i < shards.size(); ++i) {
        PlannedFile file;
        file.path = shards.size() == 1 ? request.path : shard_path(request.path, i, shards.size());
        VIA_TRY(plan_file(request, metadata, std::move(shards[i]), &file));
        out_files->push_back(std::move(file));
    }
    if (shards.size() > 1) {
        plan_index(request, nbytes, out_files);
    }
    return VIA_OK;
}

}  // namespace via
