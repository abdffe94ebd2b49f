using System;
using System.Buffers;

namespace Viaduct
{
    /// <summary>
    /// What holds wrapped memory, and what is to be done when nobody uses it any more. The library is given an owner, or
    /// a release, as it is; only both together, and a Memory that is pinned, take an object of this class.
    /// </summary>
    internal sealed class BorrowedMemory
    {
        private readonly object owner;
        private readonly Action release;
        private MemoryHandle pinned;

        private BorrowedMemory(object owner, Action release)
        {
            this.owner = owner;
            this.release = release;
        }

        internal BorrowedMemory(object owner, MemoryHandle pinned)
        {
            this.owner = owner;
            this.pinned = pinned;
        }

        /// <summary>Returns the object to keep; null if there is none. An owner that is an Action is not run.</summary>
        internal static object Of(object owner, Action release)
        {
            if (owner == null || (release == null && !(owner is Action)))
            {
                return owner ?? release;
            }
            return new BorrowedMemory(owner, release);
        }

        internal static object OwnerOf(object kept)
        {
            var borrowed = kept as BorrowedMemory;
            return borrowed != null ? borrowed.owner : kept is Action ? null : kept;
        }

        internal static void End(object kept)
        {
            var borrowed = kept as BorrowedMemory;
            borrowed?.pinned.Dispose();
            (borrowed != null ? borrowed.release : kept as Action)?.Invoke();
        }
    }
}
