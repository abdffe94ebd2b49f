package org.viaduct;

import java.util.function.LongConsumer;

/**
 * Arrays out of Java and into it: for another native library of the process, by the address of a struct. Exports hold the
 * array's memory, and the array may be closed first. Imports consume on success only: on any failure the tensor is
 * untouched, and still belongs to the caller to delete. Options and streams may be null.
 */
public final class Exchange {
    private Exchange() {}

    /**
     * Exports an array as a DLPack 1.x tensor: the address of a DLManagedTensorVersioned, to be handed on or ended by
     * {@link #deleteDlpack}. The stream is made to wait until the array is ready; null is the legacy stream.
     */
    public static long toDlpack(ViaArray array, DlpackOptions options, ViaStream stream) {
        return MemoryPressure.retry(() -> Calls.get(array, stream, (from, order) ->
                DlpackOptions.with(options, asked -> Native.via_to_dlpack(from, asked, order))));
    }

    /** Imports a DLPack 1.x tensor, and owns it; it is ready after the stream's work so far. */
    public static ViaArray fromDlpack(long tensor, DlpackOptions options, ViaStream stream) {
        return new ViaArray(MemoryPressure.retry(() -> Calls.get(stream, order ->
                DlpackOptions.with(options, asked -> Native.via_from_dlpack(tensor, asked, order)))));
    }

    /** As {@link #toDlpack} in the form before 1.0: a DLManagedTensor. */
    public static long toDlpackLegacy(ViaArray array, DlpackOptions options, ViaStream stream) {
        return MemoryPressure.retry(() -> Calls.get(array, stream, (from, order) ->
                DlpackOptions.with(options, asked -> Native.via_to_dlpack_legacy(from, asked, order))));
    }

    /** As {@link #fromDlpack} for the form before 1.0. */
    public static ViaArray fromDlpackLegacy(long tensor, DlpackOptions options, ViaStream stream) {
        return new ViaArray(MemoryPressure.retry(() -> Calls.get(stream, order ->
                DlpackOptions.with(options, asked -> Native.via_from_dlpack_legacy(tensor, asked, order)))));
    }

    /** Deletes a tensor that was never imported; ignores 0. */
    public static void deleteDlpack(long tensor) {
        Native.via_dlpack_delete(tensor);
    }

    /** The same for the form before 1.0. */
    public static void deleteDlpackLegacy(long tensor) {
        Native.via_dlpack_delete_legacy(tensor);
    }

    /** Describes host, pinned or managed memory as NumPy's __array_interface__ does. It borrows. */
    public static ArrayInterface toArrayInterface(ViaArray array) {
        return reported(struct -> Calls.run(array, from -> Native.via_to_array_interface(from, struct)));
    }

    /** Wraps what such a description names; the owner, which may be null, is kept alive until the last view is gone. */
    public static ViaArray fromArrayInterface(ArrayInterface description, Object owner) {
        return described(description, owner, Native::via_from_array_interface);
    }

    /** Describes CUDA, pinned or managed memory as __cuda_array_interface__ does, and names the stream. It borrows. */
    public static ArrayInterface toCudaArrayInterface(ViaArray array, ViaStream stream) {
        return reported(struct -> Calls.run(array, stream, (from, order) ->
                Native.via_to_cuda_array_interface(from, order, struct)));
    }

    /** As {@link #fromArrayInterface} for CUDA's, ready after the stream that it names. */
    public static ViaArray fromCudaArrayInterface(ArrayInterface description, Object owner) {
        return described(description, owner, Native::via_from_cuda_array_interface);
    }

    /**
     * Exports a row-major array through Arrow's C device interface, by the addresses of an ArrowSchema and an
     * ArrowDeviceArray of the caller's, which need not be initialised and end by {@link #releaseArrow}.
     */
    public static void toArrowDevice(ViaArray array, long schema, long column) {
        Calls.run(array, from -> Native.via_to_arrow_device(from, schema, column));
    }

    /** Imports an Arrow device array, and owns it; the result is read-only. */
    public static ViaArray fromArrowDevice(long schema, long column, ViaStream stream) {
        return new ViaArray(Calls.get(stream, order -> Native.via_from_arrow_device(schema, column, order)));
    }

    /** Releases whichever of the two is not 0 and not yet released. */
    public static void releaseArrow(long schema, long column) {
        Native.via_arrow_release(schema, column);
    }

    private static ArrayInterface reported(LongConsumer call) {
        long struct = Native.new_via_array_interface();
        return Struct.filled(struct, Native::delete_via_array_interface, call, ArrayInterface::read);
    }

    private static ViaArray described(ArrayInterface description, Object owner, Calls.OfThree wrap) {
        long struct = Native.new_via_array_interface();
        return Struct.used(struct, Native::delete_via_array_interface, at -> {
            description.write(at);
            return owner == null ? new ViaArray(wrap.on(at, 0, 0)) : owned(at, owner, wrap);
        });
    }

    private static ViaArray owned(long struct, Object owner, Calls.OfThree wrap) {
        long held = Bridge.hold(new BorrowedMemory(owner, null, null));
        try {
            return new ViaArray(wrap.on(struct, Bridge.DROP, held));
        } catch (Throwable thrown) {
            Bridge.drop(held);
            throw thrown;
        }
    }
}
