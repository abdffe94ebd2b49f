using System;

namespace Viaduct
{
    /// <summary>
    /// The handles of arrays side by side, held as long as a call needs them. The list given is this one's alone.
    /// </summary>
    internal sealed class HeldArrays : IDisposable
    {
        private readonly ViaHandle.Hold[] holds;
        private int held;

        internal HeldArrays(ViaArray[] arrays, string parameter)
        {
            holds = new ViaHandle.Hold[arrays.Length];
            Addresses = new IntPtr[arrays.Length];
            try
            {
                while (held < arrays.Length)
                {
                    Hold(arrays[held], parameter);
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
                holds[--held].Dispose();
            }
        }

        private void Hold(ViaArray array, string parameter)
        {
            if (array == null)
            {
                throw new ArgumentNullException(parameter, parameter + "[" + held + "] is null; expected an array");
            }
            holds[held] = new ViaHandle.Hold(array);
            Addresses[held] = holds[held].Address;
            ++held;
        }
    }
}
