#include "machine.hpp"

#include "errors.hpp"

namespace viajava {
namespace {

constexpr jint kVersion = JNI_VERSION_10;

Java g_java = {};

// JNI of the calling thread as the JVM knows it now; NULL if it does not.
JNIEnv *known_environment() {
    void *found = nullptr;
    return java().machine->GetEnv(&found, kVersion) == JNI_OK ? static_cast<JNIEnv *>(found) : nullptr;
}

// Makes the thread known to the JVM as long as it lives. Others may detach it before: their own attaching changed
// nothing, and they cannot know. So what the JVM gave is not kept, and the thread is attached as often as needed.
class Attachment {
public:
    Attachment() = default;
    Attachment(const Attachment &) = delete;
    Attachment &operator=(const Attachment &) = delete;
    ~Attachment() {
        if (attached_ && known_environment() != nullptr) {
            java().machine->DetachCurrentThread();
        }
    }
    JNIEnv *attach() {
        JavaVMAttachArgs arguments = {kVersion, const_cast<char *>("viaduct-native"), nullptr};
        void *made = nullptr;
        attached_ = java().machine->AttachCurrentThreadAsDaemon(&made, &arguments) == JNI_OK;
        return attached_ ? static_cast<JNIEnv *>(made) : nullptr;
    }

private:
    bool attached_ = false;
};

// The class of that name as a reference that lasts; it keeps its loader, and so this library, in the JVM.
jclass find_class(JNIEnv *jenv, const char *name) {
    jclass found = jenv->FindClass(name);
    return found != nullptr ? static_cast<jclass>(jenv->NewGlobalRef(found)) : nullptr;
}

bool find_exceptions(JNIEnv *jenv, Java *found) {
    found->exceptions = find_class(jenv, "org/viaduct/ViaductException");
    if (found->exceptions == nullptr) {
        return false;
    }
    found->make_exception = jenv->GetStaticMethodID(found->exceptions, "of", "(II[B)Lorg/viaduct/ViaductException;");
    return found->make_exception != nullptr;
}

bool find_callbacks(JNIEnv *jenv, Java *found) {
    found->callbacks = find_class(jenv, "org/viaduct/Callbacks");
    if (found->callbacks == nullptr) {
        return false;
    }
    auto method = [&](const char *name, const char *signature) {
        return jenv->ExceptionCheck() ? nullptr : jenv->GetStaticMethodID(found->callbacks, name, signature);
    };
    found->release = method("release", "(Ljava/lang/Object;)V");
    found->allocate = method("allocate", "(Ljava/lang/Object;JJJ)J");
    found->free = method("free", "(Ljava/lang/Object;JJJ)V");
    found->complete = method("complete", "(Ljava/lang/Object;)V");
    return !jenv->ExceptionCheck();
}

// The library next to this one may be another than it was built with; the JVM throws what is pending.
bool serves(JNIEnv *jenv) {
    via_status status = via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR);
    if (status != VIA_OK) {
        throw_status(jenv, status);
    }
    return status == VIA_OK;
}

}  // namespace

const Java &java() { return g_java; }

JNIEnv *environment() {
    JNIEnv *known = known_environment();
    if (known != nullptr) {
        return known;
    }
    thread_local Attachment attachment;
    return attachment.attach();
}

}  // namespace viajava

// Everything else is known to the JVM by its name.
extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *machine, void *) {
    using namespace viajava;
    void *found = nullptr;
    if (machine->GetEnv(&found, kVersion) != JNI_OK) {
        return JNI_ERR;
    }
    JNIEnv *jenv = static_cast<JNIEnv *>(found);
    g_java.machine = machine;
    return find_exceptions(jenv, &g_java) && find_callbacks(jenv, &g_java) && serves(jenv) ? kVersion : JNI_ERR;
}
