/* What a scenario is made of: calls of the library one after another, of which any may fail. */
#ifndef VIADUCT_TESTS_FAULT_SCENARIO_H
#define VIADUCT_TESTS_FAULT_SCENARIO_H

#include "support.h"

typedef struct scenario {
    const char *name;
    via_status (*run)(void);
    void (*prepare)(void); /* before each run, undisturbed; may be NULL */
    void (*finish)(void);  /* after it; what the test's helpers made is put away besides */
    int apart;             /* also as the first that a process does, and with contexts that are poisoned */
    int seconds;           /* takes some of them: with all faults only, but for failures by name */
    int driver_holds;      /* what the driver does not release when asked, nobody else can release */
} scenario;

/* Lists that end with one that has no name. */
extern const scenario array_scenarios[];
extern const scenario exchange_scenarios[];
extern const scenario order_scenarios[];
extern const scenario memory_scenarios[];
extern const scenario copy_scenarios[];
extern const scenario indexed_and_converted_scenarios[];
extern const scenario task_scenarios[];
extern const scenario file_scenarios[];
extern const scenario archive_scenarios[];

/*
 * Makes a call of the library if all before it have succeeded: THEN(via_wrap(...)) where a via_status called `status`
 * begins as VIA_OK. A failure must come with its text, and with an output that is NULL.
 */
#define THEN(call)                                  \
    do {                                            \
        if (status == VIA_OK) {                     \
            status = look_at_status((call), #call); \
        }                                           \
    } while (0)

/* The same for a promise that the scenario makes by itself, once all has succeeded. */
#define HOLDS(condition)                                            \
    do {                                                            \
        if (status == VIA_OK && !(condition)) complain(#condition); \
    } while (0)

via_status look_at_status(via_status status, const char *call);

/* Fails the test, and says at which fault. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int complaints(void);

/*
 * Who exports memory: reported exactly once that it is no longer used, if it has been exported. From then on the memory
 * is filled with scribble, so that a copy that still reads it copies nonsense, and one that still writes it is found
 * out.
 */
enum { scribble = 0xEE };

typedef struct owner {
    char *address;
    int64_t count;
    atomic_int reported;
    int exported;
} owner;

owner *new_owner(void *address, int64_t count);
void report_owner(void *context);

/* Wraps bytes for an owner of their own. */
via_status export(void *address, int64_t count, int32_t device_type, int32_t device_id, via_array **out_array);

/* For the runner. */
void note_place(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *noted_place(void);
void forget_complaints(void);
void forget_owners(void);
int owners_are_settled(void);
void look_at_owners(int may_be_early);

/* What is done between two faults, in which nothing may fail: `with_device` or on the host alone. */
void stay_healthy(int with_device);

#endif
