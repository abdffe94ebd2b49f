package org.viaduct;

/** A point in a stream, without timing. Counts as reached until it is recorded. */
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

    /** Records the end of the stream's work so far, replacing the point before. */
    public void record(ViaStream stream) {
        Calls.run(this, stream, Native::via_event_record);
    }

    /** Returns whether the recorded point has been reached. */
    public boolean isDone() {
        return Calls.get(this, Native::via_event_query) != 0;
    }

    /** Waits until the recorded point has been reached. */
    public void synchronize() {
        Calls.run(this, Native::via_event_synchronize);
    }
}
