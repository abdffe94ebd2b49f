package org.viaduct;

/** A point in a stream, without timing. Until it is recorded it counts as reached. */
public final class ViaEvent extends Resource {
    private ViaEvent(long handle) {
        super(handle, Native::via_event_release);
    }

    public static ViaEvent create(int deviceId) {
        return new ViaEvent(Native.via_event_create(deviceId));
    }

    /** A foreign CUevent, which stays its owner's and must live as long as this object is used. */
    public static ViaEvent wrap(long nativeEvent, int deviceId) {
        return new ViaEvent(Native.via_event_wrap(nativeEvent, deviceId));
    }

    /** The CUevent. */
    public long nativeHandle() {
        return Calls.get(this, Native::via_event_handle);
    }

    /** Marks the end of the stream's work so far, in the place of what was marked before. */
    public void record(ViaStream stream) {
        Calls.run(this, stream, Native::via_event_record);
    }

    /** Whether the marked point has been reached. */
    public boolean isDone() {
        return Calls.get(this, Native::via_event_query) != 0;
    }

    /** Waits until the marked point has been reached. */
    public void synchronize() {
        Calls.run(this, Native::via_event_synchronize);
    }
}
