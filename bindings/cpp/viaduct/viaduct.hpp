/**
 * @file viaduct.hpp
 * @brief Viaduct for C++17 and newer: the C API with owners, typed views and errors, at no cost of its own.
 *
 * Header-only: everything here inlines into calls of viaduct.h, which says what each function means, who owns what and
 * which stream must live until when. What is added:
 *
 * Owners. Array, Stream, Event, Memory, Task, Batch and File are move-only and as large as a pointer; share() makes one
 * more owner. get() lends the C handle, release() gives it away, and Array(handle) takes one over.
 *
 * Errors. A failing call throws an Error of its status's own type (ShapeError, PointerError ...) with the library's
 * text. With VIADUCT_RETURN_ERRORS defined to 1 before the first include, or without exceptions in the compiler, it
 * returns a Result<T> instead: std::expected<T, Error> where there is one, else a small class with the same members.
 * Both kinds may be in one program; they are in different inline namespaces. A Result<T> below is T where errors are
 * thrown.
 *
 * Lists. Shapes, strides and axes are given as {2, 3}, a vector, an array or a span, of any integral type; {} is the C
 * API's NULL. Strides count elements, as in C; those of byte_strides() are bytes, as Python's.
 */
#ifndef VIADUCT_VIADUCT_HPP
#define VIADUCT_VIADUCT_HPP

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
