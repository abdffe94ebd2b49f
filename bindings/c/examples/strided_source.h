/*
 * An image library as there are many: it owns an image whose rows are padded, and exports a window of it. Any runtime
 * may work on the window in place; the image is freed when the last of them has released it.
 */
#ifndef STRIDED_SOURCE_H
#define STRIDED_SOURCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* Makes the image and exports its window as a DLPack tensor, which is the caller's. 0, or a via_status. */
int32_t strided_source_export(struct DLManagedTensorVersioned **out_tensor);

/* What the image holds at a place of the window, read through the library's own pointer; NAN once it is freed. */
float strided_source_read(int32_t row, int32_t column);

/* Consumes a tensor, prints what it holds, and releases it. 0, or a via_status: then it is still the caller's. */
int32_t strided_source_take(struct DLManagedTensorVersioned *tensor);

#ifdef __cplusplus
}
#endif

#endif
