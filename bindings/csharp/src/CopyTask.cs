using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct
{
    /// <summary>
    /// A copy under way, to be awaited, polled or waited for. It runs on if this is closed.
    /// </summary>
    public sealed class CopyTask : ViaHandle
    {
        // Often enough for a bar on a screen.
        private const int ReportEvery = 50;

        private readonly TaskEnd end;

        internal CopyTask(IntPtr address)
            : this(address, new TaskEnd())
        {
        }

        private CopyTask(IntPtr address, TaskEnd end)
            : base(new Handle(address))
        {
            this.end = end;
        }

        /// <summary>Whether the copy has ended, however.</summary>
        public bool IsCompleted
        {
            get
            {
                Native.via_task_poll(this, out int done);
                return done != 0;
            }
        }

        /// <summary>The bytes known to be moved so far, and the bytes in all.</summary>
        public void GetProgress(out long done, out long total)
        {
            Native.via_task_progress(this, out done, out total);
        }

        /// <summary>Waits for the end; throws what the copy failed with.</summary>
        public void Wait()
        {
            Native.via_task_wait(this);
        }

        /// <summary>Asks the copy to stop; does not wait for it.</summary>
        public void Cancel()
        {
            Native.via_task_cancel(this);
        }

        /// <summary>Makes later work of a stream wait for the copy; null is the legacy stream.</summary>
        public void Join(ViaStream stream)
        {
            Native.via_task_join(this, stream ?? ViaStream.None);
        }

        /// <summary>
        /// The end as a task of .NET: faulted with what the copy failed with, cancelled if the copy was. Whoever awaits
        /// it goes on in the thread pool, never on a thread of the library.
        /// </summary>
        public Task AsTask()
        {
            return end.Of(this);
        }

        /// <summary>
        /// The same; the copy is asked to stop when the token is, and the task is then cancelled by that token. The bytes
        /// moved so far are reported while it runs, and those in all when it has ended.
        /// </summary>
        public async Task AsTask(CancellationToken cancellationToken, IProgress<long> progress = null)
        {
            using (CopyTask share = Share())
            using (cancellationToken.Register(share.Cancel))
            {
                try
                {
                    Task ended = share.AsTask();
                    await share.ReportUntil(ended, progress).ConfigureAwait(false);
                    await ended.ConfigureAwait(false);
                }
                catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
                {
                    throw new OperationCanceledException(cancellationToken);
                }
                share.Report(progress);
            }
        }

        /// <summary>The same for a copy that the task keeps, and closes when it has ended.</summary>
        internal async Task Ended(CancellationToken cancellationToken, IProgress<long> progress)
        {
            using (this)
            {
                await AsTask(cancellationToken, progress).ConfigureAwait(false);
            }
        }

        private async Task ReportUntil(Task ended, IProgress<long> progress)
        {
            while (progress != null
                && await Task.WhenAny(ended, Task.Delay(ReportEvery)).ConfigureAwait(false) != ended)
            {
                Report(progress);
            }
        }

        private void Report(IProgress<long> progress)
        {
            long done, total;
            if (progress != null)
            {
                GetProgress(out done, out total);
                progress.Report(done);
            }
        }

        /// <summary>Makes it awaitable.</summary>
        public TaskAwaiter GetAwaiter()
        {
            return AsTask().GetAwaiter();
        }

        /// <summary>The same copy with a share of its own.</summary>
        public CopyTask Share()
        {
            return new CopyTask(Retained(Native.via_task_retain), end);
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_task_release(handle);
                return true;
            }
        }
    }
}
