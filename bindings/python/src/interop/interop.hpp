// The way into this room: every protocol by which arrays are imported and exported.
#pragma once

#include "interop/arrow.hpp"
#include "interop/asarray.hpp"
#include "interop/buffer.hpp"
#include "interop/convert.hpp"
#include "interop/dlpack_export.hpp"
#include "interop/dlpack_import.hpp"
#include "interop/exchange_table.hpp"
#include "interop/interface_export.hpp"
#include "interop/ipc.hpp"
#include "interop/wrap.hpp"
