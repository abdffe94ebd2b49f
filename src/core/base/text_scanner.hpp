// Scans untrusted text forwards. The scanners of JSON and of Python's literals build on it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/base/status.hpp"

namespace via {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads the whole number of 0 or more, without leading zeros, at the start of a text. Returns its length; 0 if there is
// none, or one above 2^63 - 1.
inline size_t count_prefix(std::string_view text, int64_t *out_count) {
    if (text.empty() || !is_digit(text[0]) || (text[0] == '0' && text.size() > 1 && is_digit(text[1]))) {
        return 0;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out_count);
    return error == std::errc{} ? static_cast<size_t>(end - text.data()) : 0;
}

// Reads `digits` hexadecimal digits, at most 8, at the start of a text. Returns false if there are fewer.
inline bool hexadecimal_prefix(std::string_view text, size_t digits, uint32_t *out_number) {
    text = text.substr(0, digits);
    const char *const start = text.data();
    return text.size() == digits && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos &&
           std::from_chars(start, start + digits, *out_number, 16).ec == std::errc{};
}

// Functions skip white space first, and stay in place if something else comes next.
class TextScanner {
public:
    // Failures have this status, and name the text: `what`.
    TextScanner(std::string_view text, const char *what, Status status) : text_(text), what_(what), refusal_(status) {}

    // Fails at the remaining text, and shows its start.
    VIA_NODISCARD Status refuse(const char *expected) const {
        constexpr size_t kShown = 24;
        const std::string_view shown = text_.substr(at_, kShown);
        return shown.empty() ? fail(refusal_, "%s ends at byte %zu; expected %s", what_, at_, expected)
                             : fail(refusal_, "%s is `%.*s` at byte %zu; expected %s", what_,
                                    static_cast<int>(shown.size()), shown.data(), at_, expected);
    }

    // Returns the remaining text.
    std::string_view rest() {
        at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
        return text_.substr(at_);
    }
    VIA_NODISCARD Status expect_end(const char *expected) { return rest().empty() ? VIA_OK : refuse(expected); }

    bool accept(std::string_view token) {
        const bool found = rest().starts_with(token);
        at_ += found ? token.size() : 0;
        return found;
    }

    // Reads a whole number from 0 to 2^63 - 1, without leading zeros.
    bool read_count(int64_t *out_count) {
        const size_t length = count_prefix(rest(), out_count);
        at_ += length;
        return length > 0;
    }

protected:
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    std::string_view text_;
    size_t at_ = 0;

private:
    const char *const what_;
    const Status refusal_;
};

}  // namespace via
