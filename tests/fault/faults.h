/*
 * Makes what the library asks of others fail: its allocations, its calls of the system, its calls of the driver. Only
 * the library's own calls are met, from whichever thread: the places where it keeps the addresses of the functions that
 * it takes from elsewhere lead here first. So sanitizers see what they always see, and a test's own calls never fail.
 */
#ifndef VIADUCT_TESTS_FAULT_FAULTS_H
#define VIADUCT_TESTS_FAULT_FAULTS_H

#include <stdint.h>

typedef enum fault_kind { FAULT_ALLOCATION, FAULT_SYSTEM, FAULT_DRIVER, FAULT_KINDS } fault_kind;

/* One way for things to go wrong: the N-th call of a kind alone, or that one and all after it. */
typedef struct fault_plan {
    const char *name;
    fault_kind kind;
    int stays;
    int32_t result;       /* of calls of the driver */
    int poisons;          /* the driver's contexts instead of failing the call */
    const char *function; /* of the driver; NULL for any */
    const char *behind;   /* another that fails too, since only then it is called; NULL for none */
} fault_plan;

/* Leads the library's calls here; returns how many of its functions can fail. */
int meet_calls(void);

/* The functions that the library takes from elsewhere and nobody has said whether they can fail; "" for none. */
const char *unknown_functions(void);

/* The n-th call from now on, 1 being the next. */
void arm_fault(const fault_plan *plan, int64_t n);

/* The first that failed since; "" if none did. Good until the next disarm_faults. */
const char *what_failed(void);

/* Returns how many faults there were since. */
int64_t disarm_faults(void);

/* How many calls of the kind there were between the two. */
int64_t calls_met(void);

/* The same of a child, which reports it; and which functions of the driver a scenario called in one, if its number is
   not negative. */
void report_calls_of_child(int scenario);
int64_t calls_of_child(void);
int was_called(int scenario, int function);

/* Faults so far, also those of child processes. */
int64_t faults_of_kind(fault_kind kind);

/* Functions of the driver that never failed, one behind the other; returns how many. */
int never_failed_of_driver(char *out_names, int32_t capacity);

/* What the library has and has not given back. */
typedef struct holdings {
    int64_t blocks;
    int64_t mapped; /* bytes */
    int64_t files;
} holdings;

holdings count_holdings(void);

/* How often it gave back what it had not. */
int64_t freed_twice(void);

/* From now on the blocks that are asked for are remembered; prints those still there, by the function that made them.
 */
void print_blocks_since(int64_t number);
int64_t blocks_so_far(void);

#endif
