// Handles: addresses that are mapped to nothing and never given twice, so that a dead one is always reported from a
// live one.
#ifndef FAKECUDA_HANDLES_HPP
#define FAKECUDA_HANDLES_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace fake {

uintptr_t new_handle();

template <class Handle, class Object>
class Registry {
public:
    Handle add(std::shared_ptr<Object> object) {
        const uintptr_t number = new_handle();
        live_[number] = std::move(object);
        return reinterpret_cast<Handle>(number);
    }
    // A handle that outlives its object and then stands for another, as a primary context's does.
    void put(Handle handle, std::shared_ptr<Object> object) { live_[number_of(handle)] = std::move(object); }

    std::shared_ptr<Object> find(Handle handle) const {
        const auto at = live_.find(number_of(handle));
        return at == live_.end() ? nullptr : at->second;
    }
    std::shared_ptr<Object> remove(Handle handle) {
        auto node = live_.extract(number_of(handle));
        if (node.empty()) {
            return nullptr;
        }
        dead_.insert(node.key());
        return node.mapped();
    }
    bool was_removed(Handle handle) const { return dead_.contains(number_of(handle)); }
    size_t size() const { return live_.size(); }
    std::vector<std::shared_ptr<Object>> all() const {
        std::vector<std::shared_ptr<Object>> found;
        for (const auto &[number, object] : live_) {
            found.push_back(object);
        }
        return found;
    }
    void clear() {
        live_.clear();
        dead_.clear();
    }

private:
    static uintptr_t number_of(Handle handle) { return reinterpret_cast<uintptr_t>(handle); }

    // In the order of creation: handles only go up.
    std::map<uintptr_t, std::shared_ptr<Object>> live_;
    std::set<uintptr_t> dead_;
};

}  // namespace fake

#endif
