#include "copy/plan/overlap.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/checked.hpp"

namespace via {
namespace {

constexpr int64_t kMostNodes = 20000;
// Sums of up to 2 * 64 reaches below this fit an int64_t. No address space is wider.
constexpr int64_t kMostReach = int64_t{1} << 55;

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

// Solves: is there an x with 0 <= x[k] <= most[k] and low <= sum of step[k] * x[k] <= high, for positive steps?
// Searches depth first from the largest step. Skips what the remaining terms cannot reach, and intervals without a
// multiple of their common divisor.
class Equation {
public:
    // Adds a term of any step. Converts zero and negative steps to positive ones.
    void add(int64_t step, int64_t most) {
        int64_t reach = 0;
        if (step == 0 || most == 0) {
            return;
        }
        if (!multiply(step, most, &reach) || reach > kMostReach || reach < -kMostReach) {
            too_wide_ = true;
            return;
        }
        offset_ += std::min<int64_t>(reach, 0);
        terms_[count_++] = {std::abs(step), most, 0, 0};
    }

    Overlap solve(int64_t low, int64_t high, int64_t *nodes) {
        if (too_wide_) {
            return Overlap::Unknown;
        }
        arrange();
        nodes_ = nodes;
        return search(0, low - offset_, high - offset_);
    }

private:
    struct Term {
        int64_t step;
        int64_t most;
        int64_t reach_after;    // of all later terms
        int64_t divisor_after;  // of the steps of all later terms
    };

    void arrange() {
        std::sort(terms_, terms_ + count_, [](const Term &a, const Term &b) { return a.step > b.step; });
        join();
        int64_t reach = 0;
        int64_t divisor = 0;
        for (int32_t i = count_ - 1; i >= 0; --i) {
            terms_[i].reach_after = reach;
            terms_[i].divisor_after = divisor;
            reach += terms_[i].step * terms_[i].most;
            divisor = std::gcd(terms_[i].step, divisor);
        }
    }

    // Merges two terms if the larger step is a multiple of the smaller one and leaves no hole. Dense arrays, and two
    // views of one array, come down to a few terms.
    void join() {
        int32_t last = count_ - 1;
        for (int32_t i = count_ - 2; i >= 0; --i) {
            const int64_t ratio = terms_[i].step / terms_[last].step;
            if (terms_[i].step % terms_[last].step == 0 && ratio <= terms_[last].most + 1) {
                terms_[last].most += ratio * terms_[i].most;
            } else {
                terms_[--last] = terms_[i];
            }
        }
        if (count_ > 0) {
            std::copy(terms_ + last, terms_ + count_, terms_);
            count_ -= last;
        }
    }

    static bool has_multiple(int64_t low, int64_t high, int64_t divisor) {
        return divisor == 0 ? low <= 0 && high >= 0 : floor_divide(high, divisor) * divisor >= low;
    }

    Overlap search(int32_t depth, int64_t low, int64_t high) {
        if (depth == count_) {
            return low <= 0 && high >= 0 ? Overlap::Found : Overlap::None;
        }
        if (--*nodes_ < 0) {
            return Overlap::Unknown;
        }
        const Term &term = terms_[depth];
        const int64_t first = std::max<int64_t>(ceil_divide(low - term.reach_after, term.step), 0);
        const int64_t last = std::min(floor_divide(high, term.step), term.most);
        return depth + 1 == count_ ? (first <= last ? Overlap::Found : Overlap::None)
                                   : search_between(depth, first, last, low, high);
    }

    Overlap search_between(int32_t depth, int64_t first, int64_t last, int64_t low, int64_t high) {
        const Term &term = terms_[depth];
        for (int64_t x = first; x <= last; ++x) {
            const int64_t taken = x * term.step;
            if (!has_multiple(low - taken, high - taken, term.divisor_after)) {
                if (--*nodes_ < 0) {
                    return Overlap::Unknown;
                }
                continue;
            }
            const Overlap found = search(depth + 1, low - taken, high - taken);
            if (found != Overlap::None) {
                return found;
            }
        }
        return Overlap::None;
    }

    Term terms_[2 * RunSet::kCapacity];
    int32_t count_ = 0;
    int64_t offset_ = 0;  // the sum's least value
    bool too_wide_ = false;
    int64_t *nodes_ = nullptr;
};

void add_terms(const RunSet &set, int32_t first, int64_t sign, Equation *equation) {
    for (int32_t i = first; i < set.count; ++i) {
        equation->add(sign * set.indices[i].step, set.indices[i].extent - 1);
    }
}

// Searches pairs of runs with equal indices before `axis` and a larger one at it. Every pair of different runs is of
// this kind for exactly one axis, in one order or the other.
Overlap find_pair(const RunSet &set, int32_t major_side, int64_t *nodes) {
    const auto &index = set.indices[major_side];
    if (index.extent < 2) {
        return Overlap::None;
    }
    Equation equation;
    equation.add(index.step, index.extent - 2);
    add_terms(set, major_side + 1, 1, &equation);
    add_terms(set, major_side + 1, -1, &equation);
    return equation.solve(1 - set.run - index.step, set.run - 1 - index.step, nodes);
}

}  // namespace

Overlap find_overlap(const RunSet &a, const RunSet &b) {
    Equation equation;
    add_terms(a, 0, 1, &equation);
    add_terms(b, 0, -1, &equation);
    const int64_t distance = b.start - a.start;
    int64_t nodes = kMostNodes;
    return equation.solve(distance - (a.run - 1), distance + (b.run - 1), &nodes);
}

Overlap find_self_overlap(const RunSet &set) {
    int64_t nodes = kMostNodes;
    Overlap answer = Overlap::None;
    for (int32_t i = 0; i < set.count; ++i) {
        const Overlap found = find_pair(set, i, &nodes);
        if (found == Overlap::Found) {
            return found;
        }
        answer = found == Overlap::Unknown ? found : answer;
    }
    return answer;
}

}  // namespace via
