using System;
using System.Runtime.InteropServices;
using System.Threading.Tasks;

namespace Viaduct
{
    /// <summary>
    /// The end of a copy as a task of .NET. All shares of the copy have one: the library takes one callback for a copy.
    /// </summary>
    internal sealed class TaskEnd
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void CompleteFunction(int status, IntPtr text, IntPtr context);

        // Kept for ever: native code holds its address.
        private static readonly CompleteFunction KeptComplete = Complete;
        private static readonly IntPtr CompleteAddress =
            Native.complete_callback(Callbacks.Domain, Marshal.GetFunctionPointerForDelegate(KeptComplete));

        private CopyTask share;
        private TaskCompletionSource<bool> completion;

        /// <summary>Asked for by a share of the copy. No task is handed out that the library has not taken.</summary>
        internal Task Of(CopyTask copy)
        {
            lock (this)
            {
                if (completion == null)
                {
                    Register(copy.Share());
                }
                return completion.Task;
            }
        }

        // The callback may come before the registration returns.
        private void Register(CopyTask given)
        {
            IntPtr context = Callbacks.Give(this);
            share = given;
            completion = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            try
            {
                Native.via_task_on_complete(given, CompleteAddress, context);
            }
            catch
            {
                completion = null;
                Callbacks.Take(context);
                given.Dispose();
                throw;
            }
        }

        private static void Complete(int status, IntPtr text, IntPtr context)
        {
            try
            {
                ((TaskEnd)Callbacks.Take(context)).Report();
            }
            catch (Exception failure)
            {
                ViaLibrary.Report(failure);
            }
        }

        private void Report()
        {
            Exception failure = Failed();
            if (failure == null)
            {
                completion.TrySetResult(true);
            }
            else if (failure is ViaCancelledException)
            {
                completion.TrySetCanceled();
            }
            else
            {
                completion.TrySetException(failure);
            }
        }

        // The task has ended: the wait reports its result at once. The callback does not get its code. The share
        // goes before anybody is notified.
        private Exception Failed()
        {
            using (share)
            {
                try
                {
                    share.Wait();
                    return null;
                }
                catch (Exception failure)
                {
                    return failure;
                }
            }
        }
    }
}
