/**
 * @file viaduct.hpp
 * @brief Viaduct for C++17 and newer: the C API with owners, typed views and errors, without overhead.
 *
 * Header-only: everything inlines into calls of viaduct.h, which documents each function, its ownership and its stream
 * rules. These headers add:
 *
 * Owners. Array, Stream, Event, Memory, Task, Batch, File and Archive are move-only and as large as a pointer. share()
 * adds an owner. get() borrows the C handle, release() passes its ownership to the caller, and Array(handle) consumes a
 * handle.
 *
 * Errors. A failing call throws an Error of its status's own type (ShapeError, PointerError ...) with the library's
 * text. With VIADUCT_RETURN_ERRORS defined to 1 before the first include, or without exceptions in the compiler, it
 * returns a Result<T> instead: std::expected<T, Error> if the standard library has it, otherwise a small class with the
 * same members. One program may contain all of these, in different inline namespaces. A Result<T> below is T if errors
 * are thrown.
 *
 * Lists. Pass shapes, strides and axes as {2, 3}, a vector, an array or a span, of any integral type; {} is the C API's
 * NULL. Strides count elements, as in C; byte_strides() counts bytes, as Python does.
 */
#ifndef VIADUCT_VIADUCT_HPP
#define VIADUCT_VIADUCT_HPP

#include "viaduct/cpp/archive.hpp"
#include "viaduct/cpp/array.hpp"
#include "viaduct/cpp/copy.hpp"
#include "viaduct/cpp/dtype.hpp"
#include "viaduct/cpp/elements.hpp"
#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/exchange.hpp"
#include "viaduct/cpp/file.hpp"
#include "viaduct/cpp/handle.hpp"
#include "viaduct/cpp/library.hpp"
#include "viaduct/cpp/list.hpp"
#include "viaduct/cpp/memory.hpp"
#include "viaduct/cpp/order.hpp"
#include "viaduct/cpp/task.hpp"

#endif
