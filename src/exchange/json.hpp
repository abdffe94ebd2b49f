// Reads JSON (RFC 8259) from a text that nobody vouches for: forwards only, and to the letter. What does not come next
// is answered by false, with the scanner where it was or at what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace via {

class JsonScanner {
public:
    explicit JsonScanner(std::string_view text) : text_(text) {}

    // One character of JSON's structure, spaces before it aside.
    bool take(char c);
    bool take_null();

    // A string as UTF-8, its escapes resolved. A surrogate alone is none.
    bool read_string(std::string *out_string);

    // A whole number of 0 or more, below 2^63.
    bool read_count(int64_t *out_count);

    // Any value, of which nothing is kept, lists and objects in it no deeper than 32.
    bool skip_value();

    bool is_at_end();

    // What comes next, spaces aside, and where.
    std::string_view rest();
    size_t at() const { return at_; }

private:
    bool skip_value(int32_t depth);
    bool skip_members(char close, int32_t depth);
    bool skip_number();
    bool skip_digits();
    bool take_word(std::string_view word);
    bool read_escape(std::string *out_string);
    bool read_unit(uint32_t *out_unit);
    void skip_spaces();
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace via
