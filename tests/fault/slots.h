/* Where a loaded object keeps the addresses of the functions that it calls of others. */
#ifndef VIADUCT_TESTS_FAULT_SLOTS_H
#define VIADUCT_TESTS_FAULT_SLOTS_H

typedef void (*slot_visitor)(const char *function, void **slot, void *context);

/*
 * Visits every such place of the object whose path holds `name`, of the program itself for "". The places can be
 * written from then on. Returns how many there are.
 */
int visit_slots(const char *name, slot_visitor visit, void *context);

/* 1 if the address lies inside the program itself. */
int is_in_program(const void *address);

#endif
