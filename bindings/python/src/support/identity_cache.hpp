// A cache keyed by object identity.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Slots own their keys, so an identity stays valid. Their number, a power of two, bounds the memory. For keys whose
// meaning never changes. Guarded by the GIL.
template <class Value, size_t count>
class IdentityCache {
public:
    const Value *find(PyObject *key) const {
        const Slot &slot = slots_[place_of(key)];
        return slot.key == key ? &slot.value : nullptr;
    }

    void remember(PyObject *key, const Value &value) {
        Slot &slot = slots_[place_of(key)];
        Py_INCREF(key);
        Ref forgotten(std::exchange(slot.key, key));
        slot.value = value;
    }

private:
    static_assert((count & (count - 1)) == 0);
    struct Slot {
        PyObject *key = nullptr;
        Value value{};
    };

    static size_t place_of(PyObject *key) {
        size_t bits = reinterpret_cast<uintptr_t>(key) >> 4;
        return (bits ^ bits >> 7) % count;
    }

    Slot slots_[count];
};

}  // namespace viapy
