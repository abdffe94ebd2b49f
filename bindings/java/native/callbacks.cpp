#include "callbacks.hpp"

#include "machine.hpp"

namespace viajava {
namespace {

jlong number_of(const void *address) { return static_cast<jlong>(reinterpret_cast<intptr_t>(address)); }

// The methods of Callbacks catch whatever is thrown, but for a stack or a heap that does not suffice to enter them.
bool went_well(JNIEnv *jenv) {
    bool raised = jenv->ExceptionCheck();
    if (raised) {
        jenv->ExceptionClear();
    }
    return !raised;
}

void call_and_drop(jmethodID method, void *context) {
    JNIEnv *jenv = environment();
    if (jenv == nullptr) {
        return;
    }
    jobject object = static_cast<jobject>(context);
    jenv->CallStaticVoidMethod(java().callbacks, method, object);
    went_well(jenv);
    jenv->DeleteGlobalRef(object);
}

}  // namespace

void drop(void *context) {
    JNIEnv *jenv = environment();
    if (jenv != nullptr) {
        jenv->DeleteGlobalRef(static_cast<jobject>(context));
    }
}

void release(void *context) { call_and_drop(java().release, context); }

int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    JNIEnv *jenv = environment();
    if (jenv == nullptr) {
        return 1;
    }
    jlong made =
        jenv->CallStaticLongMethod(java().callbacks, java().allocate, static_cast<jobject>(context),
                                   static_cast<jlong>(nbytes), static_cast<jlong>(alignment), number_of(stream));
    if (!went_well(jenv) || made == 0) {
        return 1;
    }
    *out_address = reinterpret_cast<void *>(static_cast<intptr_t>(made));
    return 0;
}

void free_memory(void *address, int64_t nbytes, void *stream, void *context) {
    JNIEnv *jenv = environment();
    if (jenv != nullptr) {
        jenv->CallStaticVoidMethod(java().callbacks, java().free, static_cast<jobject>(context), number_of(address),
                                   static_cast<jlong>(nbytes), number_of(stream));
        went_well(jenv);
    }
}

void complete(int32_t, const char *, void *context) { call_and_drop(java().complete, context); }

}  // namespace viajava
