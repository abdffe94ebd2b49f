// Which bytes of a file are in the page cache, asked of a kernel that has cachestat and of one that has not.
#include "file/file_io.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>

#include "copy_support.hpp"

namespace {

constexpr long kCachestat = 451;
constexpr int64_t kBytes = int64_t{6} << 20;
constexpr int64_t kPage = 4096;

bool has_cachestat = true;

}  // namespace

// In the place of the C library's.
extern "C" long syscall(long number, ...) noexcept {
    using Call = long (*)(long, ...);
    static const auto real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
    if (number == kCachestat && !has_cachestat) {
        errno = ENOSYS;
        return -1;
    }
    va_list list;
    va_start(list, number);
    long given[6];
    for (long &one : given) {
        one = va_arg(list, long);
    }
    va_end(list);
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

namespace {

// A file of zeros without a name, on the disk.
class File {
public:
    File() {
        char name[] = "/var/tmp/viaduct-page-cache-XXXXXX";
        const int made = mkstemp(name);
        assert_true(made >= 0);
        const std::string zeros(kBytes, '\0');
        assert_int_equal(write(made, zeros.data(), kBytes), kBytes);
        assert_int_equal(fsync(made), 0);
        assert_int_equal(via::OpenFile::adopt(made, name, &open_), VIA_OK);
        unlink(name);
    }
    ~File() { open_->release(); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    double share(int64_t offset, int64_t nbytes) { return via::cached_share(open_, offset, nbytes); }
    void forget() { (void)posix_fadvise(open_->descriptor(), 0, 0, POSIX_FADV_DONTNEED); }
    void touch(int64_t offset) {
        char byte = 0;
        (void)posix_fadvise(open_->descriptor(), 0, 0, POSIX_FADV_RANDOM);
        assert_int_equal(pread(open_->descriptor(), &byte, 1, offset), 1);
    }

private:
    via::OpenFile *open_ = nullptr;
};

void what_is_there_is_found_whatever_the_kernel_offers(void **state) {
    (void)state;
    for (const bool offered : {true, false}) {
        has_cachestat = offered;
        File file;
        assert_true(file.share(0, kBytes) == 1);
        assert_true(file.share(kBytes - 1, 1) == 1);
        assert_true(file.share(0, 0) == 1);
        file.forget();
        if (file.share(0, kBytes) != 0) {
            skip();  // a file system that keeps everything in memory
        }
        file.touch(5 * kPage);
        assert_true(file.share(5 * kPage + 7, 9) == 1);
        assert_true(file.share(4 * kPage + 7, 2 * kPage - 7) == 0.5);
        assert_true(file.share(5 * kPage - 1, kPage + 2) < 0.34);
        assert_true(file.share(kBytes / 2, kBytes / 2) == 0);
    }
}

void asking_leaves_errno_alone(void **state) {
    (void)state;
    for (const bool offered : {true, false}) {
        has_cachestat = offered;
        File file;
        errno = E2BIG;
        (void)file.share(0, kBytes);
        assert_int_equal(errno, E2BIG);
    }
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_found_whatever_the_kernel_offers),
        cmocka_unit_test(asking_leaves_errno_alone),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
