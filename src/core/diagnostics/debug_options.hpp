// What the environment asked the library to watch when it was loaded: the callers' handles (VIADUCT_CHECK) and their
// calls (VIADUCT_LOG).
#pragma once

#include <cstdint>

namespace via {

inline constexpr uint32_t kHandles = 1;        // whether every handle that comes in is one that went out
inline constexpr uint32_t kAbortOnMisuse = 2;  // a wrong one ends the process
inline constexpr uint32_t kBacktraces = 4;     // where each handle was made, for the report at exit
inline constexpr uint32_t kFailures = 8;       // a line for every call that fails
inline constexpr uint32_t kNotable = 16;       // and for what is rare
inline constexpr uint32_t kCalls = 32;         // and for every call

// Nothing, nearly always: the one number that every call looks at. Set before the first, and never changed.
extern uint32_t debug_options __attribute__((visibility("hidden")));

inline bool is_debugging(uint32_t what) { return (debug_options & what) != 0; }

}  // namespace via
