using System;
using System.Buffers;

namespace Viaduct
{
    /// <summary>Elements of an array as Memory, which keeps the array by a share of its own.</summary>
    internal sealed unsafe class ArrayMemory<T> : MemoryManager<T>
        where T : struct
    {
        private readonly ViaArray array;
        private readonly IntPtr address;
        private readonly int count;
        private ViaHandle.Hold pin;

        internal ArrayMemory(ViaArray array, IntPtr address, int count)
        {
            this.array = array;
            this.address = address;
            this.count = count;
        }

        public override Span<T> GetSpan()
        {
            return new Span<T>((void*)address, count);
        }

        // The memory never moves; a pin holds the array by one share more.
        public override MemoryHandle Pin(int elementIndex = 0)
        {
            pin = new ViaHandle.Hold(array);
            long offset = elementIndex * (array.DType.Bits / 8);
            return new MemoryHandle((byte*)address + offset, default(System.Runtime.InteropServices.GCHandle), this);
        }

        public override void Unpin()
        {
            pin.Dispose();
        }

        protected override void Dispose(bool disposing)
        {
            array.Dispose();
        }
    }
}
