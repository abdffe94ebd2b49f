// UTF-8, against the definition: the shortest form of a code point that is no surrogate and not above U+10FFFF.
#include "core/utf8.hpp"

#include <string>

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
    for (uint32_t lead = 0xF0; lead < 0x100; ++lead) {
        for (uint32_t rest = 0; rest < 0x10000; ++rest) {
            const unsigned char text[] = {static_cast<unsigned char>(lead), static_cast<unsigned char>(rest >> 8),
                                          static_cast<unsigned char>(rest),
                                          static_cast<unsigned char>(0x80 | rest % 64), 0};
            const uint32_t point = decode(text, 4);
            const bool sound = lead < 0xF8 && (text[1] & 0xC0) == 0x80 && (text[2] & 0xC0) == 0x80 &&
                               point >= 0x10000 && is_scalar_value(point);
            assert_int_equal(via::utf8_sequence_length(reinterpret_cast<const char *>(text)), sound ? 4 : 0);
        }
    }
}

std::string mended(std::string text) {
    const int32_t length = via::make_utf8(text.data());
    assert_int_equal(length, text.size());
    return text;
}

void each_broken_byte_becomes_a_question_mark_and_the_rest_stays(void **) {
    assert_string_equal(mended("").c_str(), "");
    assert_string_equal(mended("plain").c_str(), "plain");
    assert_string_equal(mended("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80").c_str(), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(mended("a\xFF"
                               "b")
                            .c_str(),
                        "a?b");
    assert_string_equal(mended("\xE2\x82").c_str(), "??");
    assert_string_equal(mended("\xE2\x82"
                               "c")
                            .c_str(),
                        "??c");
    assert_string_equal(mended("\xF0\x9F\x98").c_str(), "???");
    assert_string_equal(mended("\xE2\xE2\x82\xAC").c_str(), "?\xE2\x82\xAC");
    assert_string_equal(mended("\xED\xA0\x80").c_str(), "???");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_one_sequence_and_surrogates_are_none),
        cmocka_unit_test(every_pair_of_bytes_is_judged_by_the_definition),
        cmocka_unit_test(every_triple_of_bytes_is_judged_by_the_definition),
        cmocka_unit_test(quadruples_are_judged_by_the_definition),
        cmocka_unit_test(each_broken_byte_becomes_a_question_mark_and_the_rest_stays),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
