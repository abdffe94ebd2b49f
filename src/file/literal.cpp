#include "file/literal.hpp"

#include <algorithm>
#include <cstdio>

#include "core/checked.hpp"

namespace via {
namespace {

constexpr size_t kShown = 24;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

void LiteralScanner::skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
        at_++;
    }
}

Status LiteralScanner::refuse(const char *expected) const {
    const size_t shown = std::min(text_.size() - at_, kShown);
    if (shown == 0) {
        return fail(VIA_ERROR_FORMAT, "the .npy header ends after %zu bytes; expected %s", at_, expected);
    }
    return fail(VIA_ERROR_FORMAT, "the .npy header has `%.*s` at byte %zu; expected %s", static_cast<int>(shown),
                text_.data() + at_, at_, expected);
}

bool LiteralScanner::take(char c) {
    skip_spaces();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
}

Status LiteralScanner::expect(char c) {
    if (take(c)) {
        return VIA_OK;
    }
    const char wanted[] = {'\'', c, '\'', '\0'};
    return refuse(wanted);
}

Status LiteralScanner::expect_end() {
    skip_spaces();
    return at_ == text_.size() ? VIA_OK : refuse("nothing more");
}

Status LiteralScanner::read_string(std::string_view *out_string) {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
        return refuse("a string in quotes");
    }
    const char quote = text_[at_];
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
        end += text_[end] == '\\' ? 2 : 1;
    }
    if (end >= text_.size() || text_[end] != quote) {
        return refuse("a string that ends");
    }
    *out_string = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return VIA_OK;
}

bool LiteralScanner::take_word(std::string_view word) {
    const bool found = text_.substr(at_).starts_with(word);
    at_ += found ? word.size() : 0;
    return found;
}

Status LiteralScanner::read_bool(bool *out_value) {
    skip_spaces();
    *out_value = take_word("True");
    return *out_value || take_word("False") ? VIA_OK : refuse("True or False");
}

Status LiteralScanner::read_count(int64_t *out_value) {
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
    (void)take_word("L");
    *out_value = value;
    return VIA_OK;
}

}  // namespace via
