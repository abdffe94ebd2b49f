#pragma once

#include <jni.h>

#include "viaduct/viaduct.h"

namespace viajava {

// Throws the exception of a failed call, with its text and code; called in the native frame that saw the status.
void throw_status(JNIEnv *jenv, via_status status);

// Throws what the library throws for an argument: "start: found 3 numbers, expected 2".
__attribute__((format(printf, 2, 3))) void throw_argument(JNIEnv *jenv, const char *format, ...);

void throw_out_of_memory(JNIEnv *jenv);

}  // namespace viajava
