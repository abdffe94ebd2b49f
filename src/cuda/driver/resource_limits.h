/* How many of the driver's things the library keeps for itself. In C, since the tests of its interface count them too.
 */
#ifndef VIADUCT_CUDA_KEPT_H
#define VIADUCT_CUDA_KEPT_H

enum {
    via_kept_streams = 8, /* of a device */
    via_kept_slots = 16,  /* of a device's ring, each with an event */
    via_kept_blocks = 1,  /* of page-locked memory, beside the ring of each device: for small copies */
    via_kept_block_bytes = 2097152,
    via_kept_tables = 512,         /* of batches, each in a block of its own with a mark; as many as ever ran at once */
    via_kept_table_bytes = 131072, /* at least */
    via_kept_most_table_bytes = 67108864, /* of one, and of all together */
    /* Marks of a context that nobody owns, each with an event. More than are ever under way in a program that waits now
       and then; an event of the driver is small. */
    via_kept_marks = 256
};

#endif
