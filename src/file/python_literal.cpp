#include "file/python_literal.hpp"

#include <algorithm>
#include <cstdio>

#include "core/base/checked.hpp"

namespace via {
namespace {

constexpr size_t kShown = 24;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int32_t hexadecimal(char c) {
    const bool is_letter = c >= 'a' && c <= 'f';
    return c >= '0' && c <= '9' ? c - '0' : is_letter ? c - 'a' + 10 : -1;
}

// Parses `digits` lower-case hexadecimal digits at the start of the text; -1 if there are fewer.
int64_t code_point(std::string_view text, size_t digits) {
    int64_t value = text.size() < digits ? -1 : 0;
    for (size_t i = 0; i < digits && value >= 0; ++i) {
        const int32_t digit = hexadecimal(text[i]);
        value = digit < 0 ? -1 : value * 16 + digit;
    }
    return value;
}

// Counts the characters of an escape after its backslash; 0 if repr() would not write it.
size_t escape_length(std::string_view rest) {
    const char kind = rest.empty() ? '\0' : rest[0];
    if (kind == 'n' || kind == 'r' || kind == 't') {
        return 1;
    }
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    const int64_t point = digits > 0 ? code_point(rest.substr(1), digits) : -1;
    const bool is_printable = point >= ' ' && point <= '~';
    return point < 0 || point > 0x10FFFF || is_printable ? 0 : digits + 1;
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

}  // namespace

void PythonLiteralScanner::skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
        at_++;
    }
}

Status PythonLiteralScanner::refuse(const char *expected) const {
    const size_t shown = std::min(text_.size() - at_, kShown);
    if (shown == 0) {
        return fail(VIA_ERROR_FORMAT, "the .npy header is %zu bytes; expected %s after them", at_, expected);
    }
    return fail(VIA_ERROR_FORMAT, "the .npy header is `%.*s` at byte %zu; expected %s", static_cast<int>(shown),
                text_.data() + at_, at_, expected);
}

bool PythonLiteralScanner::accept(char c) {
    skip_spaces();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
}

Status PythonLiteralScanner::expect(char c) {
    if (accept(c)) {
        return VIA_OK;
    }
    const char wanted[] = {'\'', c, '\'', '\0'};
    return refuse(wanted);
}

Status PythonLiteralScanner::expect_end() {
    skip_spaces();
    return at_ == text_.size() ? VIA_OK : refuse("nothing more");
}

Status PythonLiteralScanner::read_string(std::string_view *out_string) {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
        return refuse("a string in quotes");
    }
    const char quote = text_[at_];
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n' && text_[end] != '\r') {
        end += text_[end] == '\\' ? 2 : 1;
    }
    if (end >= text_.size() || text_[end] != quote) {
        return refuse("a string with a closing quote");
    }
    *out_string = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return VIA_OK;
}

Status PythonLiteralScanner::read_text(std::string *out_text) {
    skip_spaces();
    const size_t start = at_;
    std::string_view text;
    VIA_TRY(read_string(&text));
    out_text->clear();
    if (resolve_escapes(text, out_text)) {
        return VIA_OK;
    }
    at_ = start;
    return refuse("no escape that Python would not write");
}

bool PythonLiteralScanner::accept_word(std::string_view word) {
    const bool found = text_.substr(at_).starts_with(word);
    at_ += found ? word.size() : 0;
    return found;
}

Status PythonLiteralScanner::read_bool(bool *out_value) {
    skip_spaces();
    *out_value = accept_word("True");
    return *out_value || accept_word("False") ? VIA_OK : refuse("True or False");
}

Status PythonLiteralScanner::read_count(int64_t *out_value) {
    skip_spaces();
    const size_t start = at_;
    int64_t value = 0;
    while (is_digit()) {
        if (!multiply(value, 10, &value) || !add(value, text_[at_] - '0', &value)) {
            at_ = start;
            return refuse("a number below 2^63");
        }
        at_++;
    }
    if (at_ == start || (text_[start] == '0' && at_ > start + 1)) {
        at_ = start;
        return refuse("a whole number of 0 or more");
    }
    (void)accept_word("L");
    *out_value = value;
    return VIA_OK;
}

}  // namespace via
