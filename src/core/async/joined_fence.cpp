#include "core/async/joined_fence.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace via {
namespace {

class JoinedMark final : public Mark {
public:
    // Takes over the marks.
    JoinedMark(std::unique_ptr<Mark *[]> marks, int32_t count) : marks_(std::move(marks)), count_(count) {}

    bool reached() override {
        return std::all_of(begin(), end(), [](Mark *mark) { return mark->reached(); });
    }

    Status wait() override {
        for (Mark **mark = begin(); mark != end(); ++mark) {
            VIA_TRY((*mark)->wait());
        }
        return VIA_OK;
    }

    Status order(const StreamUse &stream) override {
        for (Mark **mark = begin(); mark != end(); ++mark) {
            VIA_TRY((*mark)->order(stream));
        }
        return VIA_OK;
    }

private:
    ~JoinedMark() override {
        std::for_each(begin(), end(), [](Mark *mark) { mark->release(); });
    }

    Mark **begin() const { return marks_.get(); }
    Mark **end() const { return marks_.get() + count_; }

    std::unique_ptr<Mark *[]> marks_;
    int32_t count_;
};

void release_all(Mark *const *marks, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        if (marks[i] != nullptr) {
            marks[i]->release();
        }
    }
}

}  // namespace

Status join_marks(Mark *const *marks, int32_t count, Mark **out_mark) {
    const auto present =
        static_cast<int32_t>(std::count_if(marks, marks + count, [](Mark *m) { return m != nullptr; }));
    *out_mark = nullptr;
    if (present < 2) {
        Mark *const *only = std::find_if(marks, marks + count, [](Mark *m) { return m != nullptr; });
        *out_mark = only != marks + count ? *only : nullptr;
        return VIA_OK;
    }
    std::unique_ptr<Mark *[]> kept(new (std::nothrow) Mark *[static_cast<size_t>(present)]);
    if (kept != nullptr) {
        std::copy_if(marks, marks + count, kept.get(), [](Mark *m) { return m != nullptr; });
        *out_mark = new (std::nothrow) JoinedMark(std::move(kept), present);
    }
    if (*out_mark == nullptr) {
        release_all(marks, count);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to join %d marks", present);
    }
    return VIA_OK;
}

}  // namespace via
