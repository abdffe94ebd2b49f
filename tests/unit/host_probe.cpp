// What the operating system is asked about addresses and the machine.
#include "core/host_probe.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "copy_support.hpp"

namespace {

// A page of its own kind between two that cannot be read.
class Page {
public:
    explicit Page(int access) : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
        pages_ = static_cast<char *>(mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        assert_true(pages_ != MAP_FAILED);
        assert_int_equal(mprotect(begin(), size_, access), 0);
    }
    ~Page() { munmap(pages_, 3 * size_); }
    Page(const Page &) = delete;
    Page &operator=(const Page &) = delete;
    char *begin() const { return pages_ + size_; }
    char *end() const { return begin() + size_; }

private:
    size_t size_;
    char *pages_;
};

void a_mapping_is_found_by_any_address_in_it(void **) {
    const Page page(PROT_READ | PROT_WRITE);
    for (char *address : {page.begin(), page.begin() + 100, page.end() - 1}) {
        via::HostMapping mapping{};
        assert_true(via::find_host_mapping(address, &mapping));
        assert_ptr_equal(mapping.base, page.begin());
        assert_int_equal(mapping.nbytes, page.end() - page.begin());
        assert_true(mapping.readable && mapping.writable);
    }
}

void access_is_told(void **) {
    via::HostMapping mapping{};
    const Page constant(PROT_READ);
    assert_true(via::find_host_mapping(constant.begin(), &mapping));
    assert_true(mapping.readable && !mapping.writable);
    assert_true(via::find_host_mapping(constant.end(), &mapping));
    assert_true(!mapping.readable && !mapping.writable);
}

void no_mapping_holds_the_lowest_and_the_highest_address(void **) {
    via::HostMapping mapping{};
    assert_false(via::find_host_mapping(nullptr, &mapping));
    assert_false(via::find_host_mapping(reinterpret_cast<void *>(UINTPTR_MAX - 4096), &mapping));
}

void only_bytes_that_can_be_read_are_readable(void **) {
    const Page page(PROT_READ);
    assert_true(via::is_readable(page.begin()));
    assert_true(via::is_readable(page.end() - 1));
    assert_false(via::is_readable(page.end()));
    assert_false(via::is_readable(page.begin() - 1));
    assert_false(via::is_readable(nullptr));
}

void a_cpu_name_fits_its_room(void **) {
    for (int64_t capacity = 1; capacity < 200; ++capacity) {
        char name[256];
        std::memset(name, 'x', sizeof name);
        via::cpu_name(capacity, name);
        assert_true(static_cast<int64_t>(std::strlen(name)) < capacity);
        assert_int_equal(name[capacity], 'x');
    }
}

void the_machine_has_some_memory(void **) { assert_true(via::host_memory_bytes() > (1 << 20)); }

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_is_found_by_any_address_in_it),
        cmocka_unit_test(access_is_told),
        cmocka_unit_test(no_mapping_holds_the_lowest_and_the_highest_address),
        cmocka_unit_test(only_bytes_that_can_be_read_are_readable),
        cmocka_unit_test(a_cpu_name_fits_its_room),
        cmocka_unit_test(the_machine_has_some_memory),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
