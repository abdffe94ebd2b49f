// A growing list of trivially copyable values. Never throws: reports a lack of memory and stays unchanged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace via {

template <class Value>
class List {
public:
    static_assert(std::is_trivially_copyable_v<Value>);

    List() = default;
    ~List() { std::free(items_); }
    List(const List &) = delete;
    List &operator=(const List &) = delete;

    int64_t count() const { return count_; }
    int64_t room() const { return capacity_; }
    Value *begin() const { return items_; }
    Value *end() const { return items_ + count_; }
    Value &operator[](int64_t index) const { return items_[index]; }
    Value &last() const { return items_[count_ - 1]; }

    // Makes room for `capacity` values in all.
    [[nodiscard]] bool reserve(int64_t capacity) {
        if (capacity <= capacity_) [[likely]] {
            return true;
        }
        void *grown = std::realloc(items_, static_cast<size_t>(capacity) * sizeof(Value));
        if (grown == nullptr) {
            return false;
        }
        items_ = static_cast<Value *>(grown);
        capacity_ = capacity;
        return true;
    }

    [[nodiscard]] bool append(const Value &value) {
        if (count_ == capacity_ && !reserve(std::max<int64_t>(8, capacity_ * 2))) [[unlikely]] {
            return false;
        }
        items_[count_++] = value;
        return true;
    }

    // Sets the length, within the room. Added values are uninitialised.
    void resize(int64_t count) { count_ = count; }

private:
    Value *items_ = nullptr;
    int64_t count_ = 0;
    int64_t capacity_ = 0;
};

}  // namespace via
