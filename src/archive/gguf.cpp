#include "archive/gguf.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "archive/archive_paths.hpp"
#include "archive/header_bytes.hpp"
#include "core/base/checked.hpp"
#include "core/base/rounding.hpp"
#include "core/base/utf8.hpp"
#include "exchange/json.hpp"

namespace via {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr int64_t kChunk = int64_t{1} << 20;
constexpr int64_t kDefaultAlignment = 32;
constexpr std::string_view kAlignmentName = "general.alignment";

// The element types, with the elements and the bytes of a block. Left out are types that no file stores.
constexpr struct TensorType {
    uint32_t number;
    const char *name;
    int32_t dtype;
    int64_t elements;
    int64_t bytes;
} kTypes[] = {
    {0, "F32", VIA_FLOAT32, 1, 4},       {1, "F16", VIA_FLOAT16, 1, 2},       {2, "Q4_0", VIA_UINT8, 32, 18},
    {3, "Q4_1", VIA_UINT8, 32, 20},      {6, "Q5_0", VIA_UINT8, 32, 22},      {7, "Q5_1", VIA_UINT8, 32, 24},
    {8, "Q8_0", VIA_UINT8, 32, 34},      {10, "Q2_K", VIA_UINT8, 256, 84},    {11, "Q3_K", VIA_UINT8, 256, 110},
    {12, "Q4_K", VIA_UINT8, 256, 144},   {13, "Q5_K", VIA_UINT8, 256, 176},   {14, "Q6_K", VIA_UINT8, 256, 210},
    {15, "Q8_K", VIA_UINT8, 256, 292},   {16, "IQ2_XXS", VIA_UINT8, 256, 66}, {17, "IQ2_XS", VIA_UINT8, 256, 74},
    {18, "IQ3_XXS", VIA_UINT8, 256, 98}, {19, "IQ1_S", VIA_UINT8, 256, 50},   {20, "IQ4_NL", VIA_UINT8, 32, 18},
    {21, "IQ3_S", VIA_UINT8, 256, 110},  {22, "IQ2_S", VIA_UINT8, 256, 82},   {23, "IQ4_XS", VIA_UINT8, 256, 136},
    {24, "I8", VIA_INT8, 1, 1},          {25, "I16", VIA_INT16, 1, 2},        {26, "I32", VIA_INT32, 1, 4},
    {27, "I64", VIA_INT64, 1, 8},        {28, "F64", VIA_FLOAT64, 1, 8},      {29, "IQ1_M", VIA_UINT8, 256, 56},
    {30, "BF16", VIA_BFLOAT16, 1, 2},    {34, "TQ1_0", VIA_UINT8, 256, 54},   {35, "TQ2_0", VIA_UINT8, 256, 66},
    {39, "MXFP4", VIA_UINT8, 32, 17},    {40, "NVFP4", VIA_UINT8, 64, 36},    {41, "Q1_0", VIA_UINT8, 128, 18},
};

// The types of metadata.
enum ValueType : uint32_t {
    kUint8,
    kInt8,
    kUint16,
    kInt16,
    kUint32,
    kInt32,
    kFloat32,
    kBool,
    kString,
    kArray,
    kUint64,
    kInt64,
    kFloat64,
};

template <class T>
void append_number(T value, std::string *out) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out->append(digits, end);
}

class GgufReader {
public:
    GgufReader(OpenFile *open, int64_t file_bytes, TensorList *list)
        : bytes_(open, 0, file_bytes, kChunk), file_bytes_(file_bytes), list_(list) {}

    Status read() {
        int64_t tensors = 0;
        int64_t texts = 0;
        VIA_TRY(read_version());
        VIA_TRY(read_count(kLeastTensor, "tensors", &tensors));
        VIA_TRY(read_count(kLeastText, "metadata", &texts));
        for (int64_t i = 0; i < texts; ++i) {
            VIA_TRY(read_text());
        }
        for (int64_t i = 0; i < tensors; ++i) {
            VIA_TRY(read_tensor());
        }
        // Both are small: a header has a limit, and the alignment 32 bits.
        const int64_t data_offset = round_up(bytes_.at(), alignment_);
        if (tensors > 0 && data_offset > file_bytes_) {
            return fail(VIA_ERROR_FORMAT, "the data begin at byte %lld; expected at most %lld, the bytes of the file",
                        as_printed(data_offset), as_printed(file_bytes_));
        }
        return list_->settle_adjacent(data_offset, std::max<int64_t>(file_bytes_ - data_offset, 0), alignment_);
    }

private:
    static constexpr int64_t kLeastTensor = 24;  // bytes of the shortest
    static constexpr int64_t kLeastText = 13;

