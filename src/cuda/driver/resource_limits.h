/* How many of the driver's things the library keeps for itself. In C, since the tests of its interface count them too.
 */
#ifndef VIADUCT_CUDA_RESOURCE_LIMITS_H
#define VIADUCT_CUDA_RESOURCE_LIMITS_H

enum {
    via_max_internal_streams = 8, /* of a device */
    via_max_side_streams = 4,     /* of a device, for copies between two */
    via_max_rings = 3,            /* of a device, each larger than the one before */
    via_max_ring_slots = 16,      /* of a ring, each with an event */
    via_max_pinned_blocks = 1,    /* of pinned memory, besides the rings of each device: for small copies */
    via_pinned_block_bytes = 2097152,
    via_max_descriptor_tables =
        512,                      /* of batches, each in a block of its own with a fence; as many as ever ran at once */
    via_min_table_bytes = 131072, /* at least */
    via_max_table_bytes = 67108864, /* of one, and of all together */
    /* Fences of a context that nobody owns, each with an event. More than are ever under way in a program that waits
       now and then; an event of the driver is small. */
    via_max_idle_fences = 256
};

#endif
