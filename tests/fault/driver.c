#include "driver.h"

#include <stdatomic.h>

#include "support.h"

const char *const driver_functions[] = {
#define VIA_CUDA_REQUIRED(name, version) #name,
#define VIA_CUDA_OPTIONAL(name, version) #name,
#include "../../src/cuda/driver/driver_functions.def"
#undef VIA_CUDA_REQUIRED
#undef VIA_CUDA_OPTIONAL
    NULL};

static int64_t seen;
static int64_t seen_of[LENGTH(driver_functions)];

static int64_t calls_before;

int64_t calls_of_driver(void) { return fake(fake_call_count)(NULL) - calls_before; }

void arm_driver(const fault_plan *plan, int64_t n) {
    calls_before = fake(fake_call_count)(NULL);
    if (plan->behind != NULL) {
        fake(fake_fail_at)(plan->behind, n, plan->result);
    }
    if (plan->poisons) {
        fake(fake_poison_at)(plan->function, n, plan->result);
    } else if (plan->stays) {
        fake(fake_fail_from)(plan->function, n, plan->result);
    } else {
        fake(fake_fail_at)(plan->function, n, plan->result);
    }
}

const char *failed_of_driver(void) {
    for (int32_t i = 0; driver_functions[i] != NULL; ++i) {
        if (fake(fake_fault_count)(driver_functions[i]) > seen_of[i]) {
            return driver_functions[i];
        }
    }
    return NULL;
}

void note_called_of_driver(char *called) {
    for (int32_t i = 0; driver_functions[i] != NULL; ++i) {
        called[i] = fake(fake_call_count)(driver_functions[i]) > 0;
    }
}

int64_t disarm_driver(_Atomic int64_t *counts) {
    fake(fake_clear_faults)();
    const int64_t new_faults = fake(fake_faults_injected)() - seen;
    seen += new_faults;
    for (int32_t i = 0; new_faults > 0 && driver_functions[i] != NULL; ++i) {
        const int64_t now = fake(fake_fault_count)(driver_functions[i]);
        atomic_fetch_add(&counts[i], now - seen_of[i]);
        seen_of[i] = now;
    }
    return new_faults;
}
