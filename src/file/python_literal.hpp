// Reads the few Python literals that a .npy header is made of, from a text that nobody vouches for: forwards only, and
// every refusal says what was found, and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace via {

class PythonLiteralScanner {
public:
    explicit PythonLiteralScanner(std::string_view text) : text_(text) {}

    // Takes the character if it comes next, spaces aside.
    bool take(char c);
    VIA_NODISCARD Status expect(char c);
    VIA_NODISCARD Status expect_end();

    // What stands between the quotes, escapes as they are; borrowed from the text.
    VIA_NODISCARD Status read_string(std::string_view *out_string);

    // The same with `\\`, `\'` and `\"` resolved, for comparisons. Other escapes stay as they are; those that Python's
    // repr() would not write are refused, since they would spell one text in two ways.
    VIA_NODISCARD Status read_text(std::string *out_text);
    VIA_NODISCARD Status read_bool(bool *out_value);

    // A whole number of 0 or more. Python 2 wrote an L behind large ones.
    VIA_NODISCARD Status read_count(int64_t *out_value);

    VIA_NODISCARD Status refuse(const char *expected) const;

private:
    void skip_spaces();
    bool take_word(std::string_view word);
    bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace via
