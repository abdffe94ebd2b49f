/* Looks inside a DLPack tensor, with the headers of the tarball alone. */
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <viaduct/viaduct.h>

int main(void) {
    static float numbers[] = {0, 1, 2, 3, 4, 5};
    int64_t shape[] = {2, 3};
    via_array *array;
    DLManagedTensorVersioned *tensor;
    if (via_wrap(numbers, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) != VIA_OK ||
        via_to_dlpack(array, NULL, NULL, &tensor) != VIA_OK) {
        fprintf(stderr, "%s\n", via_last_error());
        return 1;
    }
    via_array_release(array);
    printf("%d x %d, element 4 is %g\n", (int)tensor->dl_tensor.shape[0], (int)tensor->dl_tensor.shape[1],
           ((float *)tensor->dl_tensor.data)[4]);
    tensor->deleter(tensor);
    return 0;
}
