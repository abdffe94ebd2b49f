#pragma once

#include <jni.h>

namespace viajava {

// What is looked up once, when the JVM loads this library.
struct Java {
    JavaVM *machine;
    jclass exceptions;
    jmethodID make_exception;
    jclass callbacks;
    jmethodID release;
    jmethodID allocate;
    jmethodID free;
    jmethodID complete;
};

const Java &java();

// JNI of the calling thread. A thread that the JVM does not know is made known to it, as a daemon, until the thread
// ends. NULL once the JVM is gone.
JNIEnv *environment();

}  // namespace viajava
