#pragma once

#include <jni.h>

#include <cstdint>

// What the library calls, on any thread, for objects of Java. The context of each is a global reference.
namespace viajava {

// Lets the object go.
void drop(void *context);

// Calls Callbacks.release with the object, then releases it.
void release(void *context);

// Callbacks.allocate and .free: the object is an Allocator, which the memory's release releases.
int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address);
void free_memory(void *address, int64_t nbytes, void *stream, void *context);

// Calls Callbacks.complete with the object, which asks the task itself for its result; then releases it.
void complete(int32_t status, const char *text, void *context);

}  // namespace viajava
