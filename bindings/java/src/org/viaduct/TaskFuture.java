package org.viaduct;

import java.util.concurrent.CompletableFuture;

/** Completed when a task has ended; it holds the task until then, so that the task may be closed first. */
final class TaskFuture extends CompletableFuture<Void> {
    private final long task;
    private boolean released;

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

    /** Called once, when the task has ended: the wait tells at once what it came to. */
    void ended() {
        ViaductException failure = null;
        try {
            Native.via_task_wait(task);
        } catch (ViaductException thrown) {
            failure = thrown;
        }
        release();
        if (failure == null) {
            complete(null);
        } else {
            completeExceptionally(failure);
        }
    }

    /** Also asks the task to stop. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        stop();
        return super.cancel(mayInterruptIfRunning);
    }

    private synchronized void stop() {
        if (!released) {
            Native.via_task_cancel(task);
        }
    }

    private synchronized void release() {
        released = true;
        Native.via_task_release(task);
    }
}
