// A strict scanner of the Python literals of an untrusted .npy header. Reads forwards only; errors state what was
// found, and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace via {

class PythonLiteralScanner {
public:
    explicit PythonLiteralScanner(std::string_view text) : text_(text) {}

    // Accepts a character, after skipping white space.
    bool accept(char c);
    VIA_NODISCARD Status expect(char c);
    VIA_NODISCARD Status expect_end();

    // Reads a string without resolving escapes; borrowed from the text.
    VIA_NODISCARD Status read_string(std::string_view *out_string);

    // Reads a string and resolves `\\`, `\'` and `\"`, for comparisons; keeps other escapes. Refuses escapes that
    // Python's repr() does not write, since they would spell one text in two ways.
    VIA_NODISCARD Status read_text(std::string *out_text);
    VIA_NODISCARD Status read_bool(bool *out_value);

    // Reads a whole number of 0 or more. Python 2 wrote an L after large ones.
    VIA_NODISCARD Status read_count(int64_t *out_value);

    VIA_NODISCARD Status refuse(const char *expected) const;

private:
    void skip_spaces();
    bool accept_word(std::string_view word);
    bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace via
