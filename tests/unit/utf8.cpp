// UTF-8, against the definition: the shortest form of a code point that is no surrogate and not above U+10FFFF.
#include "core/base/utf8.hpp"

#include <string>
#include <vector>

#include "copy_support.hpp"

namespace {

// The bytes of a code point.
std::string encode(uint32_t point) {
    if (point < 0x80) {
        return {static_cast<char>(point)};
    }
    if (point < 0x800) {
        return {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
    }
    if (point < 0x10000) {
        return {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 0x3F)),
                static_cast<char>(0x80 | (point & 0x3F))};
    }
    return {static_cast<char>(0xF0 | point >> 18), static_cast<char>(0x80 | (point >> 12 & 0x3F)),
            static_cast<char>(0x80 | (point >> 6 & 0x3F)), static_cast<char>(0x80 | (point & 0x3F))};
}

bool is_scalar_value(uint32_t point) { return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF); }

// The code point that three or four bytes would mean if any form were allowed.
uint32_t decode(const unsigned char *bytes, int32_t length) {
    uint32_t point = bytes[0] & (0x7FU >> length);
    for (int32_t i = 1; i < length; ++i) {
        point = point << 6 | (bytes[i] & 0x3FU);
    }
    return point;
}

void every_code_point_is_one_sequence_and_surrogates_are_none(void **) {
    for (uint32_t point = 1; point < 0x110000 + 1000; ++point) {
        const std::string bytes = encode(point);
        assert_int_equal(via::utf8_sequence_length(bytes.c_str()), is_scalar_value(point) ? bytes.size() : 0);
    }
}

void every_pair_of_bytes_is_judged_by_the_definition(void **) {
    for (uint32_t first = 0x80; first < 0x100; ++first) {
        for (uint32_t second = 0; second < 0x100; ++second) {
            const char text[] = {static_cast<char>(first), static_cast<char>(second), '\0', '\0'};
            const bool sound = first >= 0xC2 && first <= 0xDF && (second & 0xC0) == 0x80;
            assert_int_equal(via::utf8_sequence_length(text), sound ? 2 : 0);
        }
    }
}

void every_triple_of_bytes_is_judged_by_the_definition(void **) {
    for (uint32_t bytes = 0xE00000; bytes < 0xF00000; ++bytes) {
        const unsigned char text[] = {static_cast<unsigned char>(bytes >> 16), static_cast<unsigned char>(bytes >> 8),
                                      static_cast<unsigned char>(bytes), 0};
        const uint32_t point = decode(text, 3);
        const bool sound =
            (text[1] & 0xC0) == 0x80 && (text[2] & 0xC0) == 0x80 && point >= 0x800 && is_scalar_value(point);
        assert_int_equal(via::utf8_sequence_length(reinterpret_cast<const char *>(text)), sound ? 3 : 0);
    }
}

void quadruples_are_judged_by_the_definition(void **) {
    for (uint32_t major = 0xF0; major < 0x100; ++major) {
        for (uint32_t rest = 0; rest < 0x10000; ++rest) {
            const unsigned char text[] = {static_cast<unsigned char>(major), static_cast<unsigned char>(rest >> 8),
                                          static_cast<unsigned char>(rest),
                                          static_cast<unsigned char>(0x80 | rest % 64), 0};
            const uint32_t point = decode(text, 4);
            const bool sound = major < 0xF8 && (text[1] & 0xC0) == 0x80 && (text[2] & 0xC0) == 0x80 &&
                               point >= 0x10000 && is_scalar_value(point);
            assert_int_equal(via::utf8_sequence_length(reinterpret_cast<const char *>(text)), sound ? 4 : 0);
        }
    }
}

// With room for so many bytes more, and the 0 at the end.
std::string fixed(const std::string &text, size_t room = 100, via::Controls controls = via::Controls::Keep) {
    std::vector<char> bytes(text.begin(), text.end());
    bytes.resize(text.size() + room + 1);
    const int32_t length = via::make_utf8(bytes.data(), static_cast<int32_t>(bytes.size()), controls);
    assert_int_equal(length, strlen(bytes.data()));
    return bytes.data();
}

