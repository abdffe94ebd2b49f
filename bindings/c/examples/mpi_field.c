/*
 * Two programs of one MPI job exchange strided arrays without packing. Rank 0, this one, is a simulation in C with a
 * padded field; rank 1, bindings/python/examples/mpi_field.py, works on tensors of PyTorch. Each describes its own
 * layout to MPI by what Viaduct knows of the array, so that neither need know the other's.
 *
 * mpiexec -n 1 mpi_field : -n 1 python mpi_field.py
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "viaduct/viaduct.h"

enum { ROWS = 6, COLUMNS = 8, PITCH = 16, TAG_FIELD = 1, TAG_CORRECTION = 2, TAG_WHOLE = 3, PYTHON = 1 };

static double field[ROWS][PITCH];

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "  C: %s: %s\n", via_status_name(status), via_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The next axis out: `count` times what there is, `step` bytes apart. */
static MPI_Datatype repeated(MPI_Datatype inner, int64_t count, int64_t step) {
    MPI_Datatype outer;
    MPI_Type_create_hvector((int)count, 1, (MPI_Aint)step, inner, &outer);
    MPI_Type_free(&inner);
    return outer;
}

/* One whole array as it lies in memory, its elements in row-major order, which is what both sides agree on. Elements
 * are bytes to MPI, so that any dtype of whole bytes will do. */
static MPI_Datatype datatype_of(via_array *array) {
    const int64_t *shape = via_array_shape(array);
    const int64_t *strides = via_array_byte_strides(array);
    MPI_Datatype built;
    MPI_Type_contiguous((int)(via_dtype_bits(via_array_dtype(array)) / 8), MPI_BYTE, &built);
    for (int32_t axis = via_array_ndim(array); axis-- > 0;) {
        built = repeated(built, shape[axis], strides[axis]);
    }
    MPI_Type_commit(&built);
    return built;
}

static void send(via_array *array, int tag) {
    MPI_Datatype kind = datatype_of(array);
    MPI_Send(via_array_data(array), 1, kind, PYTHON, tag, MPI_COMM_WORLD);
    MPI_Type_free(&kind);
}

static void receive(via_array *array, int tag) {
    MPI_Datatype kind = datatype_of(array);
    MPI_Recv(via_array_data(array), 1, kind, PYTHON, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&kind);
}

static void broadcast_column(via_array *array, int64_t column) {
    const int64_t start[] = {0, column};
    const int64_t count[] = {ROWS, 1};
    via_array *part = NULL;
    check(via_array_slice(array, start, count, NULL, &part));
    MPI_Datatype kind = datatype_of(part);
    MPI_Bcast(via_array_data(part), 1, kind, 0, MPI_COMM_WORLD);
    MPI_Type_free(&kind);
    via_array_release(part);
}

/* The columns in use, of rows that are longer. */
static via_array *wrap_field(void) {
    const int64_t shape[] = {ROWS, COLUMNS};
    const int64_t strides[] = {PITCH, 1};
    via_array *array = NULL;
    for (int i = 0; i < ROWS * PITCH; ++i) {
        field[i / PITCH][i % PITCH] = i % PITCH < COLUMNS ? i / PITCH * 10 + i % PITCH : -1;
    }
    check(via_wrap(field, VIA_FLOAT64, 2, shape, strides, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    return array;
}

/* Every second row, without the first and last column. */
static via_array *window_of(via_array *array) {
    const int64_t start[] = {0, 1};
    const int64_t count[] = {ROWS / 2, COLUMNS - 2};
    const int64_t step[] = {2, 1};
    via_array *window = NULL;
    check(via_array_slice(array, start, count, step, &window));
    return window;
}

/* What lies around the window is as it was. */
static int untouched(void) {
    int wrong = 0;
    for (int row = 0; row < ROWS; ++row) {
        for (int column = COLUMNS; column < PITCH; ++column) {
            wrong += field[row][column] != -1;
        }
        wrong += field[row][0] != row * 10 || field[row][COLUMNS - 1] != row * 10 + COLUMNS - 1;
    }
    return wrong == 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    via_array *array = wrap_field();
    via_array *window = window_of(array);
    via_array *dense = NULL;
    check(via_empty(NULL, VIA_FLOAT64, 2, via_array_shape(window), NULL, &dense));

    send(window, TAG_FIELD);
    receive(window, TAG_CORRECTION);
    printf("  C: corrected: %g, %g ... %g; around it all is %s\n", field[0][1], field[0][2], field[4][COLUMNS - 2],
           untouched() ? "as it was" : "CHANGED");
    /* A dense array needs no datatype of its own. */
    check(via_copy(dense, window));
    MPI_Send(via_array_data(dense), (int)via_array_size(dense), MPI_DOUBLE, PYTHON, TAG_WHOLE, MPI_COMM_WORLD);
    /* To every rank: one column, whose elements lie a row apart. */
    broadcast_column(array, COLUMNS - 1);

    via_array_release(dense);
    via_array_release(window);
    via_array_release(array);
    MPI_Finalize();
    return 0;
}
