#include "file/npy_descr.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/layout/dtype.hpp"

namespace via {
namespace {

// Counts the characters of an escape after its backslash; 0 if repr() would not write it.
size_t escape_length(std::string_view rest) {
    const char kind = rest.empty() ? '\0' : rest[0];
    if (kind == 'n' || kind == 'r' || kind == 't') {
        return 1;
    }
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    const std::string_view number = rest.substr(std::min<size_t>(rest.size(), 1), digits);
    uint32_t point = 0;
    const bool is_point = digits > 0 && hexadecimal_prefix(number, digits, &point) && point <= 0x10FFFF &&
                          number.find_first_of("ABCDEF") == number.npos;
    const bool is_printable = point >= ' ' && point <= '~';
    return is_point && !is_printable ? digits + 1 : 0;
}

// Returns false at an escape that repr() would not write.
bool resolve_escapes(std::string_view text, std::string *out_text) {
    for (size_t at = 0; at < text.size(); ++at) {
        const bool is_escape = text[at] == '\\';
        const std::string_view rest = text.substr(at + (is_escape ? 1 : 0));
        if (is_escape && (rest.starts_with('\\') || rest.starts_with('\'') || rest.starts_with('"'))) {
            at++;
        } else if (is_escape && escape_length(rest) == 0) {
            return false;
        }
        out_text->push_back(text[at]);
    }
    return true;
}

// Limits nested records, far below the depth that a stack allows.
constexpr int32_t kMostDepth = 32;

Status read_record(PythonLiteralScanner *scanner, int32_t depth, int64_t *out_bytes);

Status unsupported_type(std::string_view typestr, const char *expected) {
    const std::string_view shown = typestr.substr(0, 63);
    return fail(VIA_ERROR_DTYPE, "descr is '%.*s' in the .npy header; expected %s", static_cast<int>(shown.size()),
                shown.data(), expected);
}

// Returns the expected types for NumPy kinds that are not supported; nullptr for other kinds.
const char *why_refused(char kind) {
    switch (kind) {
        case 'O':
            return "numbers or records: these are Python objects, pickled";
        case 'S':
        case 'a':
        case 'U':
            return "numbers or records: read text as the raw bytes that it is";
        case 'M':
        case 'm':
            return "numbers or records: read times as raw int64";
        default:
            return nullptr;
    }
}

struct FieldKind {
    char letter;
    int64_t sizes[4];  // in bytes, for NumPy on a 64-bit machine; none: any number of units
    int32_t unit = 1;
};

constexpr FieldKind kFieldKinds[] = {
    {'b', {1}}, {'i', {1, 2, 4, 8}}, {'u', {1, 2, 4, 8}}, {'f', {2, 4, 8, 16}}, {'c', {8, 16, 32}}, {'M', {8}},
    {'m', {8}}, {'S', {}},           {'V', {}},           {'U', {}, 4},
};

const FieldKind *kind_of(char letter) {
    const auto *found = std::ranges::find(kFieldKinds, letter, &FieldKind::letter);
    return found != std::end(kFieldKinds) ? found : nullptr;
}

bool is_time(const FieldKind &kind) { return kind.letter == 'M' || kind.letter == 'm'; }

// Accepts "[ns]", "[25us]", or nothing.
bool is_time_unit(std::string_view text) {
    constexpr std::string_view kUnits[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                           "ms", "us", "ns", "ps", "fs", "as", "generic"};
    if (text.empty()) {
        return true;
    }
    if (text.size() < 3 || text.front() != '[' || text.back() != ']') {
        return false;
    }
    int64_t count = 0;
    const size_t digits = count_prefix(text.substr(1), &count);
    const std::string_view unit = text.substr(1 + digits, text.size() - 2 - digits);
    return std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
}

bool has_size(const FieldKind &kind, int64_t number) {
    const bool is_listed = number > 0 && std::ranges::find(kind.sizes, number) != std::end(kind.sizes);
    return kind.sizes[0] == 0 || is_listed;
}

// Accepts either byte order, since a record is opaque bytes, and '|' for kinds without one.
bool has_byte_order(const FieldKind &kind, int64_t number, char order) {
    const bool needs_none = kind.letter == 'S' || kind.letter == 'V' || (number == 1 && kind.unit == 1);
    return order == '<' || order == '>' || (order == '|' && needs_none);
}

// Reads "<f4", and "<M8[ns]" with a unit.
Status read_size(std::string_view typestr, int64_t *out_bytes) {
    const FieldKind *kind = typestr.size() > 2 && std::string_view("<>|").find(typestr[0]) != std::string_view::npos
                                ? kind_of(typestr[1])
                                : nullptr;
    int64_t number = 0;
    const size_t digits = kind != nullptr ? count_prefix(typestr.substr(2), &number) : 0;
    const std::string_view rest = typestr.substr(std::min(typestr.size(), 2 + digits));
    if (digits == 0 || (!is_time(*kind) && !rest.empty())) {
        return unsupported_type(typestr, "fields of NumPy's types, such as '<f4', and no Python objects");
    }
    if (!has_size(*kind, number)) {
        return unsupported_type(typestr, "a size of this kind");
    }
    if (!has_byte_order(*kind, number, typestr[0])) {
        return unsupported_type(typestr, "a byte order, '<' or '>'");
    }
    if (!is_time_unit(rest)) {
        return unsupported_type(typestr, "a unit of time, such as '[ns]'");
    }
    *out_bytes = std::min(number, kMaxRecordBytes + 1) * kind->unit;
    return VIA_OK;
}

// Names and titles of the fields of one record.
class FieldNames {
public:
    VIA_NODISCARD Status read(PythonLiteralScanner *scanner) {
        std::string name;
        VIA_TRY(scanner->read_text(&name));
        may_be_padding_ = name.empty();
        names_.push_back(std::move(name));
        return VIA_OK;
    }

