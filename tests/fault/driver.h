/* The faults of the driver, which the fake driver has, and what is alive in it. */
#ifndef VIADUCT_TESTS_FAULT_DRIVER_H
#define VIADUCT_TESTS_FAULT_DRIVER_H

#include "faults.h"

/* Those that the library calls; NULL behind the last. */
extern const char *const driver_functions[];

void arm_driver(const fault_plan *plan, int64_t n);

/* Calls since it was armed. */
int64_t calls_of_driver(void);

/* One that failed since; NULL if none did. */
const char *failed_of_driver(void);

/* Sets those that have been called, in the order of driver_functions. */
void note_called_of_driver(char *called);

/* Adds to the counts, which are in the order of driver_functions; returns how many faults there were. */
int64_t disarm_driver(_Atomic int64_t *counts);

#endif