void each_broken_byte_is_escaped_and_the_rest_stays(void **) {
    assert_string_equal(fixed("").c_str(), "");
    assert_string_equal(fixed("plain").c_str(), "plain");
    assert_string_equal(fixed("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80").c_str(), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(fixed("a\xFF"
                              "b")
                            .c_str(),
                        "a\\xffb");
    assert_string_equal(fixed("\xE2\x82").c_str(), "\\xe2\\x82");
    assert_string_equal(fixed("\xE2\x82"
                              "c")
                            .c_str(),
                        "\\xe2\\x82c");
    assert_string_equal(fixed("\xF0\x9F\x98").c_str(), "\\xf0\\x9f\\x98");
    assert_string_equal(fixed("\xE2\xE2\x82\xAC").c_str(), "\\xe2\xE2\x82\xAC");
    assert_string_equal(fixed("\xED\xA0\x80").c_str(), "\\xed\\xa0\\x80");
    assert_string_equal(fixed("/\x80/\xC3\xA4\x9a.npy").c_str(), "/\\x80/\xC3\xA4\\x9a.npy");
}

void control_characters_are_escaped_where_a_text_is_to_be_one_line(void **) {
    const auto line = [](const char *text) { return fixed(text, 100, via::Controls::Escape); };
    assert_string_equal(line("a\nb\r\t").c_str(), "a\\x0ab\\x0d\\x09");
    assert_string_equal(line("\x1B[31m\x7F").c_str(), "\\x1b[31m\\x7f");
    assert_string_equal(line("\xC2\x9B\xC2\xA0\xFF").c_str(), "\\xc2\\x9b\xC2\xA0\\xff");
    assert_string_equal(fixed("\n\x1B\xC2\x9B").c_str(), "\n\x1B\xC2\x9B");
}

void where_escapes_have_no_room_a_broken_byte_is_a_question_mark(void **) {
    assert_string_equal(fixed("a\xFF\x80z", 6).c_str(), "a\\xff\\x80z");
    assert_string_equal(fixed("a\xFF\x80z", 5).c_str(), "a??z");
    assert_string_equal(fixed("\xFF", 0).c_str(), "?");
    assert_string_equal(fixed("a", 0).c_str(), "a");
}

void a_sound_prefix_ends_where_a_sequence_does_not(void **) {
    assert_int_equal(via::utf8_prefix(""), 0);
    assert_int_equal(via::utf8_prefix("a\xC3\xBC\xF0\x9F\x98\x80"), 7);
    assert_int_equal(via::utf8_prefix("a\xC3"), 1);
    assert_int_equal(via::utf8_prefix("a\xF0\x9F\x98"), 1);
    assert_int_equal(via::utf8_prefix("a\xC3x"), 1);
    assert_int_equal(via::utf8_prefix("\xED\xA0\x80"), 0);
    // The end of the text is one, whatever lies behind it.
    assert_int_equal(via::utf8_prefix(std::string_view("a\xC3\xBC", 2)), 1);
    assert_int_equal(via::utf8_prefix(std::string_view("a\0b", 3)), 3);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_one_sequence_and_surrogates_are_none),
        cmocka_unit_test(every_pair_of_bytes_is_judged_by_the_definition),
        cmocka_unit_test(every_triple_of_bytes_is_judged_by_the_definition),
        cmocka_unit_test(quadruples_are_judged_by_the_definition),
        cmocka_unit_test(each_broken_byte_is_escaped_and_the_rest_stays),
        cmocka_unit_test(control_characters_are_escaped_where_a_text_is_to_be_one_line),
        cmocka_unit_test(where_escapes_have_no_room_a_broken_byte_is_a_question_mark),
        cmocka_unit_test(a_sound_prefix_ends_where_a_sequence_does_not),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
