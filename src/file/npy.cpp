#include "file/npy.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/little_endian.hpp"
#include "core/base/rounding.hpp"
#include "core/base/text_buffer.hpp"
#include "core/base/utf8.hpp"
#include "core/layout/dtype.hpp"
#include "file/npy_descr.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr int64_t kAligned = 64;

int64_t number_at(std::string_view bytes, size_t at, size_t count) {
    return static_cast<int64_t>(little_endian(bytes.substr(at, count)));
}

Status cut_short(int64_t nbytes, const char *what) {
    return fail(VIA_ERROR_FORMAT,
                "the file is %lld bytes long and ends inside the .npy header's %s; expected a whole header",
                as_printed(nbytes), what);
}

enum Key { kDescr = 1, kFortranOrder = 2, kShape = 4, kAllKeys = 7 };

int32_t key_of(std::string_view name) {
    return name == "descr" ? kDescr : name == "fortran_order" ? kFortranOrder : name == "shape" ? kShape : 0;
}

Status read_value(PythonLiteralScanner *scanner, int32_t key, NpyHeader *header) {
    switch (key) {
        case kDescr:
            return read_descr(scanner, &header->dtype, &header->swapped);
        case kFortranOrder:
            return scanner->read_bool(&header->column_major);
        default:
            return read_shape(scanner, VIA_MAX_NDIM, &header->ndim, header->shape);
    }
}

Status read_entry(PythonLiteralScanner *scanner, int32_t *keys, NpyHeader *header) {
    std::string_view name;
    VIA_TRY(scanner->read_string(&name));
    const int32_t key = key_of(name);
    if (key == 0 || (*keys & key) != 0) {
        return scanner->refuse("'descr', 'fortran_order' and 'shape' as the keys before it, each once");
    }
    *keys |= key;
    VIA_TRY(scanner->expect(":"));
    return read_value(scanner, key, header);
}

Status read_entries(PythonLiteralScanner *scanner, NpyHeader *header) {
    int32_t keys = 0;
    VIA_TRY(scanner->expect("{"));
    while (!scanner->accept("}")) {
        VIA_TRY(read_entry(scanner, &keys, header));
        if (!scanner->accept(",")) {
            VIA_TRY(scanner->expect("}"));
            break;
        }
    }
    return keys == kAllKeys ? VIA_OK : scanner->refuse("'descr', 'fortran_order' and 'shape' before it");
}

Status check_characters(std::string_view text, bool is_utf8) {
    const size_t sound = is_utf8 ? utf8_prefix(text) : text.size();
    const size_t end = std::min(sound, text.find('\0'));
    return end == text.size() ? VIA_OK
                              : fail(VIA_ERROR_FORMAT, "the .npy header has byte 0x%02x at byte %zu; expected %s",
                                     static_cast<unsigned>(static_cast<unsigned char>(text[end])), end,
                                     end < sound ? "text without a NUL" : "UTF-8, as version 3.0 has it");
}

int64_t write_text(const NpyHeader &header, const char *typestr, char *out, int64_t capacity) {
    TextBuffer text(out, capacity);
    text.add("{'descr': '%s', 'fortran_order': %s, 'shape': (", typestr, header.column_major ? "True" : "False");
    for (int32_t i = 0; i < header.ndim; ++i) {
        text.add(i > 0 ? ", %lld" : "%lld", as_printed(header.shape[i]));
    }
    text.add(header.ndim == 1 ? ",), }" : "), }");
    return text.length();
}

}  // namespace

bool is_npy(std::string_view start) { return start.starts_with(std::string_view(kMagic, kNpyMagicBytes)); }

