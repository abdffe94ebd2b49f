#include "errors.hpp"

#include <cstdarg>
#include <cstdio>

#include "arguments.hpp"
#include "machine.hpp"

namespace viajava {
namespace {

void throw_made(JNIEnv *jenv, int32_t status, int32_t code, const char *text) {
    jbyteArray bytes = new_text(jenv, text);
    if (bytes == nullptr) {
        return;
    }
    jobject made = jenv->CallStaticObjectMethod(java().exceptions, java().make_exception, static_cast<jint>(status),
                                                static_cast<jint>(code), bytes);
    if (!jenv->ExceptionCheck()) {
        jenv->Throw(static_cast<jthrowable>(made));
    }
}

}  // namespace

void throw_status(JNIEnv *jenv, via_status status) {
    throw_made(jenv, status, via_last_error_code(), via_last_error());
}

void throw_argument(JNIEnv *jenv, const char *format, ...) {
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    throw_made(jenv, VIA_ERROR_INVALID_ARGUMENT, 0, text);
}

void throw_length(JNIEnv *jenv, const char *name, int32_t found, int32_t axes) {
    char text[128];
    snprintf(text, sizeof text, "%s has %d entries; expected one for each of %d axes", name, found, axes);
    throw_made(jenv, VIA_ERROR_SHAPE, 0, text);
}

void throw_out_of_memory(JNIEnv *jenv) {
    throw_made(jenv, VIA_ERROR_OUT_OF_MEMORY, 0, "no memory for the arguments of a call");
}

}  // namespace viajava
