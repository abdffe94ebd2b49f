// The native methods of org.viaduct.Bridge: what JNI does, and not the library.

#include <jni.h>

#include <algorithm>

#include "arguments.hpp"
#include "callbacks.hpp"
#include "errors.hpp"

namespace {

using namespace viajava;

template <class Function>
jlong address_of(Function *function) {
    return static_cast<jlong>(reinterpret_cast<intptr_t>(function));
}

// The order of Layout.java: what is known of every array, then its extents, and its strides where they can be reported.
constexpr int kFacts = 10;

jlong *append(jlong *at, const int64_t *values, int32_t ndim) {
    return values != nullptr ? std::copy(values, values + ndim, at) : at;
}

}  // namespace

extern "C" {

JNIEXPORT jlongArray JNICALL Java_org_viaduct_Bridge_describe(JNIEnv *jenv, jclass, jlong handle) {
    via_array *array = reinterpret_cast<via_array *>(static_cast<intptr_t>(handle));
    const int64_t *strides = via_array_strides(array);
    const int64_t *byte_strides = via_array_byte_strides(array);
    int32_t ndim = via_array_ndim(array);
    jlong facts[kFacts + 3 * VIA_MAX_NDIM] = {address_of(via_array_data(array)),
                                              via_array_dtype(array),
                                              ndim,
                                              via_array_device_type(array),
                                              via_array_device_id(array),
                                              via_array_size(array),
                                              via_array_nbytes(array),
                                              via_array_flags(array),
                                              ndim == 0 || strides != nullptr,
                                              ndim == 0 || byte_strides != nullptr};
    jlong *end = append(facts + kFacts, via_array_shape(array), ndim);
    end = append(append(end, strides, ndim), byte_strides, ndim);
    return new_longs(jenv, reinterpret_cast<const int64_t *>(facts), static_cast<int32_t>(end - facts));
}

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_address(JNIEnv *jenv, jclass, jobject buffer) {
    return address_of(jenv->GetDirectBufferAddress(buffer));
}

JNIEXPORT jobject JNICALL Java_org_viaduct_Bridge_buffer(JNIEnv *jenv, jclass, jlong address, jlong count) {
    return jenv->NewDirectByteBuffer(reinterpret_cast<void *>(static_cast<intptr_t>(address)), count);
}

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_allocated(JNIEnv *, jclass) {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    const bool reported = via_stats(&stats) == VIA_OK;
    return reported ? stats.host_bytes + stats.pinned_bytes + stats.managed_bytes : 0;
}

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_hold(JNIEnv *jenv, jclass, jobject object) {
    jobject held = jenv->NewGlobalRef(object);
    if (held == nullptr) {
        throw_out_of_memory(jenv);
    }
    return address_of(held);
}

JNIEXPORT void JNICALL Java_org_viaduct_Bridge_drop(JNIEnv *jenv, jclass, jlong held) {
    jenv->DeleteGlobalRef(reinterpret_cast<jobject>(static_cast<intptr_t>(held)));
}

JNIEXPORT jobject JNICALL Java_org_viaduct_Bridge_held(JNIEnv *jenv, jclass, jlong held) {
    return jenv->NewLocalRef(reinterpret_cast<jobject>(static_cast<intptr_t>(held)));
}

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_dropFunction(JNIEnv *, jclass) { return address_of(drop); }

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_releaseFunction(JNIEnv *, jclass) { return address_of(release); }

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_allocateFunction(JNIEnv *, jclass) { return address_of(allocate); }

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_freeFunction(JNIEnv *, jclass) { return address_of(free_memory); }

JNIEXPORT jlong JNICALL Java_org_viaduct_Bridge_completeFunction(JNIEnv *, jclass) { return address_of(complete); }
}
