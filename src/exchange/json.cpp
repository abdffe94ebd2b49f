#include "exchange/json.hpp"

#include <set>

#include "core/base/utf8.hpp"

namespace via {
namespace {

constexpr int32_t kMostDepth = 32;

bool is_surrogate(uint32_t unit, uint32_t first) { return unit >= first && unit < first + 0x400; }

void append_utf8(uint32_t point, std::string *out) {
    const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        put(point);
        return;
    }
    if (point < 0x800) {
        put(0xC0 | point >> 6);
    } else if (point < 0x10000) {
        put(0xE0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3F));
    } else {
        put(0xF0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3F));
        put(0x80 | (point >> 6 & 0x3F));
    }
    put(0x80 | (point & 0x3F));
}

}  // namespace

// Reads the four digits of \uXXXX.
bool JsonScanner::read_unit(uint32_t *out_unit) {
    const bool found = hexadecimal_prefix(text_.substr(at_), 4, out_unit);
    at_ += found ? 4 : 0;
    return found;
}

// Reads an escape after its backslash.
bool JsonScanner::read_escape(std::string *out_string) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = next();
    const size_t known = letter != '\0' ? kLetters.find(letter) : kLetters.npos;
    if (known != kLetters.npos) {
        at_++;
        out_string->push_back(kMeanings[known]);
        return true;
    }
    at_ += letter == 'u' ? 1 : 0;
    uint32_t unit = 0;
    if (letter != 'u' || !read_unit(&unit) || is_surrogate(unit, 0xDC00)) {
        return false;
    }
    if (is_surrogate(unit, 0xD800)) {
        uint32_t low = 0;
        if (!text_.substr(at_).starts_with("\\u")) {
            return false;
        }
        at_ += 2;
        if (!read_unit(&low) || !is_surrogate(low, 0xDC00)) {
            return false;
        }
        unit = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00));
    }
    append_utf8(unit, out_string);
    return true;
}

bool JsonScanner::read_string(std::string *out_string) {
    out_string->clear();
    if (!accept("\"")) {
        return false;
    }
    const size_t start = at_;
    while (at_ < text_.size() && next() != '"') {
        if (static_cast<unsigned char>(next()) < ' ') {
            return false;
        }
        if (next() == '\\') {
            at_++;
            if (!read_escape(out_string)) {
                return false;
            }
        } else {
            out_string->push_back(text_[at_++]);
        }
    }
    const std::string_view written = text_.substr(start, at_ - start);
    if (at_ == text_.size() || utf8_prefix(written) != written.size()) {
        return false;
    }
    at_++;
    return true;
}

bool JsonScanner::skip_digits() {
    const size_t start = at_;
    while (is_digit(next())) {
        at_++;
    }
    return at_ > start;
}

bool JsonScanner::skip_number() {
    at_ += next() == '-' ? 1 : 0;
    const bool is_zero = next() == '0';
    const size_t start = at_;
    if (!skip_digits() || (is_zero && at_ > start + 1)) {
        return false;
    }
    if (next() == '.') {
        at_++;
        if (!skip_digits()) {
            return false;
        }
    }
    if (next() != 'e' && next() != 'E') {
        return true;
    }
    at_++;
    at_ += next() == '+' || next() == '-' ? 1 : 0;
    return skip_digits();
}

// Skips the members of a list or an object after its opening bracket.
bool JsonScanner::skip_members(std::string_view close, int32_t depth, Names names) {
    std::set<std::string> found;
    std::string name;
    const auto read_name = [&] {
        return read_string(&name) && accept(":") && (names == Names::Any || found.insert(name).second);
    };
    return read_items(close, [&] { return (close != "}" || read_name()) && skip_value(depth + 1, names); });
}

bool JsonScanner::skip_value(int32_t depth, Names names) {
    const std::string_view close = accept("[") ? "]" : accept("{") ? "}" : "";
    if (!close.empty()) {
        return depth < kMostDepth && skip_members(close, depth, names);
    }
    std::string text;
    if (rest().starts_with('"')) {
        return read_string(&text);
    }
    return accept("true") || accept("false") || accept("null") || skip_number();
}

void append_json(std::string_view text, std::string *out) {
    constexpr char kDigits[] = "0123456789abcdef";
    *out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            (*out += '\\') += c;
        } else if (byte < ' ') {
            ((*out += "\\u00") += kDigits[byte >> 4]) += kDigits[byte & 15];
        } else {
            *out += c;
        }
    }
    *out += '"';
}

}  // namespace via
