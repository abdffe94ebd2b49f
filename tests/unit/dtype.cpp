// Element types: every number there is, against its name.
#include "core/layout/dtype.hpp"

#include <cstring>
#include <string>

#include "copy_support.hpp"

namespace {

constexpr int32_t kSomeLanes[] = {1, 2, 3, 127, 255, 256, 32766, 32767};

// The scalars of DLPack 1.3 by code: which bits there are.
bool is_known(int32_t code, int32_t bits) {
    switch (code) {
        case 0:
        case 1:
            return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
        case 2:
            return bits == 16 || bits == 32 || bits == 64 || bits == 128;
        case 3:
            return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
        case 4:
            return bits == 16;
        case 5:
            return bits == 32 || bits == 64 || bits == 128;
        case 15:
        case 16:
            return bits == 6;
        case 17:
            return bits == 4;
        default:
            return code >= 6 && code <= 14 && bits == 8;
    }
}

void every_scalar_is_a_dtype_or_not_with_any_lanes(void **) {
    for (int32_t code = 0; code < 256; ++code) {
        for (int32_t bits = 0; bits < 256; ++bits) {
            assert_false(via::dtype_is_valid(via::pack_dtype(code, bits, 0)));
            for (const int32_t lanes : kSomeLanes) {
                assert_int_equal(via::dtype_is_valid(via::pack_dtype(code, bits, lanes)), is_known(code, bits));
            }
        }
    }
}

void every_dtype_goes_to_its_name_and_back(void **) {
    for (int32_t scalar = 0; scalar < 65536; ++scalar) {
        for (const int32_t lanes : kSomeLanes) {
            const int32_t dtype = scalar | lanes << 16;
            if (!via::dtype_is_valid(dtype)) {
                continue;
            }
            const via::DtypeName name(dtype);
            assert_true(std::strlen(name.text) < via::kDtypeNameCapacity - 1);
            assert_int_equal(via::dtype_from_name(name.text), dtype);
        }
    }
}

void every_record_goes_to_its_name_and_back(void **) {
    for (int64_t bytes = 1; bytes <= via::kMaxRecordBytes; bytes = bytes * 3 + 1) {
        const via::DtypeName name(static_cast<int32_t>(-bytes));
        assert_int_equal(via::dtype_from_name(name.text), -bytes);
        assert_int_equal(via::dtype_bits(static_cast<int32_t>(-bytes)), 8 * bytes);
    }
    assert_true(via::dtype_is_valid(static_cast<int32_t>(-via::kMaxRecordBytes)));
    assert_false(via::dtype_is_valid(static_cast<int32_t>(-via::kMaxRecordBytes - 1)));
    assert_false(via::dtype_is_valid(INT32_MIN));
}

// Every name with one letter left out, doubled or changed is another's or nobody's: what it means has that very name.
void a_name_with_a_letter_wrong_is_never_taken_for_another(void **) {
    for (int32_t scalar = 0; scalar < 65536; ++scalar) {
        if (!via::dtype_is_valid(scalar | 1 << 16)) {
            continue;
        }
        const std::string name = via::DtypeName(scalar | 4 << 16).text;
        for (size_t at = 0; at <= name.size(); ++at) {
            const std::string wrong[] = {name.substr(0, at), name.substr(0, at) + "0" + name.substr(at),
                                         name.substr(0, at) + " " + name.substr(at),
                                         name.substr(0, at) + name.substr(std::min(at + 1, name.size()))};
            for (const std::string &candidate : wrong) {
                const int32_t dtype = via::dtype_from_name(candidate.c_str());
                assert_true(dtype == 0 || candidate == via::DtypeName(dtype).text);
            }
        }
    }
}

void alignment_is_that_of_a_scalar_or_of_half_a_complex(void **) {
    assert_int_equal(via::dtype_alignment(VIA_INT8), 1);
    assert_int_equal(via::dtype_alignment(VIA_FLOAT64), 8);
    assert_int_equal(via::dtype_alignment(VIA_COMPLEX128), 8);
    assert_int_equal(via::dtype_alignment(VIA_COMPLEX32), 2);
    assert_int_equal(via::dtype_alignment(via::pack_dtype(2, 128, 1)), 16);
    assert_int_equal(via::dtype_alignment(via::pack_dtype(2, 32, 3)), 4);
    assert_int_equal(via::dtype_alignment(VIA_INT4), 1);
    assert_int_equal(via::dtype_alignment(VIA_FLOAT6_E2M3FN), 1);
    assert_int_equal(via::dtype_alignment(-16), 1);
}

void a_number_that_is_none_still_has_a_text(void **) {
    assert_string_equal(via::DtypeName(7).text, "dtype 0x00000007");
    assert_string_equal(via::DtypeName(INT32_MIN).text, "dtype 0x80000000");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_scalar_is_a_dtype_or_not_with_any_lanes),
        cmocka_unit_test(every_dtype_goes_to_its_name_and_back),
        cmocka_unit_test(every_record_goes_to_its_name_and_back),
        cmocka_unit_test(a_name_with_a_letter_wrong_is_never_taken_for_another),
        cmocka_unit_test(alignment_is_that_of_a_scalar_or_of_half_a_complex),
        cmocka_unit_test(a_number_that_is_none_still_has_a_text),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
