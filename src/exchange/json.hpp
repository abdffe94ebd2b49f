// A strict scanner of untrusted JSON (RFC 8259). Reads forwards only. Functions return false if something else comes
// next, with the scanner where it was or at the error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace via {

class JsonScanner {
public:
    explicit JsonScanner(std::string_view text) : text_(text) {}

    // Accepts one structural character, after skipping white space.
    bool accept(char c);
    bool accept_null();

    // Reads a string as UTF-8 and resolves its escapes. Refuses lone surrogates.
    bool read_string(std::string *out_string);

    // Reads a whole number from 0 to 2^63 - 1.
    bool read_count(int64_t *out_count);

    // Skips any value, with lists and objects nested at most 32 deep.
    bool skip_value();

    bool is_at_end();

    // Return the remaining text, after skipping white space, and its offset.
    std::string_view rest();
    size_t at() const { return at_; }

private:
    bool skip_value(int32_t depth);
    bool skip_members(char close, int32_t depth);
    bool skip_number();
    bool skip_digits();
    bool accept_word(std::string_view word);
    bool read_escape(std::string *out_string);
    bool read_unit(uint32_t *out_unit);
    void skip_spaces();
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace via
