package org.viaduct;

import java.util.concurrent.CompletableFuture;

/** Completed when a task has ended; it holds the task until then, so that the task may be closed first. */
final class TaskFuture extends CompletableFuture<Void> {
    private final long task;
    private boolean released;
    private boolean stopped;

    private TaskFuture(long task) {
        this.task = task;
    }

    static TaskFuture of(long task) {
        TaskFuture made = new TaskFuture(task);
        long held = Bridge.hold(made);
        Native.via_task_retain(task);
        try {
            Native.via_task_on_complete(task, Bridge.COMPLETE, held);
        } catch (Throwable thrown) {
            Native.via_task_release(task);
            Bridge.drop(held);
            throw thrown;
        }
        return made;
    }

    /** Called once, when the task has ended: the wait reports its result at once. */
    void ended() {
        ViaductException failure = null;
        try {
            Native.via_task_wait(task);
        } catch (ViaductException thrown) {
            failure = thrown;
        }
        if (wasStopped()) {
            super.cancel(false);
        } else if (failure == null) {
            complete(null);
        } else {
            completeExceptionally(failure);
        }
    }

    /** Also asks the task to stop, and first: what depends on this future may wait for the task. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        stop();
        return super.cancel(mayInterruptIfRunning);
    }

    private synchronized void stop() {
        if (!released) {
            stopped = true;
            Native.via_task_cancel(task);
        }
    }

    /** Releases the task. Who has stopped it has cancelled this future, though the task's end may come first. */
    private synchronized boolean wasStopped() {
        released = true;
        Native.via_task_release(task);
        return stopped;
    }
}
