/* Memory mapped to a reserved range of addresses, as torch's expandable segments are. */
#ifndef VIADUCT_TESTS_GPU_MAPPING_H
#define VIADUCT_TESTS_GPU_MAPPING_H

#include "support.h"

enum { most_mapped_pieces = 4 };

/* A range of `pieces` units, some of which have memory. */
typedef struct mapping {
    CUdeviceptr base;
    size_t unit;
    int pieces;
    CUmemGenericAllocationHandle handles[most_mapped_pieces]; /* 0: nothing is mapped there */
} mapping;

static inline mapping reserve(int pieces) {
    mapping made = {.pieces = pieces};
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cu_ok(cu(cuMemGetAllocationGranularity)(&made.unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    cu_ok(cu(cuMemAddressReserve)(&made.base, made.unit * (size_t)pieces, 0, 0, 0));
    return made;
}

static inline CUdeviceptr piece_of(const mapping *of, int piece) { return of->base + of->unit * (size_t)piece; }

static inline void map_piece(mapping *of, int piece, CUmemAccess_flags access) {
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cu_ok(cu(cuMemCreate)(&of->handles[piece], of->unit, &properties, 0));
    cu_ok(cu(cuMemMap)(piece_of(of, piece), of->unit, 0, of->handles[piece], 0));
    if (access != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        const CUmemAccessDesc wanted = {.location = properties.location, .flags = access};
        cu_ok(cu(cuMemSetAccess)(piece_of(of, piece), of->unit, &wanted, 1));
    }
}

static inline void unmap_piece(mapping *of, int piece) {
    cu_ok(cu(cuMemUnmap)(piece_of(of, piece), of->unit));
    cu_ok(cu(cuMemRelease)(of->handles[piece]));
    of->handles[piece] = 0;
}

static inline void unreserve(mapping *of) {
    for (int i = 0; i < of->pieces; ++i) {
        if (of->handles[i] != 0) {
            unmap_piece(of, i);
        }
    }
    cu_ok(cu(cuMemAddressFree)(of->base, of->unit * (size_t)of->pieces));
}

#endif
