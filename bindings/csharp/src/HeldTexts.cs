using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>Texts side by side, as addresses that hold until this is disposed of.</summary>
    internal sealed class HeldTexts : IDisposable
    {
        private readonly GCHandle[] pinned;

        internal HeldTexts(string[] texts, string parameter)
        {
            var bytes = Array.ConvertAll(texts, text => Utf8.Bytes(text, parameter));
            pinned = Array.ConvertAll(bytes, text => GCHandle.Alloc(text, GCHandleType.Pinned));
            Addresses = Array.ConvertAll(pinned, text => text.AddrOfPinnedObject());
        }

        internal IntPtr[] Addresses { get; }

        public void Dispose()
        {
            foreach (GCHandle text in pinned)
            {
                text.Free();
            }
        }
    }
}
