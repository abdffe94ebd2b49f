#include "exchange/json.hpp"

#include "core/base/checked.hpp"
#include "core/base/utf8.hpp"

namespace via {
namespace {

constexpr int32_t kMostDepth = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

void JsonScanner::skip_spaces() {
    while (next() == ' ' || next() == '\t' || next() == '\n' || next() == '\r') {
        at_++;
    }
}

std::string_view JsonScanner::rest() {
    skip_spaces();
    return text_.substr(at_);
}

bool JsonScanner::is_at_end() { return rest().empty(); }

bool JsonScanner::accept(char c) {
    const bool found = rest().starts_with(c);
    at_ += found ? 1 : 0;
    return found;
}

bool JsonScanner::accept_word(std::string_view word) {
    const bool found = rest().starts_with(word);
    at_ += found ? word.size() : 0;
    return found;
}

bool JsonScanner::accept_null() { return accept_word("null"); }

bool JsonScanner::read_count(int64_t *out_count) {
    skip_spaces();
    const size_t start = at_;
    int64_t value = 0;
    bool fits = true;
    while (fits && is_digit(next())) {
        fits = multiply(value, 10, &value) && add(value, next() - '0', &value);
        at_++;
    }
    const bool has_fraction = next() == '.' || next() == 'e' || next() == 'E';
    if (!fits || at_ == start || has_fraction || (text_[start] == '0' && at_ > start + 1)) {
        at_ = start;
        return false;
    }
    *out_count = value;
    return true;
}

// Reads the four digits of \uXXXX.
bool JsonScanner::read_unit(uint32_t *out_unit) {
    *out_unit = 0;
    for (int32_t i = 0; i < 4; ++i) {
        const char c = next();
        const char lower = static_cast<char>(c | 0x20);
        const bool is_letter = lower >= 'a' && lower <= 'f';
        if (!is_digit(c) && !is_letter) {
            return false;
        }
        *out_unit = *out_unit << 4 | static_cast<uint32_t>(is_letter ? lower - 'a' + 10 : c - '0');
        at_++;
    }
    return true;
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
    uint32_t unit = 0;
    if (!accept_word("u") || !read_unit(&unit) || is_surrogate(unit, 0xDC00)) {
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
    if (!accept('"')) {
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
bool JsonScanner::skip_members(char close, int32_t depth) {
    if (accept(close)) {
        return true;
    }
    std::string name;
    do {
        if (close == '}' && !(read_string(&name) && accept(':'))) {
            return false;
        }
        if (!skip_value(depth + 1)) {
            return false;
        }
    } while (accept(','));
    return accept(close);
}

bool JsonScanner::skip_value(int32_t depth) {
    if (accept('[')) {
        return depth < kMostDepth && skip_members(']', depth);
    }
    if (accept('{')) {
        return depth < kMostDepth && skip_members('}', depth);
    }
    std::string text;
    if (rest().starts_with('"')) {
        return read_string(&text);
    }
    return accept_word("true") || accept_word("false") || accept_word("null") || skip_number();
}

bool JsonScanner::skip_value() { return skip_value(0); }

}  // namespace via