    VIA_NODISCARD Status read_titled(PythonLiteralScanner *scanner) {
        VIA_TRY(read(scanner));
        VIA_TRY(scanner->expect(","));
        VIA_TRY(read(scanner));
        may_be_padding_ = false;
        return scanner->expect(")");
    }

    // Forgets the name of padding: void bytes without a name, which may occur any number of times.
    void leave_out_padding(std::string_view typestr) {
        if (may_be_padding_ && typestr.size() > 1 && typestr[1] == 'V') {
            names_.pop_back();
        }
    }

    // Sorts the names first, since a header may have tens of thousands.
    VIA_NODISCARD Status check_once() {
        std::sort(names_.begin(), names_.end());
        const auto twice = std::adjacent_find(names_.begin(), names_.end());
        return twice == names_.end()
                   ? VIA_OK
                   : fail(VIA_ERROR_FORMAT,
                          "the field name '%.63s' occurs twice in the .npy header; expected each name once",
                          twice->c_str());
    }

private:
    std::vector<std::string> names_;
    bool may_be_padding_ = false;  // the field whose name came last
};

Status check_size(int64_t bytes) {
    return bytes <= kMaxRecordBytes
               ? VIA_OK
               : fail(VIA_ERROR_DTYPE, "the record in the .npy header is too large; expected at most %lld bytes",
                      as_printed(kMaxRecordBytes));
}

Status read_field_type(PythonLiteralScanner *scanner, int32_t depth, int64_t *out_bytes, FieldNames *names) {
    if (scanner->accept("[")) {
        return read_record(scanner, depth + 1, out_bytes);
    }
    std::string_view typestr;
    VIA_TRY(scanner->read_string(&typestr));
    names->leave_out_padding(typestr);
    return read_size(typestr, out_bytes);
}

// Reads the extents of a field that is an array. Cannot overflow: the bytes are below 2^32 before each product.
Status read_field_shape(PythonLiteralScanner *scanner, int64_t *bytes) {
    int32_t ndim = 0;
    int64_t shape[VIA_MAX_NDIM];
    VIA_TRY(read_shape(scanner, VIA_MAX_NDIM, &ndim, shape));
    for (int32_t i = 0; i < ndim; ++i) {
        VIA_TRY(check_size(std::min(shape[i], kMaxRecordBytes + 1)));
        *bytes *= shape[i];
        VIA_TRY(check_size(*bytes));
    }
    return VIA_OK;
}

Status read_field(PythonLiteralScanner *scanner, int32_t depth, int64_t *out_bytes, FieldNames *names) {
    VIA_TRY(scanner->expect("("));
    VIA_TRY(scanner->accept("(") ? names->read_titled(scanner) : names->read(scanner));
    VIA_TRY(scanner->expect(","));
    VIA_TRY(read_field_type(scanner, depth, out_bytes, names));
    VIA_TRY(check_size(*out_bytes));
    if (!scanner->accept(",")) {
        return scanner->expect(")");
    }
    if (scanner->accept(")")) {
        return VIA_OK;
    }
    VIA_TRY(read_field_shape(scanner, out_bytes));
    (void)scanner->accept(",");
    return scanner->expect(")");
}

// Reads a record after its opening bracket.
Status read_record(PythonLiteralScanner *scanner, int32_t depth, int64_t *out_bytes) {
    if (depth > kMostDepth) {
        return scanner->refuse("records that are not nested so deeply");
    }
    FieldNames names;
    *out_bytes = 0;
    while (!scanner->accept("]")) {
        int64_t field = 0;
        VIA_TRY(read_field(scanner, depth, &field, &names));
        *out_bytes += field;
        VIA_TRY(check_size(*out_bytes));
        if (!scanner->accept(",")) {
            VIA_TRY(scanner->expect("]"));
            break;
        }
    }
    return names.check_once();
}

// Returns the expected type if the typestr is none. Numbers of several bytes may be in another byte order.
const char *find_type(std::string_view typestr, int32_t *out_dtype, bool *out_swapped) {
    constexpr bool kIsLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    std::string text(typestr);
    *out_swapped = false;
    const char *expected = dtype_of_typestr(text.c_str(), out_dtype);
    if (expected == nullptr || text[0] != (kIsLittle ? '>' : '<')) {
        return expected;
    }
    text[0] = kIsLittle ? '<' : '>';
    *out_swapped = dtype_of_typestr(text.c_str(), out_dtype) == nullptr && dtype_scalar_bits(*out_dtype) > 8;
    return *out_swapped ? nullptr : expected;
}

Status read_typestr(PythonLiteralScanner *scanner, int32_t *out_dtype, bool *out_swapped) {
    std::string_view typestr;
    VIA_TRY(scanner->read_string(&typestr));
    const char *expected = typestr.size() < 2 ? nullptr : why_refused(typestr[1]);
    if (expected == nullptr) {
        expected = typestr.size() < kTypestrCapacity && typestr.find('\0') == std::string_view::npos
                       ? find_type(typestr, out_dtype, out_swapped)
                       : "a type that NumPy writes, such as '<f4'";
    }
    return expected == nullptr ? VIA_OK : unsupported_type(typestr, expected);
}

}  // namespace

Status PythonLiteralScanner::expect(std::string_view token) {
    const char wanted[] = {'\'', token[0], '\'', '\0'};
    return accept(token) ? VIA_OK : refuse(wanted);
}

Status PythonLiteralScanner::read_string(std::string_view *out_string) {
    const std::string_view text = rest();
    if (!text.starts_with('\'') && !text.starts_with('"')) {
        return refuse("a string in quotes");
    }
    size_t end = 1;
    while (end < text.size() && text[end] != text[0] && text[end] != '\n' && text[end] != '\r') {
        end += text[end] == '\\' ? 2 : 1;
    }
    if (end >= text.size() || text[end] != text[0]) {
        return refuse("a string with a closing quote");
    }
    *out_string = text.substr(1, end - 1);
    at_ += end + 1;
    return VIA_OK;
}

Status PythonLiteralScanner::read_text(std::string *out_text) {
    std::string_view text;
    VIA_TRY(read_string(&text));
    out_text->clear();
    if (resolve_escapes(text, out_text)) {
        return VIA_OK;
    }
    at_ -= text.size() + 2;
    return refuse("no escape that Python would not write");
}

Status PythonLiteralScanner::read_bool(bool *out_value) {
    *out_value = accept("True");
    return *out_value || accept("False") ? VIA_OK : refuse("True or False");
}

Status PythonLiteralScanner::read_number(int64_t *out_value) {
    if (!read_count(out_value)) {
        return refuse(next() >= '1' && next() <= '9' ? "a number below 2^63" : "a whole number of 0 or more");
    }
    at_ += next() == 'L' ? 1 : 0;
    return VIA_OK;
}

Status read_descr(PythonLiteralScanner *scanner, int32_t *out_dtype, bool *out_swapped) {
    *out_swapped = false;
    if (!scanner->accept("[")) {
        return read_typestr(scanner, out_dtype, out_swapped);
    }
    int64_t bytes = 0;
    VIA_TRY(read_record(scanner, 0, &bytes));
    if (bytes == 0) {
        return scanner->refuse("a record of at least one byte before it");
    }
    *out_dtype = static_cast<int32_t>(-bytes);
    return VIA_OK;
}

Status read_shape(PythonLiteralScanner *scanner, int32_t most, int32_t *out_ndim, int64_t *out_shape) {
    VIA_TRY(scanner->expect("("));
    *out_ndim = 0;
    while (!scanner->accept(")")) {
        if (*out_ndim == most) {
            return fail(VIA_ERROR_SHAPE, "the shape in the .npy header is too long; expected at most %d extents", most);
        }
        VIA_TRY(scanner->read_number(&out_shape[(*out_ndim)++]));
        // A tuple of one extent needs a comma.
        if (!scanner->accept(",")) {
            return *out_ndim == 1 ? scanner->expect(",") : scanner->expect(")");
        }
    }
    return VIA_OK;
}

}  // namespace via