    Status read_version() {
        std::string_view magic;
        uint32_t version = 0;
        VIA_TRY(bytes_.take(kMagic.size(), &magic));
        VIA_TRY(bytes_.take_number(&version));
        if (version != 0 && (version & 0xFFFF) == 0) {
            return fail(VIA_ERROR_UNSUPPORTED, "the GGUF file is big-endian; expected little-endian");
        }
        return version == 2 || version == 3
                   ? VIA_OK
                   : fail(VIA_ERROR_VERSION, "the GGUF version is %u; expected 2 or 3", version);
    }

    Status read_count(int64_t least_bytes, const char *what, int64_t *out_count) {
        uint64_t count = 0;
        VIA_TRY(bytes_.take_number(&count));
        const int64_t most = bytes_.remaining() / least_bytes;
        *out_count = static_cast<int64_t>(count);
        return std::cmp_less_equal(count, most)
                   ? VIA_OK
                   : fail(VIA_ERROR_FORMAT, "the number of %s is %llu; expected at most %lld in a header of this file",
                          what, static_cast<unsigned long long>(count), as_printed(most));
    }

    // Stores UTF-8, valid until the next read.
    Status read_string(std::string_view *out_string) {
        uint64_t length = 0;
        VIA_TRY(bytes_.take_number(&length));
        VIA_TRY(bytes_.take(length, out_string));
        return utf8_prefix(*out_string) == out_string->size()
                   ? VIA_OK
                   : fail(VIA_ERROR_FORMAT, "the text before byte %lld is other bytes; expected UTF-8",
                          as_printed(bytes_.at()));
    }

    Status read_text() {
        std::string_view key;
        VIA_TRY(read_string(&key));
        const std::string name(key);
        std::string value;
        uint32_t type = 0;
        VIA_TRY(bytes_.take_number(&type));
        const Status status = name == kAlignmentName ? read_alignment(type, &value)
                              : type == kArray       ? append_array(&value)
                                                     : append_value(type, false, &value);
        VIA_TRY(name_part("metadata", name, status));
        return list_->add_text(name, std::move(value));
    }

    Status read_alignment(uint32_t type, std::string *value) {
        uint32_t alignment = 0;
        if (type == kUint32) {
            VIA_TRY(bytes_.take_number(&alignment));
        }
        if (!std::has_single_bit(alignment)) {
            return fail(VIA_ERROR_FORMAT, "the value is %u of type %u; expected a power of two of type uint32",
                        alignment, type);
        }
        alignment_ = alignment;
        append_number(alignment, value);
        return VIA_OK;
    }

    static Status unknown_type(uint32_t type) {
        return fail(VIA_ERROR_FORMAT, "the type is %u; expected one of GGUF's, 0 to 12", type);
    }

    // Arrays are JSON.
    Status append_array(std::string *out) {
        uint32_t type = 0;
        uint64_t count = 0;
        VIA_TRY(bytes_.take_number(&type));
        VIA_TRY(bytes_.take_number(&count));
        if (type == kArray) {
            return fail(VIA_ERROR_FORMAT, "the value is an array of arrays; expected an array of numbers or texts");
        }
        if (type > kFloat64) {
            return unknown_type(type);
        }
        if (std::cmp_greater(count, bytes_.remaining())) {
            return fail(VIA_ERROR_FORMAT, "the array has %llu elements; expected at most %lld, the bytes left",
                        static_cast<unsigned long long>(count), as_printed(bytes_.remaining()));
        }
        *out += '[';
        for (uint64_t i = 0; i < count; ++i) {
            *out += i > 0 ? ", " : "";
            VIA_TRY(append_value(type, true, out));
            if (static_cast<int64_t>(out->size()) > kMostArchiveText) {
                return fail(VIA_ERROR_FORMAT, "the array exceeds %lld bytes as text; expected at most these",
                            as_printed(kMostArchiveText));
            }
        }
        *out += ']';
        return VIA_OK;
    }

    Status append_value(uint32_t type, bool is_json, std::string *out) {
        switch (type) {
            case kUint8:
                return append<uint8_t>(out);
            case kInt8:
                return append<int8_t>(out);
            case kUint16:
                return append<uint16_t>(out);
            case kInt16:
                return append<int16_t>(out);
            case kUint32:
                return append<uint32_t>(out);
            case kInt32:
                return append<int32_t>(out);
            case kUint64:
                return append<uint64_t>(out);
            case kInt64:
                return append<int64_t>(out);
            case kFloat32:
                return append_bits<float, uint32_t>(is_json, out);
            case kFloat64:
                return append_bits<double, uint64_t>(is_json, out);
            case kBool:
                return append_bool(out);
            case kString:
                return append_string(is_json, out);
            default:
                return unknown_type(type);
        }
    }

