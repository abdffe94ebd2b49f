#include "archive/safetensors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "archive/archive_paths.hpp"
#include "core/array/memory.hpp"
#include "core/base/little_endian.hpp"
#include "exchange/json.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

constexpr int64_t kLengthBytes = 8;

constexpr struct NamedDtype {
    std::string_view name;
    int32_t dtype;
} kDtypes[] = {
    {"BOOL", VIA_BOOL},
    {"F4", VIA_FLOAT4_E2M1FN},
    {"F6_E2M3", VIA_FLOAT6_E2M3FN},
    {"F6_E3M2", VIA_FLOAT6_E3M2FN},
    {"U8", VIA_UINT8},
    {"I8", VIA_INT8},
    {"F8_E5M2", VIA_FLOAT8_E5M2},
    {"F8_E4M3", VIA_FLOAT8_E4M3FN},
    {"F8_E8M0", VIA_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", VIA_FLOAT8_E4M3FNUZ},
    {"F8_E5M2FNUZ", VIA_FLOAT8_E5M2FNUZ},
    {"I16", VIA_INT16},
    {"U16", VIA_UINT16},
    {"F16", VIA_FLOAT16},
    {"BF16", VIA_BFLOAT16},
    {"I32", VIA_INT32},
    {"U32", VIA_UINT32},
    {"F32", VIA_FLOAT32},
    {"C64", VIA_COMPLEX64},
    {"F64", VIA_FLOAT64},
    {"I64", VIA_INT64},
    {"U64", VIA_UINT64},
};

enum Key { kDtype = 1, kShape = 2, kOffsets = 4, kAllKeys = 7 };

int32_t key_of(std::string_view name) {
    return name == "dtype" ? kDtype : name == "shape" ? kShape : name == "data_offsets" ? kOffsets : 0;
}

class HeaderReader {
public:
    // `what` is the name of the text in errors.
    HeaderReader(std::string_view text, TensorList *list, const char *what)
        : json_(text, what, VIA_ERROR_FORMAT), list_(list) {}

    // Offsets of the tensors count from the end of the header yet.
    Status read() {
        bool has_metadata = false;
        VIA_TRY(json_.read_object("'{'", "a tensor's name in UTF-8, and a colon", [&](const std::string &name) {
            if (name != "__metadata__") {
                return list_->add(name, [this](ArchiveTensor *tensor) { return read_tensor(tensor); });
            }
            return std::exchange(has_metadata, true)
                       ? fail(VIA_ERROR_FORMAT, "__metadata__ occurs twice; expected it once")
                       : read_metadata();
        }));
        return json_.expect_end("the end of the header");
    }

    Status read_texts() {
        VIA_TRY(read_metadata());
        return json_.expect_end("the end of the object");
    }

private:
    Status read_metadata() {
        constexpr char kTexts[] = "texts in UTF-8 by name, as __metadata__ has them";
        std::string value;
        const auto read_text = [&](const std::string &name) {
            return json_.read_string(&value) ? list_->add_text(name, value) : json_.refuse(kTexts);
        };
        return json_.read_object("an object of texts by name, such as __metadata__", kTexts, read_text);
    }

    Status read_tensor(ArchiveTensor *tensor) {
        constexpr char kOnce[] = "dtype, shape and data_offsets, each once";
        int32_t keys = 0;
        const auto read_member = [&](const std::string &name) {
            const int32_t key = key_of(name);
            if (key == 0 || (keys & key) != 0) {
                return json_.refuse(kOnce);
            }
            keys |= key;
            return read_value(key, tensor);
        };
        VIA_TRY(json_.read_object("an object of dtype, shape and data_offsets", kOnce, read_member));
        return keys == kAllKeys ? VIA_OK : json_.refuse("dtype, shape and data_offsets before it");
    }

    Status read_value(int32_t key, ArchiveTensor *tensor) {
        if (key == kDtype) {
            return read_dtype(tensor);
        }
        if (key == kShape) {
            return read_numbers(VIA_MAX_NDIM, "extents from 0 to 2^63 - 1, at most 64", &tensor->shape);
        }
        std::vector<int64_t> offsets;
        VIA_TRY(read_numbers(2, "a begin and an end as data_offsets", &offsets));
        if (offsets.size() != 2 || offsets[0] > offsets[1]) {
            return json_.refuse("a begin and an end as data_offsets before it");
        }
        tensor->offset = offsets[0];
        tensor->nbytes = offsets[1] - offsets[0];
        return VIA_OK;
    }

    Status read_dtype(ArchiveTensor *tensor) {
        std::string name;
        if (!json_.read_string(&name)) {
            return json_.refuse("the name of a dtype");
        }
        const auto *found = std::ranges::find(kDtypes, name, &NamedDtype::name);
        if (found == std::end(kDtypes)) {
            return fail(VIA_ERROR_DTYPE, "dtype is '%.40s'; expected one of safetensors, such as F32", name.c_str());
        }
        tensor->dtype = found->dtype;
        tensor->type_name = std::make_shared<const std::string>(found->name);
        return VIA_OK;
    }

    Status read_numbers(size_t most, const char *expected, std::vector<int64_t> *out_numbers) {
        const bool is_read = json_.accept("[") && json_.read_items("]", [&] {
            int64_t number = 0;
            if (out_numbers->size() == most || !json_.read_count(&number)) {
                return false;
            }
            out_numbers->push_back(number);
            return true;
        });
        return is_read ? VIA_OK : json_.refuse(expected);
    }

    JsonScanner json_;
    TensorList *const list_;
};

}  // namespace

