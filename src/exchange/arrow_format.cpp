#include "exchange/arrow_format.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/text_buffer.hpp"
#include "exchange/json.hpp"

namespace via {
namespace {

struct Format {
    int32_t dtype;
    char letter;
};

constexpr Format kFormats[] = {
    {VIA_INT8, 'c'},  {VIA_UINT8, 'C'},  {VIA_INT16, 's'},   {VIA_UINT16, 'S'},  {VIA_INT32, 'i'},   {VIA_UINT32, 'I'},
    {VIA_INT64, 'l'}, {VIA_UINT64, 'L'}, {VIA_FLOAT16, 'e'}, {VIA_FLOAT32, 'f'}, {VIA_FLOAT64, 'g'},
};

constexpr char kNameKey[] = "ARROW:extension:name";
constexpr char kMetadataKey[] = "ARROW:extension:metadata";

// Far more than the names of 63 axes take.
constexpr size_t kMostTensorJson = size_t{1} << 20;

// Parses a whole text as a decimal number; -1 for anything else.
int64_t parse_size(std::string_view text) {
    int64_t size = 0;
    const char *const start = text.data();
    const char *const end = start + text.size();
    const bool is_number = !text.empty() && is_digit(text[0]);
    const auto [stop, error] = std::from_chars(start, end, size);
    return is_number && error == std::errc{} && stop == end ? size : -1;
}

// Metadata is a count, then pairs of a key and a value, each a length and its bytes. Numbers are int32 in native byte
// order.
char *put_number(char *at, int32_t value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

char *put_text(char *at, std::string_view text) {
    at = put_number(at, static_cast<int32_t>(text.size()));
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

int32_t take_number(const char **at) {
    int32_t value = 0;
    std::memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

std::string_view take_text(const char **at) {
    const int32_t length = take_number(at);
    const std::string_view text(*at, length > 0 ? static_cast<size_t>(length) : 0);
    *at += text.size();
    return text;
}

enum TensorKey { kShape = 1, kDimNames = 2, kPermutation = 4 };

int32_t key_of(std::string_view name) {
    return name == "shape" ? kShape : name == "dim_names" ? kDimNames : name == "permutation" ? kPermutation : 0;
}

// Reads the JSON of arrow.fixed_shape_tensor.
class TensorReader {
public:
    TensorReader(std::string_view text, TensorAxes *axes)
        : json_(text, "the metadata of arrow.fixed_shape_tensor", VIA_ERROR_EXCHANGE), axes_(axes) {}

    Status read() {
        VIA_TRY(json_.read_object("'{'", "a name in quotes, and ':'",
                                  [this](const std::string &name) { return read_member(key_of(name)); }));
        VIA_TRY(json_.expect_end("nothing more"));
        if ((keys_ & kShape) == 0) {
            return json_.refuse("\"shape\" before it");
        }
        if ((keys_ & kDimNames) != 0 && names_ != axes_->ndim) {
            return json_.refuse("as many names in \"dim_names\" as there are extents");
        }
        const bool is_valid = (keys_ & kPermutation) == 0 || permutes_axes();
        return is_valid ? VIA_OK : json_.refuse("each axis once in \"permutation\"");
    }

private:
    Status read_member(int32_t key) {
        if ((keys_ & key) != 0) {
            return json_.refuse("each name once");
        }
        if (key == 0) {
            return json_.skip_value() ? VIA_OK : json_.refuse("a value");
        }
        // Some producers write null for an absent member.
        if (key != kShape && json_.accept("null")) {
            return VIA_OK;
        }
        keys_ |= key;
        return key == kShape ? read_shape() : key == kDimNames ? read_names() : read_permutation();
    }

    Status read_shape() {
        return read_list("a list of extents", &axes_->ndim,
                         [this](int32_t i) { return json_.read_count(&axes_->shape[i]); });
    }

    Status read_names() {
        std::string name;
        return read_list("a list of names", &names_, [&](int32_t) { return json_.read_string(&name); });
    }

    Status read_permutation() {
        return read_list("a list of axes", &permuted_, [this](int32_t i) {
            int64_t axis = 0;
            const bool is_axis = json_.read_count(&axis) && axis < VIA_MAX_NDIM;
            axes_->permutation[i] = static_cast<int32_t>(axis);
            return is_axis;
        });
    }

    template <class ReadItem>
    Status read_list(const char *what, int32_t *out_count, const ReadItem &read_item) {
        const char *expected = what;
        *out_count = 0;
        const bool is_read = json_.accept("[") && json_.read_items("]", [&] {
            const bool has_room = *out_count < VIA_MAX_NDIM - 1;
            expected = has_room ? what : "no more than 63 axes";
            return has_room && read_item((*out_count)++);
        });
        return is_read ? VIA_OK : json_.refuse(expected);
    }

    // Checks that the permutation has each axis once.
    bool permutes_axes() const {
        uint64_t seen = 0;
        for (int32_t i = 0; i < permuted_; ++i) {
            seen |= uint64_t{1} << axes_->permutation[i];
        }
        return permuted_ == axes_->ndim && seen == (uint64_t{1} << axes_->ndim) - 1;
    }

    JsonScanner json_;
    TensorAxes *const axes_;
    int32_t keys_ = 0;  // found so far
    int32_t names_ = 0;
    int32_t permuted_ = 0;
};

Status read_tensor_json(std::string_view text, TensorAxes *out_axes) {
    if (text.size() > kMostTensorJson) {
        return fail(VIA_ERROR_EXCHANGE, "the metadata of %s is %zu bytes; expected at most %zu bytes", kTensorExtension,
                    text.size(), kMostTensorJson);
    }
    for (int32_t i = 0; i < VIA_MAX_NDIM; ++i) {
        out_axes->permutation[i] = i;
    }
    return TensorReader(text, out_axes).read();
}

}  // namespace

bool arrow_format(int32_t dtype, char *format) {
    if (dtype_is_record(dtype)) {
        std::snprintf(format, kArrowFormatCapacity, "w:%lld", -as_printed(dtype));
        return true;
    }
    const auto *known = std::ranges::find(kFormats, dtype, &Format::dtype);
    const bool is_known = known != std::end(kFormats);
    format[0] = is_known ? known->letter : '\0';
    format[1] = '\0';
    return is_known;
}

int32_t dtype_of_arrow_format(const char *format) {
    if (std::strncmp(format, "w:", 2) == 0) {
        const int64_t bytes = parse_size(format + 2);
        return bytes >= 1 && bytes <= kMaxRecordBytes ? static_cast<int32_t>(-bytes) : 0;
    }
    const auto *known = std::ranges::find(kFormats, format[0], &Format::letter);
    return known != std::end(kFormats) && format[1] == '\0' ? known->dtype : 0;
}

int64_t arrow_list_size(const char *format) {
    const int64_t size = std::strncmp(format, "+w:", 3) == 0 ? parse_size(format + 3) : -1;
    return size <= INT32_MAX ? size : -1;
}

void encode_tensor_metadata(int32_t ndim, const int64_t *shape, char *metadata) {
    char json[kTensorMetadataCapacity - 128];
    TextBuffer text(json, sizeof json);
    text.add("{\"shape\":[");
    for (int32_t i = 0; i < ndim; ++i) {
        text.add("%s%lld", i > 0 ? "," : "", as_printed(shape[i]));
    }
    text.add("]}");
    char *at = put_number(metadata, 2);
    at = put_text(put_text(at, kNameKey), kTensorExtension);
    put_text(put_text(at, kMetadataKey), json);
}

Status read_tensor_metadata(const char *metadata, bool *out_is_tensor, TensorAxes *out_axes) {
    *out_is_tensor = false;
    std::string_view json;
    const int32_t pairs = metadata != nullptr ? take_number(&metadata) : 0;
    for (int32_t i = 0; i < pairs; ++i) {
        const std::string_view key = take_text(&metadata);
        const std::string_view value = take_text(&metadata);
        *out_is_tensor |= key == kNameKey && value == kTensorExtension;
        json = key == kMetadataKey ? value : json;
    }
    return *out_is_tensor ? read_tensor_json(json, out_axes) : VIA_OK;
}

}  // namespace via
