// A strict scanner of untrusted JSON (RFC 8259). Functions return false, or fail, if something else comes next, with
// the scanner where it was or at the error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text_scanner.hpp"

namespace via {

class JsonScanner : public TextScanner {
public:
    using TextScanner::TextScanner;

    // Reads a string as UTF-8 and resolves its escapes. Refuses lone surrogates.
    bool read_string(std::string *out_string);

    // Reads what comes between an opening bracket and `close`: nothing, or items with commas between them. Returns
    // whether `read_item` returned true for each.
    template <class ReadItem>
    bool read_items(std::string_view close, const ReadItem &read_item) {
        if (accept(close)) {
            return true;
        }
        do {
            if (!read_item()) {
                return false;
            }
        } while (accept(","));
        return accept(close);
    }

    // Reads an object by read_value(name), called at each value. `object` and `member` state what was expected instead
    // of something else, and instead of a name with a colon. Refuses no name that occurs twice.
    template <class ReadValue>
    VIA_NODISCARD Status read_object(const char *object, const char *member, const ReadValue &read_value) {
        std::string name;
        if (!accept("{")) {
            return refuse(object);
        }
        if (accept("}")) {
            return VIA_OK;
        }
        do {
            if (!read_string(&name) || !accept(":")) {
                return refuse(member);
            }
            VIA_TRY(read_value(name));
        } while (accept(","));
        return accept("}") ? VIA_OK : refuse("',' or '}'");
    }

    // Skips any value, with lists and objects nested at most 32 deep.
    bool skip_value() { return skip_value(0, Names::Any); }

    // Does the same, and refuses a name that occurs twice in an object.
    bool skip_strict_value() { return skip_value(0, Names::Once); }

private:
    enum class Names { Any, Once };

    bool skip_value(int32_t depth, Names names);
    bool skip_members(std::string_view close, int32_t depth, Names names);
    bool skip_number();
    bool skip_digits();
    bool read_escape(std::string *out_string);
    bool read_unit(uint32_t *out_unit);
};

// Appends a text, which is UTF-8, in quotes and with escapes.
void append_json(std::string_view text, std::string *out);

}  // namespace via