    template <class T>
    Status append(std::string *out) {
        T value = 0;
        VIA_TRY(bytes_.take_number(&value));
        append_number(value, out);
        return VIA_OK;
    }

    // JSON has no number for what is not finite.
    template <class T, class Bits>
    Status append_bits(bool is_json, std::string *out) {
        Bits bits = 0;
        VIA_TRY(bytes_.take_number(&bits));
        const T value = std::bit_cast<T>(bits);
        const char *quote = is_json && !std::isfinite(value) ? "\"" : "";
        out->append(quote);
        append_number(value, out);
        out->append(quote);
        return VIA_OK;
    }

    Status append_bool(std::string *out) {
        uint8_t value = 0;
        VIA_TRY(bytes_.take_number(&value));
        *out += value != 0 ? "true" : "false";
        return value <= 1 ? VIA_OK : fail(VIA_ERROR_FORMAT, "the value is %u; expected 0 or 1, a bool", value);
    }

    Status append_string(bool is_json, std::string *out) {
        std::string_view text;
        VIA_TRY(read_string(&text));
        if (is_json) {
            append_json(text, out);
        } else {
            out->append(text);
        }
        return VIA_OK;
    }

    Status read_tensor() {
        std::string_view found;
        VIA_TRY(read_string(&found));
        return list_->add(found, [this](ArchiveTensor *tensor) { return finish_tensor(tensor); });
    }

    Status finish_tensor(ArchiveTensor *tensor) {
        uint32_t type = 0;
        uint64_t offset = 0;
        VIA_TRY(read_extents(&tensor->shape));
        VIA_TRY(bytes_.take_number(&type));
        VIA_TRY(bytes_.take_number(&offset));
        VIA_TRY(set_type(type, tensor));
        if (std::cmp_greater(offset, file_bytes_)) {
            return fail(VIA_ERROR_FORMAT, "the offset is %llu; expected at most %lld, the bytes of the file",
                        static_cast<unsigned long long>(offset), as_printed(file_bytes_));
        }
        tensor->offset = static_cast<int64_t>(offset);
        return count_bytes(*tensor, &tensor->nbytes);
    }

    Status read_extents(std::vector<int64_t> *out_shape) {
        uint32_t ndim = 0;
        VIA_TRY(bytes_.take_number(&ndim));
        if (ndim > VIA_MAX_NDIM) {
            return fail(VIA_ERROR_SHAPE, "the number of axes is %u; expected at most %d", ndim, VIA_MAX_NDIM);
        }
        out_shape->resize(ndim);
        for (size_t i = ndim; i-- > 0;) {
            uint64_t extent = 0;
            VIA_TRY(bytes_.take_number(&extent));
            if (!std::in_range<int64_t>(extent)) {
                return fail(VIA_ERROR_SHAPE, "an extent is %llu; expected at most 2^63 - 1",
                            static_cast<unsigned long long>(extent));
            }
            (*out_shape)[i] = static_cast<int64_t>(extent);
        }
        return VIA_OK;
    }

    static Status set_type(uint32_t number, ArchiveTensor *tensor) {
        const auto *type = std::ranges::find(kTypes, number, &TensorType::number);
        if (type == std::end(kTypes)) {
            return fail(VIA_ERROR_DTYPE, "the type is %u; expected one of GGUF's whose blocks have a known size",
                        number);
        }
        tensor->dtype = type->dtype;
        tensor->type_name = std::make_shared<const std::string>(type->name);
        if (type->elements == 1) {
            return VIA_OK;
        }
        const int64_t row = tensor->shape.empty() ? 1 : tensor->shape.back();
        if (row % type->elements != 0) {
            return fail(VIA_ERROR_FORMAT, "a row has %lld elements of %s; expected whole blocks of %lld",
                        as_printed(row), type->name, as_printed(type->elements));
        }
        tensor->block_bytes = type->bytes;
        return multiply(row / type->elements, type->bytes, &tensor->shape.back())
                   ? VIA_OK
                   : fail(VIA_ERROR_OVERFLOW, "a row exceeds 2^63 - 1 bytes; expected fewer");
    }

    HeaderBytes bytes_;
    const int64_t file_bytes_;
    TensorList *const list_;
    int64_t alignment_ = kDefaultAlignment;
};

}  // namespace

bool is_gguf(std::string_view start) { return start.starts_with(kMagic); }

Status read_gguf(OpenFile *open, TensorList *out_list) {
    int64_t file_bytes = 0;
    VIA_TRY(open->size(&file_bytes));
    return GgufReader(open, file_bytes, out_list).read();
}

}  // namespace via
