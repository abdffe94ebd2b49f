/* What the tests of the fake driver have in common: its functions, found by name, and a clean beginning for each test.
 */
#ifndef FAKECUDA_SELFTEST_SUPPORT_H
#define FAKECUDA_SELFTEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecuda.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A function of the driver, or of its control interface, by its name: cu(cuMemAlloc)(&memory, 64). */
#define cu(function) ((__typeof__(&(function)))symbol(TEXT(function)))
#define fake(function) ((__typeof__(&(function)))symbol(TEXT(function)))

#define ok(call) assert_int_equal((call), CUDA_SUCCESS)
#define refused(error, call) assert_int_equal((call), (error))

uintptr_t symbol(const char *name);

/* The driver just initialised, with two devices and the primary context of the first current. */
int begin_test(void **state);
/* Whatever a test leaves behind goes. */
int end_test(void **state);

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_test, end_test)

CUcontext primary(CUdevice device);
CUdeviceptr device_memory(size_t bytes);
char *pinned_memory(size_t bytes);
CUstream new_stream(void);
CUevent new_event(void);

/* The first byte of memory, without the driver's calls. */
int byte_at(CUdeviceptr address);
/* 1 if the host can read the address. */
int host_can_read(const void *address);

/* The function of a kernel registered under this name. */
CUfunction kernel(const char *name);

#endif
