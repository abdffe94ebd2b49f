// What the operating system is asked about addresses and the machine.
#include "core/system/address_probe.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "copy_support.hpp"
#include "core/system/thread_count.hpp"

// Where the files of control groups are found instead, if not empty.
static std::string other_root;

extern "C" int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const bool is_elsewhere = !other_root.empty() && std::strstr(path, "cgroup") != nullptr;
    return openat(AT_FDCWD, is_elsewhere ? (other_root + path).c_str() : path, flags, mode);
}

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

bool is_mapped(const void *address, via::HostMapping *out_mapping) {
    assert_int_equal(via::find_host_mapping(address, out_mapping), VIA_OK);
    return out_mapping->nbytes > 0;
}

void a_mapping_is_found_by_any_address_in_it(void **) {
    const Page page(PROT_READ | PROT_WRITE);
    for (char *address : {page.begin(), page.begin() + 100, page.end() - 1}) {
        via::HostMapping mapping{};
        assert_true(is_mapped(address, &mapping));
        assert_ptr_equal(mapping.base, page.begin());
        assert_int_equal(mapping.nbytes, page.end() - page.begin());
        assert_true(mapping.readable && mapping.writable);
    }
}

void access_is_reported(void **) {
    via::HostMapping mapping{};
    const Page constant(PROT_READ);
    assert_true(is_mapped(constant.begin(), &mapping));
    assert_true(mapping.readable && !mapping.writable);
    assert_true(is_mapped(constant.end(), &mapping));
    assert_true(!mapping.readable && !mapping.writable);
}

void no_mapping_holds_the_lowest_and_the_highest_address(void **) {
    via::HostMapping mapping{};
    assert_false(is_mapped(nullptr, &mapping));
    assert_false(is_mapped(reinterpret_cast<void *>(UINTPTR_MAX - 4096), &mapping));
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

void the_machine_has_some_memory(void **) { assert_true(via::usable_memory() > (1 << 20)); }

void write_file(const std::string &path, const char *text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
}

// Control groups that the process seems to be in.
class Groups {
public:
    explicit Groups(const char *own_group) {
        char root[] = "/tmp/viaduct-groups-XXXXXX";
        assert_non_null(mkdtemp(root));
        other_root = root;
        write_file(other_root + "/proc/self/cgroup", own_group);
    }
    ~Groups() {
        std::filesystem::remove_all(other_root);
        other_root.clear();
    }
    Groups(const Groups &) = delete;
    Groups &operator=(const Groups &) = delete;

    void limit(const char *group, const char *text) const {
        write_file(other_root + "/sys/fs/cgroup" + group + "/memory.max", text);
    }
};

void the_least_limit_of_all_groups_is_what_may_be_used(void **) {
    const Groups groups("0::/user.slice/app.scope\n");
    const int64_t machine = via::usable_memory();
    groups.limit("/user.slice", "max\n");
    assert_int_equal(via::usable_memory(), machine);
    groups.limit("/user.slice", "2097152\n");
    assert_int_equal(via::usable_memory(), 2 << 20);
    groups.limit("/user.slice/app.scope", "1048576\n");
    assert_int_equal(via::usable_memory(), 1 << 20);
    groups.limit("/user.slice/app.scope", "9223372036854771712\n");
    assert_int_equal(via::usable_memory(), 2 << 20);
}

// As in a container, whose groups are mounted as if its own were the root.
void a_limit_of_the_root_counts(void **) {
    const Groups groups("0::/\n");
    groups.limit("", "1048576\n");
    assert_int_equal(via::usable_memory(), 1 << 20);
}

// Version 1 of control groups: a hierarchy for each controller, or for several, with files of its own.
class OldGroups : public Groups {
public:
    using Groups::Groups;
    void set(const char *file, const char *text) const { write_file(other_root + "/sys/fs/cgroup/" + file, text); }
};

void a_limit_of_a_memory_hierarchy_counts(void **) {
    const OldGroups groups("5:cpuacct,cpu:/other\n4:memory:/docker/abc\n1:name=systemd:/\n0::/\n");
    const int64_t machine = via::usable_memory();
    groups.set("memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(via::usable_memory(), machine);
    groups.set("memory/docker/memory.limit_in_bytes", "2097152\n");
    assert_int_equal(via::usable_memory(), 2 << 20);
    groups.set("memory/docker/abc/memory.limit_in_bytes", "1048576\n");
    assert_int_equal(via::usable_memory(), 1 << 20);
}

// As in a container: the name is that outside, and the folder of its own group is the root.
void a_limit_of_the_root_of_a_memory_hierarchy_counts(void **) {
    const OldGroups groups("4:memory:/docker/abc\n");
    groups.set("memory/memory.limit_in_bytes", "1048576\n");
    assert_int_equal(via::usable_memory(), 1 << 20);
}

void a_quota_of_a_cpu_hierarchy_counts(void **) {
    for (const char *folder : {"cpu,cpuacct", "cpu"}) {
        const OldGroups groups("3:cpuset:/elsewhere\n4:cpu,cpuacct:/docker/abc\n");
        const int32_t cpus = via::usable_cpus();
        groups.set((std::string(folder) + "/docker/abc/cpu.cfs_period_us").c_str(), "100000\n");
        groups.set((std::string(folder) + "/docker/abc/cpu.cfs_quota_us").c_str(), "-1\n");
        assert_int_equal(via::usable_cpus(), cpus);
        groups.set((std::string(folder) + "/docker/abc/cpu.cfs_quota_us").c_str(), "50000\n");
        assert_int_equal(via::usable_cpus(), 1);
    }
}

// Many hierarchies, each with a long path.
void the_line_of_a_controller_is_found_however_long_the_others_are(void **) {
    std::string lines;
    for (int32_t i = 20; i > 2; --i) {
        lines += std::to_string(i) + ":name=a" + std::to_string(i) + ":/" + std::string(900, 'x') + "\n";
    }
    const OldGroups groups((lines + "2:memory:/abc\n").c_str());
    groups.set("memory/abc/memory.limit_in_bytes", "1048576\n");
    assert_int_equal(via::usable_memory(), 1 << 20);
}

void a_memory_limit_is_read_as_the_kernel_writes_it(void **) {
    assert_int_equal(via::parse_memory_max("max\n"), 0);
    assert_int_equal(via::parse_memory_max("1073741824\n"), 1 << 30);
    assert_int_equal(via::parse_memory_max(""), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_is_found_by_any_address_in_it),
        cmocka_unit_test(access_is_reported),
        cmocka_unit_test(no_mapping_holds_the_lowest_and_the_highest_address),
        cmocka_unit_test(only_bytes_that_can_be_read_are_readable),
        cmocka_unit_test(a_cpu_name_fits_its_room),
        cmocka_unit_test(the_machine_has_some_memory),
        cmocka_unit_test(the_least_limit_of_all_groups_is_what_may_be_used),
        cmocka_unit_test(a_limit_of_the_root_counts),
        cmocka_unit_test(a_limit_of_a_memory_hierarchy_counts),
        cmocka_unit_test(a_limit_of_the_root_of_a_memory_hierarchy_counts),
        cmocka_unit_test(a_quota_of_a_cpu_hierarchy_counts),
        cmocka_unit_test(the_line_of_a_controller_is_found_however_long_the_others_are),
        cmocka_unit_test(a_memory_limit_is_read_as_the_kernel_writes_it),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
