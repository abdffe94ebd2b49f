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
            Native.complete_callback(Marshal.GetFunctionPointerForDelegate(KeptComplete));

        private TaskCompletionSource<bool> completion;

        /// <summary>Asked for by a share of the copy. No task is handed out that the library does not know of.</summary>
        internal Task Of(CopyTask copy)
        {
            lock (this)
            {
                if (completion == null)
                {
                    completion = Registered(copy);
                }
                return completion.Task;
            }
        }

        private static TaskCompletionSource<bool> Registered(CopyTask copy)
        {
            var made = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            IntPtr context = Callbacks.Give(made);
            try
            {
                Native.via_task_on_complete(copy, CompleteAddress, context);
            }
            catch
            {
                Callbacks.Take(context);
                throw;
            }
            return made;
        }

        private static void Complete(int status, IntPtr text, IntPtr context)
        {
            try
            {
                var source = (TaskCompletionSource<bool>)Callbacks.Take(context);
                if (status == (int)ViaStatus.Ok)
                {
                    source.TrySetResult(true);
                }
                else if (status == (int)ViaStatus.Cancelled)
                {
                    source.TrySetCanceled();
                }
                else
                {
                    source.TrySetException(Failure.Make((ViaStatus)status, Utf8.Text(text)));
                }
            }
            catch (Exception failure)
            {
                ViaLibrary.Report(failure);
            }
        }
    }
}
