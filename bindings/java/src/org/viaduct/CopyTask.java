package org.viaduct;

import java.util.concurrent.CompletableFuture;

/** A copy in progress. Closing a task does not stop it. */
public final class CopyTask extends Resource {
    private TaskFuture future;

    CopyTask(long handle) {
        super(handle, Native::via_task_release);
    }

    /** Waits for the end, and throws the task's error. */
    public void await() {
        Calls.run(this, Native::via_task_wait);
    }

    /** Returns whether the task has ended. */
    public boolean isDone() {
        return Calls.get(this, Native::via_task_poll) != 0;
    }

    public Progress progress() {
        long[] bytes = Calls.object(this, Native::via_task_progress);
        return new Progress(bytes[0], bytes[1]);
    }

    /** Requests cancellation; the task ends with {@link CancelledException} unless it was done already. */
    public void cancel() {
        Calls.run(this, Native::via_task_cancel);
    }

    /** Makes later work of the stream, null being the legacy one, wait on the device for the task. */
    public void join(ViaStream stream) {
        Calls.run(this, stream, Native::via_task_join);
    }

    /**
     * The end of the task, as often as asked for the same future; it ends exceptionally with what the task failed with,
     * and cancelling it cancels the task. It is completed on a thread of the library, where waiting for another task is
     * refused: what waits goes behind thenRunAsync and its like.
     */
    public synchronized CompletableFuture<Void> future() {
        if (future == null) {
            future = Calls.object(this, TaskFuture::of);
        }
        return future;
    }
}
