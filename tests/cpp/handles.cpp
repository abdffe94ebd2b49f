// Owners of handles: as large as a pointer, moved and never copied.
#include <type_traits>
#include <utility>

#include "support.hpp"

using namespace viaduct;

namespace {

template <class Owner>
constexpr bool kMoveOnly = sizeof(Owner) == sizeof(void *) && std::is_nothrow_move_constructible_v<Owner> &&
                           std::is_nothrow_move_assignable_v<Owner> && !std::is_copy_constructible_v<Owner> &&
                           !std::is_copy_assignable_v<Owner> && std::is_nothrow_default_constructible_v<Owner>;

static_assert(kMoveOnly<Array> && kMoveOnly<Stream> && kMoveOnly<Event> && kMoveOnly<Memory>);
static_assert(kMoveOnly<File> && kMoveOnly<Task> && kMoveOnly<Batch> && kMoveOnly<DlpackTensor> &&
              kMoveOnly<DlpackLegacyTensor>);

void count(void *context) { ++*static_cast<int *>(context); }

// An array whose release is counted.
Array counted(int &releases) {
    static float element = 0;
    return Array::wrap_as(VIA_FLOAT32, &element, {}, {}, count, &releases);
}

void a_moved_owner_has_nothing_and_the_new_one_releases_once(void **) {
    int releases = 0;
    {
        Array first = counted(releases);
        via_array *handle = first.get();
        Array second = std::move(first);
        assert_null(first.get());
        assert_false(static_cast<bool>(first));
        assert_ptr_equal(second.get(), handle);
        assert_int_equal(releases, 0);
    }
    assert_int_equal(releases, 1);
}

void assigning_over_an_owner_releases_what_it_had(void **) {
    int first = 0, second = 0;
    Array array = counted(first);
    array = counted(second);
    assert_int_equal(first, 1);
    assert_int_equal(second, 0);
    array = Array();
    assert_int_equal(second, 1);
}

void assigning_an_owner_to_itself_changes_nothing(void **) {
    int releases = 0;
    Array array = counted(releases);
    Array &same = array;
    array = std::move(same);
    assert_int_equal(releases, 0);
    assert_non_null(array.get());
}

void a_share_is_one_more_owner(void **) {
    int releases = 0;
    Array first = counted(releases);
    Array second = first.share();
    assert_ptr_equal(first.get(), second.get());
    first.reset();
    assert_int_equal(releases, 0);
    second.reset();
    assert_int_equal(releases, 1);
    assert_null(Array().share().get());
}

void a_released_handle_is_the_callers(void **) {
    int releases = 0;
    Array array = counted(releases);
    via_array *handle = array.release();
    array.reset();
    assert_int_equal(releases, 0);
    Array taken(handle);
    taken.reset();
    assert_int_equal(releases, 1);
}

void swapped_owners_have_each_others_handle(void **) {
    int first_releases = 0, second_releases = 0;
    Array first = counted(first_releases), second = counted(second_releases);
    first.swap(second);
    first.reset();
    assert_int_equal(first_releases, 0);
    assert_int_equal(second_releases, 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_moved_owner_has_nothing_and_the_new_one_releases_once),
        leaving_nothing(assigning_over_an_owner_releases_what_it_had),
        leaving_nothing(assigning_an_owner_to_itself_changes_nothing),
        leaving_nothing(a_share_is_one_more_owner),
        leaving_nothing(a_released_handle_is_the_callers),
        leaving_nothing(swapped_owners_have_each_others_handle),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
