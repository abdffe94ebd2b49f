#include "core/layout/casting.hpp"

#include <algorithm>
#include <iterator>

#include "core/layout/dtype.hpp"

namespace via {
namespace {

// NumPy's order of kinds, which same_kind goes up by.
enum class Rank : int32_t { Bool, Unsigned, Signed, Float, Complex };

// What a kind holds. Integers have `precision` bits besides their sign. Floats have the bit 2^least to the bit
// 2^greatest, and `precision` of them at a time.
struct Values {
    int32_t scalar;  // code | bits << 8 of the dtype
    ScalarKind kind;
    Rank rank;
    int32_t precision;
    int32_t greatest;
    int32_t least;
    bool infinity;
    bool nan;
    bool negative_zero;
    bool zero;
};

constexpr Values integer(int32_t scalar, ScalarKind kind, Rank rank, int32_t precision) {
    const int32_t greatest = rank == Rank::Signed ? precision : precision - 1;  // of the least number
    return {scalar, kind, rank, precision, greatest, 0, false, false, false, true};
}

// With a sign, and with NaN wherever there is an infinity.
constexpr Values floating(int32_t scalar, ScalarKind kind, int32_t precision, int32_t greatest, int32_t least) {
    return {scalar, kind, Rank::Float, precision, greatest, least, true, true, true, true};
}

constexpr Values kValues[] = {
    integer(0x0806, ScalarKind::Bool, Rank::Bool, 1),
    integer(0x0400, ScalarKind::Int4, Rank::Signed, 3),
    integer(0x0800, ScalarKind::Int8, Rank::Signed, 7),
    integer(0x1000, ScalarKind::Int16, Rank::Signed, 15),
    integer(0x2000, ScalarKind::Int32, Rank::Signed, 31),
    integer(0x4000, ScalarKind::Int64, Rank::Signed, 63),
    integer(0x0401, ScalarKind::UInt4, Rank::Unsigned, 4),
    integer(0x0801, ScalarKind::UInt8, Rank::Unsigned, 8),
    integer(0x1001, ScalarKind::UInt16, Rank::Unsigned, 16),
    integer(0x2001, ScalarKind::UInt32, Rank::Unsigned, 32),
    integer(0x4001, ScalarKind::UInt64, Rank::Unsigned, 64),
    floating(0x1002, ScalarKind::Float16, 11, 15, -24),
    floating(0x2002, ScalarKind::Float32, 24, 127, -149),
    floating(0x4002, ScalarKind::Float64, 53, 1023, -1074),
    floating(0x1004, ScalarKind::BFloat16, 8, 127, -133),
    {0x2005, ScalarKind::Complex32, Rank::Complex, 11, 15, -24, true, true, true, true},
    {0x4005, ScalarKind::Complex64, Rank::Complex, 24, 127, -149, true, true, true, true},
    {0x8005, ScalarKind::Complex128, Rank::Complex, 53, 1023, -1074, true, true, true, true},
    floating(0x0807, ScalarKind::Float8E3M4, 5, 3, -6),
    floating(0x0808, ScalarKind::Float8E4M3, 4, 7, -9),
    {0x0809, ScalarKind::Float8E4M3B11FNUZ, Rank::Float, 4, 4, -13, false, true, false, true},
    {0x080A, ScalarKind::Float8E4M3FN, Rank::Float, 4, 8, -9, false, true, true, true},
    {0x080B, ScalarKind::Float8E4M3FNUZ, Rank::Float, 4, 7, -10, false, true, false, true},
    floating(0x080C, ScalarKind::Float8E5M2, 3, 15, -16),
    {0x080D, ScalarKind::Float8E5M2FNUZ, Rank::Float, 3, 15, -17, false, true, false, true},
    {0x080E, ScalarKind::Float8E8M0FNU, Rank::Float, 1, 127, -127, false, true, false, false},
    {0x060F, ScalarKind::Float6E2M3FN, Rank::Float, 4, 2, -3, false, false, true, true},
    {0x0610, ScalarKind::Float6E3M2FN, Rank::Float, 3, 4, -4, false, false, true, true},
    {0x0411, ScalarKind::Float4E2M1FN, Rank::Float, 2, 2, -1, false, false, true, true},
};
static_assert(std::size(kValues) == kScalarKinds);

const Values *find_values(int32_t dtype) {
    const auto *found = std::find_if(std::begin(kValues), std::end(kValues),
                                     [&](const Values &each) { return each.scalar == (dtype & 0xFFFF); });
    return dtype_is_record(dtype) || found == std::end(kValues) ? nullptr : found;
}

bool is_integer(const Values &values) { return values.rank <= Rank::Signed; }

// NumPy calls 64-bit integers to float64 safe, though it rounds them.
bool is_numpy_exception(const Values &from, const Values &to) {
    return is_integer(from) && from.precision >= 63 && to.precision == 53;
}

// Returns whether every value of one is a value of the other.
bool holds_all(const Values &from, const Values &to) {
    if (from.kind == to.kind || is_numpy_exception(from, to)) {
        return true;
    }
    if (from.rank > to.rank && (from.rank == Rank::Complex || is_integer(to))) {
        return false;
    }
    return from.precision <= to.precision && from.greatest <= to.greatest && from.least >= to.least &&
           from.infinity <= to.infinity && from.nan <= to.nan && from.negative_zero <= to.negative_zero &&
           from.zero <= to.zero;
}

constexpr const char *kNames[] = {"same_kind", "safe", "equiv", "unsafe"};

}  // namespace

bool find_scalar_kind(int32_t dtype, ScalarKind *out_kind) {
    const Values *values = find_values(dtype);
    if (values == nullptr) {
        return false;
    }
    *out_kind = values->kind;
    return true;
}

ScalarKind part_of_complex(ScalarKind kind) {
    return kind == ScalarKind::Complex32   ? ScalarKind::Float16
           : kind == ScalarKind::Complex64 ? ScalarKind::Float32
                                           : ScalarKind::Float64;
}

bool can_cast(int32_t from, int32_t to, int32_t casting) {
    if (from == to) {
        return dtype_is_valid(from);
    }
    const Values *source = find_values(from);
    const Values *target = find_values(to);
    if (source == nullptr || target == nullptr || !dtype_is_valid(from) || !dtype_is_valid(to) ||
        dtype_lanes(from) != dtype_lanes(to)) {
        return false;
    }
    switch (casting) {
        case VIA_CASTING_EQUIV:
            return false;
        case VIA_CASTING_SAFE:
            return holds_all(*source, *target);
        case VIA_CASTING_SAME_KIND:
            return source->rank <= target->rank || holds_all(*source, *target);
        default:
            return casting == VIA_CASTING_UNSAFE;
    }
}

Status check_casting(int32_t casting) {
    if (casting >= 0 && casting < static_cast<int32_t>(std::size(kNames))) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_INVALID_ARGUMENT,
                "options.casting is %d; expected VIA_CASTING_SAME_KIND, _SAFE, _EQUIV or _UNSAFE", casting);
}

Status check_cast(int32_t from, int32_t to, int32_t casting) {
    if (can_cast(from, to, casting)) {
        return VIA_OK;
    }
    for (const int32_t other : {VIA_CASTING_SAFE, VIA_CASTING_SAME_KIND, VIA_CASTING_UNSAFE}) {
        if (can_cast(from, to, other)) {
            return fail(VIA_ERROR_DTYPE, "casting is %s, which does not take %s to %s; expected %s", kNames[casting],
                        DtypeName(from).text, DtypeName(to).text, kNames[other]);
        }
    }
    return fail(
        VIA_ERROR_DTYPE,
        "src has dtype %s and dst %s, which no casting converts; expected booleans, integers, floats or complex "
        "numbers, of as many lanes",
        DtypeName(from).text, DtypeName(to).text);
}

}  // namespace via
