#include "exchange/arrow_format.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

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

// A whole decimal number that is all there is; -1 for anything else.
int64_t parse_size(const char *text) {
    char *end = nullptr;
    const long long value = *text >= '0' && *text <= '9' ? std::strtoll(text, &end, 10) : -1;
    return end != nullptr && *end == '\0' ? value : -1;
}

// Metadata is a count of pairs, each a key and a value, each of those a length and its bytes; all int32 in the
// machine's byte order.
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

// The extents in {"shape":[2,3],...}. The extension's metadata is JSON with flat lists only, so the list ends at the
// first bracket.
int32_t parse_shape(std::string_view json, int64_t *shape) {
    const size_t key = json.find("\"shape\"");
    const size_t open = key == std::string_view::npos ? key : json.find('[', key);
    if (open == std::string_view::npos) {
        return -1;
    }
    int32_t ndim = 0;
    int64_t extent = -1;
    for (const char letter : json.substr(open + 1)) {
        if (letter >= '0' && letter <= '9') {
            extent = (extent < 0 ? 0 : extent) * 10 + (letter - '0');
            if (extent > INT32_MAX) {
                return -1;
            }
        } else if (letter == ',' || letter == ']') {
            if (extent >= 0 && ndim < VIA_MAX_NDIM) {
                shape[ndim++] = extent;
            } else if (extent >= 0 || letter == ',') {
                return -1;
            }
            extent = -1;
            if (letter == ']') {
                return ndim;
            }
        } else if (letter != ' ') {
            return -1;
        }
    }
    return -1;
}

}  // namespace

bool arrow_format(int32_t dtype, char *format) {
    if (dtype_is_record(dtype)) {
        std::snprintf(format, kArrowFormatCapacity, "w:%lld", -static_cast<long long>(dtype));
        return true;
    }
    for (const Format &known : kFormats) {
        if (known.dtype == dtype) {
            format[0] = known.letter;
            format[1] = '\0';
            return true;
        }
    }
    return false;
}

int32_t dtype_of_arrow_format(const char *format) {
    if (std::strncmp(format, "w:", 2) == 0) {
        const int64_t bytes = parse_size(format + 2);
        return bytes >= 1 && bytes <= kMaxRecordBytes ? static_cast<int32_t>(-bytes) : 0;
    }
    for (const Format &known : kFormats) {
        if (format[0] == known.letter && format[1] == '\0') {
            return known.dtype;
        }
    }
    return 0;
}

int64_t arrow_list_size(const char *format) {
    const int64_t size = std::strncmp(format, "+w:", 3) == 0 ? parse_size(format + 3) : -1;
    return size <= INT32_MAX ? size : -1;
}

void encode_tensor_metadata(int32_t ndim, const int64_t *shape, char *metadata) {
    char json[kTensorMetadataCapacity - 128];
    int length = std::snprintf(json, sizeof json, "{\"shape\":[");
    for (int32_t i = 0; i < ndim; ++i) {
        length += std::snprintf(json + length, sizeof json - static_cast<size_t>(length), "%s%lld", i > 0 ? "," : "",
                                static_cast<long long>(shape[i]));
    }
    std::snprintf(json + length, sizeof json - static_cast<size_t>(length), "]}");
    char *at = put_number(metadata, 2);
    at = put_text(put_text(at, kNameKey), kTensorExtension);
    put_text(put_text(at, kMetadataKey), json);
}

int32_t tensor_shape_of(const char *metadata, int64_t *shape) {
    if (metadata == nullptr) {
        return -1;
    }
    bool is_tensor = false;
    int32_t ndim = -1;
    const int32_t pairs = take_number(&metadata);
    for (int32_t i = 0; i < pairs; ++i) {
        const std::string_view key = take_text(&metadata);
        const std::string_view value = take_text(&metadata);
        is_tensor |= key == kNameKey && value == kTensorExtension;
        ndim = key == kMetadataKey ? parse_shape(value, shape) : ndim;
    }
    return is_tensor ? ndim : -1;
}

}  // namespace via
