package org.viaduct;

/**
 * A queue of work on a CUDA device. Where a stream may be given, null means what that function says, mostly the legacy
 * stream; {@link #NO_SYNC} is no stream, for exchange alone.
 */
public final class ViaStream extends Resource {
    /** CUDA's legacy default stream. Nobody closes it, or the two below. */
    public static final ViaStream LEGACY = new ViaStream(Native.via_stream_legacy());

    /** CUDA's per-thread default stream: of whichever thread makes the call it is passed to. */
    public static final ViaStream PER_THREAD = new ViaStream(Native.via_stream_per_thread());

    /** Not a stream: do not order. */
    public static final ViaStream NO_SYNC = new ViaStream(Native.via_stream_no_sync());

    private ViaStream(long handle) {
        super(handle, Native::via_stream_release);
    }

    /** A new stream of a device, which does not synchronise with the legacy stream. */
    public static ViaStream create(int deviceId) {
        return new ViaStream(Native.via_stream_create(deviceId));
    }

    /**
     * A foreign CUstream, which stays its owner's and must live until the work queued through this object is done. 0 and
     * 1 are the legacy stream, 2 the calling thread's. A device of -1 is the stream's own.
     */
    public static ViaStream wrap(long nativeStream, int deviceId) {
        return new ViaStream(Native.via_stream_wrap(nativeStream, deviceId));
    }

    /** The calling thread's current stream of a device; the legacy one unless another was made so. */
    public static ViaStream current(int deviceId) {
        return new ViaStream(Native.via_stream_current(deviceId));
    }

    /**
     * Makes a stream the calling thread's current one for a device; null goes back to the legacy stream. That thread is the
     * system's: a virtual thread loses it where it waits, and others find it. Pass the stream there.
     */
    public static void setCurrent(int deviceId, ViaStream stream) {
        Calls.run(stream, given -> Native.via_stream_set_current(deviceId, given));
    }

    /** The CUstream; 1 and 2 for CUDA's default streams. */
    public long nativeHandle() {
        return Calls.get(this, Native::via_stream_handle);
    }

    public int deviceId() {
        return (int) Calls.get(this, Native::via_stream_device_id);
    }

    /** Waits until the stream's work so far is done. */
    public void synchronize() {
        Calls.run(this, Native::via_stream_synchronize);
    }

    /** Returns whether the stream's work so far is done. */
    public boolean isDone() {
        return Calls.get(this, Native::via_stream_query) != 0;
    }

    /** Makes later work of the stream wait, on the device, for the point that the event records now. */
    public void await(ViaEvent event) {
        Calls.run(this, event, Native::via_stream_wait);
    }

    /** Releases the stream, without waiting: what was queued still runs. The shared ones stay open. */
    @Override
    public void close() {
        if (this != LEGACY && this != PER_THREAD && this != NO_SYNC) {
            super.close();
        }
    }
}
