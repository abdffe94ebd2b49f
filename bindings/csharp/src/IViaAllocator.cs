using System;

namespace Viaduct
{
    /// <summary>
    /// The caller's own memory: RMM, another library's pool. The stream is a native handle (a CUstream), zero for none.
    /// </summary>
    public interface IViaAllocator
    {
        /// <summary>
        /// Gives <paramref name="nbytes"/> (more than 0) aligned so, usable after the stream's work so far. Zero and
        /// an exception are failures; the exception becomes the inner one of a <see cref="ViaCallbackException"/>.
        /// </summary>
        IntPtr Allocate(long nbytes, long alignment, IntPtr stream);

        /// <summary>Frees what was given, once its uses have ended; on whichever thread releases it last.</summary>
        void Free(IntPtr address, long nbytes, IntPtr stream);
    }
}
