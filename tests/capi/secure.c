/* A program that is run with another user's rights believes none of the caller's environment: see secure_getenv. */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "support.h"

enum { nobody = 65534, not_secure = 77, threads_asked = 3 };

static char folder[256];
static char program[512];
static char log_path[512];

/* Any library that this program does not use: it stands for one that a stranger has written. */
static const char foreign[] = "libresolv.so.2";

static int is_mapped(const char *name) {
    char line[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, name) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* What the program does once it has another user's rights. */
static int look_at_environment(void) {
    int32_t devices = 0;
    if (getauxval(AT_SECURE) == 0) {
        return not_secure;
    }
    CHECK(getenv("VIADUCT_LIBCUDA") != NULL);
    CHECK(via_device_count(VIA_DEVICE_CUDA, &devices) == VIA_OK);
    CHECK(!is_mapped(foreign));
    CHECK(access(getenv("VIADUCT_LOG_FILE"), F_OK) != 0);
    CHECK(via_set_num_threads(0) == VIA_OK && via_num_threads() != threads_asked);
    return 0;
}

static void copy_program(void) {
    char bytes[4096];
    const int from = open("/proc/self/exe", O_RDONLY);
    const int to = open(program, O_WRONLY | O_CREAT | O_EXCL, 0700);
    assert_true(from >= 0 && to >= 0);
    for (ssize_t got = read(from, bytes, sizeof bytes); got > 0; got = read(from, bytes, sizeof bytes)) {
        assert_int_equal(write(to, bytes, (size_t)got), got);
    }
    assert_int_equal(fchmod(to, 04755), 0);
    close(from);
    close(to);
}

static void run_as_nobody(void) {
    setenv("VIADUCT_LIBCUDA", foreign, 1);
    setenv("VIADUCT_LOG", "info", 1);
    setenv("VIADUCT_LOG_FILE", log_path, 1);
    setenv("VIADUCT_NUM_THREADS", "3", 1);
    CHECK(setgid(nobody) == 0 && setuid(nobody) == 0);
    execl(program, program, "as another", NULL);
    _exit(not_secure);
}

static int run_program(void) {
    const pid_t process = fork();
    if (process == 0) {
        run_as_nobody();
    }
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_setuid_program_reads_no_variable_of_its_callers(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    if (geteuid() != 0) {
        skip();
    }
    snprintf(folder, sizeof folder, "%s/viaduct-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    copy_program();
    const int code = run_program();
    unlink(program);
    unlink(log_path);
    rmdir(folder);
    if (code == not_secure) { /* the folder does not let programs have rights, or nobody may not run this one */
        skip();
    }
    assert_int_equal(code, 0);
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) {
        return look_at_environment();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setuid_program_reads_no_variable_of_its_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