Status parse_npy_preamble(std::string_view start, NpyPreamble *out_preamble) {
    if (!is_npy(start)) {
        return fail(VIA_ERROR_FORMAT, "the file begins with other bytes; expected the magic of a .npy file");
    }
    const auto length = static_cast<int64_t>(start.size());
    if (length < kNpyMagicBytes + 2) {
        return cut_short(length, "version");
    }
    const int64_t major = number_at(start, kNpyMagicBytes, 1);
    const int64_t minor = number_at(start, kNpyMagicBytes + 1, 1);
    if (major < 1 || major > 3 || minor != 0) {
        return fail(VIA_ERROR_VERSION, "the .npy version is %lld.%lld; expected 1.0, 2.0 or 3.0", as_printed(major),
                    as_printed(minor));
    }
    const int64_t width = major == 1 ? 2 : 4;
    out_preamble->text_offset = kNpyMagicBytes + 2 + width;
    out_preamble->is_utf8 = major == 3;
    if (length < out_preamble->text_offset) {
        return cut_short(length, "length");
    }
    out_preamble->text_bytes = number_at(start, kNpyMagicBytes + 2, static_cast<size_t>(width));
    return out_preamble->text_bytes <= kNpyMostText
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT, "the .npy header is %lld bytes; expected at most %lld bytes",
                      as_printed(out_preamble->text_bytes), as_printed(kNpyMostText));
}

Status parse_npy_text(std::string_view text, bool is_utf8, NpyHeader *out_header) {
    VIA_TRY(check_characters(text, is_utf8));
    PythonLiteralScanner scanner(text);
    VIA_TRY(read_entries(&scanner, out_header));
    VIA_TRY(scanner.expect_end("nothing more"));
    int64_t size = 0;
    return check_shape(out_header->dtype, out_header->ndim, out_header->shape, 0, &size);
}

Status read_npy(OpenFile *open, int64_t begin, int64_t end, NpyHeader *out_header) {
    char start[kNpyMostPreamble];
    const int64_t length = std::min(end - begin, kNpyMostPreamble);
    NpyPreamble preamble{};
    VIA_TRY(read_all(open, start, begin, length));
    VIA_TRY(parse_npy_preamble({start, static_cast<size_t>(length)}, &preamble));
    const int64_t text_begin = begin + preamble.text_offset;
    if (preamble.text_bytes > end - text_begin) {
        return fail(VIA_ERROR_FORMAT, "the file ends after %lld bytes of its .npy header; expected %lld bytes",
                    as_printed(end - text_begin), as_printed(preamble.text_bytes));
    }
    std::string text(static_cast<size_t>(preamble.text_bytes), '\0');
    VIA_TRY(read_all(open, text.data(), text_begin, preamble.text_bytes));
    VIA_TRY(parse_npy_text(text, preamble.is_utf8, out_header));
    out_header->data_offset = text_begin + preamble.text_bytes;
    return VIA_OK;
}

Status write_npy(NpyHeader *header, char (&out_bytes)[kNpyMostWritten]) {
    char typestr[kTypestrCapacity];
    if (!typestr_of(header->dtype, typestr)) {
        return fail(VIA_ERROR_DTYPE, "dtype is %s, which a .npy file cannot name; expected a NumPy type, or a record",
                    DtypeName(header->dtype).text);
    }
    constexpr int64_t kPreamble = kNpyMagicBytes + 4;
    std::memset(out_bytes, ' ', sizeof out_bytes);
    const int64_t length = write_text(*header, typestr, out_bytes + kPreamble, kNpyMostWritten - kPreamble);
    header->data_offset = round_up(kPreamble + length + 1, kAligned);
    const int64_t text_bytes = header->data_offset - kPreamble;
    std::memcpy(out_bytes, kMagic, kNpyMagicBytes);
    const char rest[] = {1, 0, static_cast<char>(text_bytes & 0xFF), static_cast<char>(text_bytes >> 8)};
    std::memcpy(out_bytes + kNpyMagicBytes, rest, sizeof rest);
    out_bytes[kPreamble + length] = ' ';  // overwrites the terminating 0
    out_bytes[header->data_offset - 1] = '\n';
    return VIA_OK;
}

}  // namespace via
