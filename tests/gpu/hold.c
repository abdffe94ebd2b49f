/* Streams that are held: by the fake driver's own means, or by a wait for a word in pinned memory. */
#include "support.h"

#include <pthread.h>
#include <time.h>

enum { most_holds = 16 };

typedef struct holding {
    CUstream stream;
    CUcontext context;
    uint32_t *word;   /* NULL on the fake driver */
    uint32_t turn;    /* what the word is waited to become; it only grows, since the device looks when it likes */
    int64_t since_ms; /* 0: not in use */
} holding;

static holding holdings[most_holds];
static uint32_t *words; /* of the program, not of a test: a context that a test made may be gone before its streams */
static int overdue;
static const char *overdue_call;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000 + 1;
}

static void end_holding(holding *held) {
    if (held->word != NULL) {
        __atomic_store_n(held->word, held->turn, __ATOMIC_RELEASE);
    } else {
        CUcontext before = NULL;
        cu(cuCtxPushCurrent)(held->context);
        fake(fake_stream_release)(held->stream);
        cu(cuCtxPopCurrent)(&before);
    }
    held->since_ms = 0;
}

/* Whoever waits for a held stream on the thread that should release it would wait for ever. */
static void *watch_holdings(void *context) {
    for (;;) {
        nanosleep(&(struct timespec){0, 50000000}, NULL);
        pthread_mutex_lock(&lock);
        for (int i = 0; i < most_holds; ++i) {
            if (holdings[i].since_ms != 0 && now_ms() - holdings[i].since_ms > hold_limit_ms) {
                ++overdue;
                overdue_call = last_driver_call();
                end_holding(&holdings[i]);
            }
        }
        pthread_mutex_unlock(&lock);
    }
    return context;
}

static void prepare_once(void) {
    static int prepared;
    if (prepared) {
        return;
    }
    prepared = 1;
    if (!on_fake_driver()) {
        CUcontext before = NULL;
        cu_ok(cu(cuCtxPushCurrent)(primary(0)));
        cu_ok(cu(cuMemHostAlloc)((void **)&words, most_holds * sizeof *words, CU_MEMHOSTALLOC_PORTABLE));
        cu_ok(cu(cuCtxPopCurrent)(&before));
    }
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch_holdings, NULL), 0);
    pthread_detach(thread);
}

static int free_holding(void) {
    int number = 0;
    pthread_mutex_lock(&lock);
    while (number < most_holds && holdings[number].since_ms != 0) {
        ++number;
    }
    if (number < most_holds) {
        holdings[number].since_ms = now_ms();
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void hold(CUstream stream) {
    if (is_kernel_tool("initcheck")) {
        skip();
    }
    prepare_once();
    const int number = free_holding();
    assert_true(number < most_holds);
    holding *held = &holdings[number];
    held->stream = stream;
    cu_ok(cu(cuCtxGetCurrent)(&held->context));
    if (on_fake_driver()) {
        fake(fake_stream_hold)(stream);
        return;
    }
    held->word = &words[number];
    ++held->turn;
    cu_ok(cu(cuStreamWaitValue32)(stream, (CUdeviceptr)(uintptr_t)held->word, held->turn, CU_STREAM_WAIT_VALUE_GEQ));
}

void release(CUstream stream) {
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < most_holds; ++i) {
        if (holdings[i].since_ms != 0 && holdings[i].stream == stream) {
            end_holding(&holdings[i]);
            found = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    assert_true(found);
}

void release_all(void) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < most_holds; ++i) {
        if (holdings[i].since_ms != 0) {
            end_holding(&holdings[i]);
        }
    }
    pthread_mutex_unlock(&lock);
}

void end_holds(void) {
    if (words != NULL) {
        cu(cuMemFreeHost)(words);
        words = NULL;
    }
}

int overdue_holds(const char **out_call) {
    pthread_mutex_lock(&lock);
    const int count = overdue;
    *out_call = overdue_call;
    overdue = 0;
    pthread_mutex_unlock(&lock);
    return count;
}
