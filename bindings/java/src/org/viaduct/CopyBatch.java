package org.viaduct;

/**
 * Copies that are run together, as often as wanted and by several threads at once. They must not overlap one another,
 * and nothing else may be going on while one is added.
 */
public final class CopyBatch extends Resource {
    private CopyBatch(long handle) {
        super(handle, Native::via_batch_release);
    }

    /** Creates an empty batch. */
    public static CopyBatch create() {
        return new CopyBatch(Native.via_batch_create());
    }

    /** Adds one copy and holds both arrays. */
    public CopyBatch add(ViaArray dst, ViaArray src) {
        Calls.run(this, dst, src, Native::via_batch_add);
        return this;
    }

    /** Adds one copy by index, as {@link Viaduct#copyIndexed} takes it, and holds all arrays. */
    public CopyBatch addIndexed(ViaArray dst, ViaArray dstIndex, ViaArray src, ViaArray srcIndex, int axis) {
        return addIndexed(dst, dstIndex, src, srcIndex, axis, null);
    }

    /** The same to another type; null options stand for one type. */
    public CopyBatch addIndexed(
            ViaArray dst, ViaArray dstIndex, ViaArray src, ViaArray srcIndex, int axis, ConvertOptions options) {
        try (Entered arrays = new Entered(new ViaArray[] {dst, dstIndex, src, srcIndex})) {
            long[] of = arrays.handles();
            ConvertOptions.with(options, asked -> {
                Calls.run(this, batch ->
                        Native.via_batch_add_indexed(batch, of[0], of[1], of[2], of[3], axis, asked));
                return 0;
            });
        }
        return this;
    }

    /** Adds one conversion, as {@link Viaduct#convert} takes it, and holds both arrays. */
    public CopyBatch addConvert(ViaArray dst, ViaArray src, ConvertOptions options) {
        ConvertOptions.with(options, asked -> {
            Calls.run(this, dst, src, (batch, to, from) -> Native.via_batch_add_convert(batch, to, from, asked));
            return 0;
        });
        return this;
    }

    /** Returns the number of copies. */
    public long size() {
        return Calls.get(this, Native::via_batch_size);
    }

    /** Runs all copies in stream order; null is the legacy stream. */
    public void run(ViaStream stream) {
        Calls.run(this, stream, Native::via_batch_run);
    }

    /** Runs all copies as one task after the stream's work so far; null is no stream. */
    public CopyTask submit(ViaStream stream) {
        return new CopyTask(Calls.get(this, stream, Native::via_batch_submit));
    }
}
