// Where in the program a handle was made: the calls that led there.
#pragma once

#include <cstdint>

namespace via {

class Backtrace {
public:
    // Of the calling thread, now.
    Backtrace();

    // A line for each call, to the log, from the one into this library outwards.
    void report() const;

private:
    static constexpr int32_t kMost = 24;
    void *calls_[kMost];
    int32_t count_;
    char python_line_[200];
};

// What the first one would else load on the way.
void prepare_backtraces();

}  // namespace via
