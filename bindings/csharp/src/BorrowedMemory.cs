using System;
using System.Buffers;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>What holds wrapped memory, and what is to be done when nobody uses it any more.</summary>
    internal sealed class BorrowedMemory
    {
        private readonly Action release;
        private GCHandle pinnedArray;
        private MemoryHandle pinnedMemory;

        internal BorrowedMemory(object owner, Action release)
        {
            Owner = owner;
            this.release = release;
        }

        internal BorrowedMemory(Array pinned)
        {
            Owner = pinned;
            try
            {
                pinnedArray = GCHandle.Alloc(pinned, GCHandleType.Pinned);
            }
            catch (ArgumentException refused)
            {
                throw new ViaDTypeException("ViaArray.Wrap: values are " + pinned.GetType().GetElementType()
                    + "; expected numbers, or structs that the runtime pins", 0, refused);
            }
        }

        internal BorrowedMemory(object owner, MemoryHandle pinned)
        {
            Owner = owner;
            pinnedMemory = pinned;
        }

        internal object Owner { get; }

        internal IntPtr PinnedArray
        {
            get { return pinnedArray.AddrOfPinnedObject(); }
        }

        internal void End()
        {
            if (pinnedArray.IsAllocated)
            {
                pinnedArray.Free();
            }
            pinnedMemory.Dispose();
            release?.Invoke();
        }
    }
}
