#include "arguments.hpp"

#include <algorithm>

#include "errors.hpp"

namespace viajava {
namespace {

void read_region(JNIEnv *jenv, jlongArray from, jsize count, int64_t *values) {
    static_assert(sizeof(jlong) == sizeof(int64_t));
    jenv->GetLongArrayRegion(from, 0, count, reinterpret_cast<jlong *>(values));
}

void read_region(JNIEnv *jenv, jintArray from, jsize count, int32_t *values) {
    jenv->GetIntArrayRegion(from, 0, count, values);
}

bool refuse_null(JNIEnv *jenv, const char *name, jobject given) {
    if (given == nullptr) {
        throw_argument(jenv, "%s is null; expected a value", name);
    }
    return given == nullptr;
}

// Makes room for so many values. False with an exception pending if there is no memory.
template <class Value>
bool make_room(JNIEnv *jenv, int64_t count, std::unique_ptr<Value[]> *out) {
    out->reset(new (std::nothrow) Value[static_cast<size_t>(count)]);
    if (*out == nullptr) {
        throw_out_of_memory(jenv);
    }
    return *out != nullptr;
}

// Copies the bytes and ends them; a 0 among them would cut the text short.
bool read_bytes(JNIEnv *jenv, const char *name, jbyteArray from, char *text, jsize length) {
    jenv->GetByteArrayRegion(from, 0, length, reinterpret_cast<jbyte *>(text));
    text[length] = 0;
    if (std::strlen(text) != static_cast<size_t>(length)) {
        throw_argument(jenv, "%s has a 0 character inside; expected a text without one", name);
        return false;
    }
    return true;
}

}  // namespace

jbyteArray new_text(JNIEnv *jenv, const char *text) {
    return text != nullptr ? new_bytes(jenv, text, static_cast<int64_t>(std::strlen(text))) : nullptr;
}

jbyteArray new_bytes(JNIEnv *jenv, const void *bytes, int64_t length) {
    const jsize count = static_cast<jsize>(length);
    jbyteArray made = jenv->NewByteArray(count);
    if (made != nullptr) {
        jenv->SetByteArrayRegion(made, 0, count, static_cast<const jbyte *>(bytes));
    }
    return made;
}

jlongArray new_longs(JNIEnv *jenv, const int64_t *values, int32_t count) {
    jlongArray made = jenv->NewLongArray(count);
    if (made != nullptr) {
        jenv->SetLongArrayRegion(made, 0, count, reinterpret_cast<const jlong *>(values));
    }
    return made;
}

void read_longs(JNIEnv *jenv, jlongArray from, int64_t *values, int32_t count) {
    if (from != nullptr) {
        read_region(jenv, from, std::min(jenv->GetArrayLength(from), count), values);
    }
}

bool read_text(JNIEnv *jenv, const char *name, jbyteArray from, char *text, int32_t capacity) {
    if (refuse_null(jenv, name, from)) {
        return false;
    }
    jsize length = jenv->GetArrayLength(from);
    if (length >= capacity) {
        throw_argument(jenv, "%s has %d bytes; expected at most %d", name, length, capacity - 1);
        return false;
    }
    return read_bytes(jenv, name, from, text, length);
}

bool Text::read(JNIEnv *jenv, const char *name, jbyteArray from) {
    if (from == nullptr) {
        return true;
    }
    jsize length = jenv->GetArrayLength(from);
    return make_room(jenv, int64_t{length} + 1, &bytes_) && read_bytes(jenv, name, from, bytes_.get(), length);
}

bool Bytes::read(JNIEnv *jenv, const char *name, jbyteArray from) {
    if (refuse_null(jenv, name, from)) {
        return false;
    }
    const jsize length = jenv->GetArrayLength(from);
    jenv->GetByteArrayRegion(from, 0, std::min<jsize>(length, sizeof bytes_), reinterpret_cast<jbyte *>(bytes_));
    length_ = length;
    return true;
}

template <class Number, class Array>
void PerAxis<Number, Array>::read(JNIEnv *jenv, Array from) {
    if (from == nullptr) {
        return;
    }
    given_ = true;
    count_ = jenv->GetArrayLength(from);
    read_region(jenv, from, std::min<jsize>(count_, VIA_MAX_NDIM), values_);
}

template <class Number, class Array>
bool PerAxis<Number, Array>::read_shape(JNIEnv *jenv, const char *name, Array from) {
    read(jenv, from);
    return !refuse_null(jenv, name, from);
}

template <class Number, class Array>
bool PerAxis<Number, Array>::read_per_axis(JNIEnv *jenv, const char *name, Array from, int32_t expected) {
    read(jenv, from);
    if (given_ && count_ != expected) {
        throw_length(jenv, name, count_, expected);
        return false;
    }
    return true;
}

template class PerAxis<int64_t, jlongArray>;
template class PerAxis<int32_t, jintArray>;

template <class Value>
bool LongList<Value>::read(JNIEnv *jenv, const char *name, jlongArray from) {
    static_assert(sizeof(Value) == sizeof(jlong));
    if (refuse_null(jenv, name, from)) {
        return false;
    }
    count_ = jenv->GetArrayLength(from);
    if (!make_room(jenv, count_, &values_)) {
        return false;
    }
    jenv->GetLongArrayRegion(from, 0, count_, reinterpret_cast<jlong *>(values_.get()));
    return true;
}

template <class Value>
bool LongList<Value>::has_length(JNIEnv *jenv, const char *name, int32_t expected) const {
    if (count_ != expected) {
        throw_argument(jenv, "%s has %d arrays; expected %d", name, count_, expected);
    }
    return count_ == expected;
}

template class LongList<int64_t>;
template class LongList<via_array *>;

bool LongText::allocate(JNIEnv *jenv, int64_t nbytes) { return make_room(jenv, nbytes, &bytes_); }

bool Texts::read(JNIEnv *jenv, const char *name, jobjectArray from, int32_t expected) {
    if (refuse_null(jenv, name, from)) {
        return false;
    }
    const jsize count = jenv->GetArrayLength(from);
    if (count != expected) {
        throw_length(jenv, name, count, expected);
        return false;
    }
    if (!make_room(jenv, count, &texts_) || !make_room(jenv, count, &addresses_)) {
        return false;
    }
    for (jsize i = 0; i < count; ++i) {
        const auto text = static_cast<jbyteArray>(jenv->GetObjectArrayElement(from, i));
        const bool is_read = texts_[static_cast<size_t>(i)].read(jenv, name, text);
        jenv->DeleteLocalRef(text);
        if (!is_read) {
            return false;
        }
        addresses_[static_cast<size_t>(i)] = texts_[static_cast<size_t>(i)].data();
    }
    return true;
}

}  // namespace viajava
