#pragma once

#include <jni.h>

#include "viaduct/viaduct.h"

namespace viajava {

// Throws the exception of a failed call, with its text and code; called in the native frame that saw the status.
void throw_status(JNIEnv *jenv, via_status status);

// Throws what the library throws for an argument: "path is null; expected a text".
__attribute__((format(printf, 2, 3))) void throw_argument(JNIEnv *jenv, const char *format, ...);

// The same for a list that has not one entry for each axis.
void throw_length(JNIEnv *jenv, const char *name, int32_t found, int32_t axes);

void throw_out_of_memory(JNIEnv *jenv);

}  // namespace viajava
