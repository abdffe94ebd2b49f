// Backtraces of the places where handles are made.
#pragma once

#include <cstdint>

namespace via {

class Backtrace {
public:
    // Records the backtrace of the calling thread, and the line of Python that it runs.
    Backtrace();

    // Logs a line for each call, from the one into this library outwards.
    void report() const;

private:
    static constexpr int32_t kMost = 24;
    void *calls_[kMost];
    int32_t count_;
    char python_line_[200];
};

// Loads in advance what the first backtrace needs.
void prepare_backtraces();

}  // namespace via
