#pragma once

#include <jni.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "viaduct/viaduct.h"

// What SWIG's wrappers turn Java's arguments into, and results into Java's. Where a reader answers false, an exception
// is pending.
namespace viajava {

static_assert(sizeof(void *) == sizeof(jlong), "addresses cross as long");

jbyteArray new_text(JNIEnv *jenv, const char *text);
jbyteArray new_bytes(JNIEnv *jenv, const void *bytes, int64_t length);
jlongArray new_longs(JNIEnv *jenv, const int64_t *values, int32_t count);

// As many as there are of the first `count`; the rest stays as it is.
void read_longs(JNIEnv *jenv, jlongArray from, int64_t *values, int32_t count);

// A text that fits, its ending 0 included.
bool read_text(JNIEnv *jenv, const char *name, jbyteArray from, char *text, int32_t capacity);

// A text of any length, ended by 0; NULL for null.
class Text {
public:
    bool read(JNIEnv *jenv, const char *name, jbyteArray from);
    char *data() const { return bytes_.get(); }

private:
    std::unique_ptr<char[]> bytes_;
};

// A description of an array for other processes. More bytes than one has are counted and not read: the library refuses
// them.
class Bytes {
public:
    bool read(JNIEnv *jenv, const char *name, jbyteArray from);
    const void *data() const { return bytes_; }
    int64_t length() const { return length_; }

private:
    int64_t length_ = 0;
    char bytes_[VIA_IPC_MAX_BYTES];
};

// One number for each axis. More of them than an array may have are counted and not read: the library refuses them.
template <class Number, class Array>
class PerAxis {
public:
    bool read_shape(JNIEnv *jenv, const char *name, Array from);
    void read(JNIEnv *jenv, Array from);
    bool read_per_axis(JNIEnv *jenv, const char *name, Array from, int32_t expected);
    int32_t count() const { return count_; }
    Number *data() { return given_ ? values_ : nullptr; }

private:
    int32_t count_ = 0;
    bool given_ = false;
    Number values_[VIA_MAX_NDIM];
};

using Extents = PerAxis<int64_t, jlongArray>;
using Axes = PerAxis<int32_t, jintArray>;

// Numbers of any count, or the handles of arrays.
template <class Value>
class LongList {
public:
    bool read(JNIEnv *jenv, const char *name, jlongArray from);
    bool has_length(JNIEnv *jenv, const char *name, int32_t expected) const;
    int32_t count() const { return count_; }
    Value *data() const { return values_.get(); }

private:
    int32_t count_ = 0;
    std::unique_ptr<Value[]> values_;
};

using Longs = LongList<int64_t>;
using Handles = LongList<via_array *>;

// Room for a text.
class LongText {
public:
    bool allocate(JNIEnv *jenv, int64_t nbytes);
    char *data() const { return bytes_.get(); }

private:
    std::unique_ptr<char[]> bytes_;
};

// Texts, one for each of `expected` arrays.
class Texts {
public:
    bool read(JNIEnv *jenv, const char *name, jobjectArray from, int32_t expected);
    const char **data() { return addresses_.get(); }

private:
    std::unique_ptr<Text[]> texts_;
    std::unique_ptr<const char *[]> addresses_;
};

}  // namespace viajava