Status parse_texts(std::string_view text, std::vector<ArchiveText> *out_texts) {
    TensorList list;
    VIA_TRY(HeaderReader(text, &list, "the JSON").read_texts());
    *out_texts = std::move(list.texts());
    return VIA_OK;
}

std::string write_texts(const std::vector<ArchiveText> &texts) {
    std::string json = "{";
    for (const auto &[name, value] : texts) {
        json += json.size() > 1 ? ", " : "";
        append_json(name, &json);
        json += ": ";
        append_json(value, &json);
    }
    return json + "}";
}

std::string_view safetensors_dtype(int32_t dtype) {
    const auto *found = std::ranges::find(kDtypes, dtype, &NamedDtype::dtype);
    return found != std::end(kDtypes) ? found->name : std::string_view();
}

namespace {

void append_tensor(const ArchiveTensor &tensor, std::string *json) {
    append_json(*tensor.name, json);
    json->append(":{\"dtype\":\"").append(safetensors_dtype(tensor.dtype)).append("\",\"shape\":[");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
        json->append(i > 0 ? "," : "").append(std::to_string(tensor.shape[i]));
    }
    json->append("],\"data_offsets\":[").append(std::to_string(tensor.offset)).append(",");
    json->append(std::to_string(tensor.offset + tensor.nbytes)).append("]}");
}

}  // namespace

std::string write_safetensors(const std::vector<ArchiveTensor> &tensors, const std::vector<ArchiveText> &metadata) {
    std::string json(kLengthBytes, '\0');
    json += '{';
    if (!metadata.empty()) {
        json.append("\"__metadata__\":").append(write_texts(metadata)).append(tensors.empty() ? "" : ",");
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        json += i > 0 ? "," : "";
        append_tensor(tensors[i], &json);
    }
    json += '}';
    json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    auto length = static_cast<uint64_t>(json.size() - kLengthBytes);
    for (int64_t i = 0; i < kLengthBytes; ++i, length >>= 8) {
        json[static_cast<size_t>(i)] = static_cast<char>(length & 0xFF);
    }
    return json;
}

Status read_safetensors(OpenFile *open, TensorList *out_list) {
    int64_t present = 0;
    VIA_TRY(open->size(&present));
    char start[kLengthBytes];
    int64_t got = 0;
    VIA_TRY(read_up_to(open, start, 0, kLengthBytes, &got));
    if (got < kLengthBytes) {
        return fail(VIA_ERROR_FORMAT, "the file has %lld bytes; expected the length of a header in the first 8",
                    as_printed(got));
    }
    const uint64_t length = little_endian({start, kLengthBytes});
    const int64_t most = std::min(present - kLengthBytes, kMostArchiveText);
    if (std::cmp_greater(length, most)) {
        return fail(VIA_ERROR_FORMAT, "the header has %llu bytes in a file of %lld; expected at most %lld",
                    static_cast<unsigned long long>(length), as_printed(present), as_printed(kMostArchiveText));
    }
    const auto nbytes = static_cast<int64_t>(length);
    std::string text(length, '\0');
    VIA_TRY(read_all(open, text.data(), kLengthBytes, nbytes));
    if (!text.starts_with('{')) {
        return fail(VIA_ERROR_FORMAT, "the header begins with other bytes; expected '{'");
    }
    VIA_TRY(HeaderReader(text, out_list, "the header").read());
    return out_list->settle_adjacent(kLengthBytes + nbytes, present - kLengthBytes - nbytes, 1);
}

}  // namespace via
