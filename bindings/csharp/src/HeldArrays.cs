using System;

namespace Viaduct
{
    /// <summary>
    /// The handles of arrays side by side, held as long as a call needs them. The list given is this one's alone.
    /// </summary>
    internal sealed class HeldArrays : IDisposable
    {
        private readonly ViaArray[] arrays;
        private int held;

        internal HeldArrays(ViaArray[] arrays)
        {
            this.arrays = arrays;
            Addresses = new IntPtr[arrays.Length];
            try
            {
                while (held < arrays.Length)
                {
                    Hold(arrays[held]);
                }
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        internal IntPtr[] Addresses { get; }

        public void Dispose()
        {
            while (held > 0)
            {
                arrays[--held].DangerousRelease();
            }
        }

        private void Hold(ViaArray array)
        {
            bool taken = false;
            if (array == null)
            {
                throw new ArgumentNullException("arrays", "An array of a batch is null.");
            }
            array.DangerousAddRef(ref taken);
            Addresses[held++] = array.DangerousGetHandle();
        }
    }
}
