/* Scenes that run in a process of their own, under settings which the library reads as it is loaded. */
#ifndef VIADUCT_TESTS_APART_H
#define VIADUCT_TESTS_APART_H

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

typedef struct scene {
    const char *name;
    void (*play)(void);
} scene;

#define SCENE(function) {#function, function}

/* Result of a scene. */
typedef struct ending {
    int exit_status; /* -1 if a signal ended it */
    int signal;
    char text[16384]; /* what it wrote to stderr */
} ending;

/* The number of times that a text holds a word. */
static inline int count_of(const char *text, const char *word) {
    int count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

static inline void read_all(int file, char *text, size_t capacity) {
    size_t length = 0;
    for (ssize_t more = 1; more > 0 && length < capacity - 1; length += more > 0 ? (size_t)more : 0) {
        more = read(file, text + length, capacity - 1 - length);
    }
    text[length] = '\0';
}

/* Runs a scene of this program with one more setting, "VIADUCT_CHECK=1"; NULL for none. */
static inline ending play(const char *name, const char *setting) {
    extern char **environ;
    static ending found;
    static char program[512];
    char *arguments[] = {program, (char *)name, NULL};
    int pipes[2];
    pid_t child;
    int status;
    char variable[64] = "";
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    if (setting != NULL) {
        snprintf(variable, sizeof variable, "%.*s", (int)strcspn(setting, "="), setting);
        assert_int_equal(setenv(variable, strchr(setting, '=') + 1, 1), 0);
    }
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(pipes), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    assert_int_equal(posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    if (setting != NULL) {
        unsetenv(variable);
    }
    close(pipes[1]);
    read_all(pipes[0], found.text, sizeof found.text);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    found.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    found.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return found;
}

/* A scene that must end, and say each of the words, which '|' separates. */
static inline ending play_well(const char *name, const char *setting, const char *words) {
    const ending found = play(name, setting);
    if (found.exit_status != 0 || !holds_words(found.text, words)) {
        print_error("%s with %s ended with %d (signal %d) and said:\n%s\nexpected the words %s\n", name,
                    setting != NULL ? setting : "nothing", found.exit_status, found.signal, found.text, words);
        fail();
    }
    return found;
}

/* In a scene: as assert_true, which is cmocka's and needs a test around it. */
#define expect(holds) expect_that((holds) != 0, #holds, __FILE__, __LINE__)

static inline void expect_that(int holds, const char *what, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", file, line, what, via_last_error());
        exit(1);
    }
}

/* In a scene: a call that must be refused with VIA_ERROR_INVALID_ARGUMENT and these words. */
#define expect_misuse(words, call) \
    expect_that((call) == VIA_ERROR_INVALID_ARGUMENT && holds_words(via_last_error(), words), #call, __FILE__, __LINE__)

/* The scene that the arguments name; -1 if they name none. */
static inline int play_named(int count, char **arguments, const scene *scenes, int scene_count) {
    for (int i = 0; count > 1 && i < scene_count; ++i) {
        if (strcmp(arguments[1], scenes[i].name) == 0) {
            scenes[i].play();
            return 0;
        }
    }
    return -1;
}

#endif
