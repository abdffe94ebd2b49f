using System;
using System.Runtime.CompilerServices;

namespace Viaduct
{
    /// <summary>Turns what the library answered into exceptions.</summary>
    internal static class Failure
    {
        // What the caller's own callback threw during this thread's call.
        [ThreadStatic]
        private static Exception thrownByCallback;

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal static void Check(int status)
        {
            if (status != 0)
            {
                throw Last(status);
            }
        }

        internal static void Remember(Exception thrown)
        {
            thrownByCallback = thrown;
        }

        internal static ViaException Last(int status)
        {
            string text = Utf8.Text(Native.via_last_error());
            int code = Native.via_last_error_code();
            Exception inner = status == (int)ViaStatus.Callback ? thrownByCallback : null;
            thrownByCallback = null;
            return Make((ViaStatus)status, text, code, inner);
        }

        // The one table. A status that is not here becomes the base class.
        internal static ViaException Make(ViaStatus status, string text, int code = 0, Exception inner = null)
        {
            switch (status)
            {
                case ViaStatus.InvalidArgument: return new ViaInvalidArgumentException(text, code, inner);
                case ViaStatus.DType: return new ViaDTypeException(text, code, inner);
                case ViaStatus.Shape: return new ViaShapeException(text, code, inner);
                case ViaStatus.Index: return new ViaIndexException(text, code, inner);
                case ViaStatus.Overflow: return new ViaOverflowException(text, code, inner);
                case ViaStatus.OutOfMemory: return new ViaOutOfMemoryException(text, code, inner);
                case ViaStatus.ReadOnly: return new ViaReadOnlyException(text, code, inner);
                case ViaStatus.Overlap: return new ViaOverlapException(text, code, inner);
                case ViaStatus.NeedsCopy: return new ViaNeedsCopyException(text, code, inner);
                case ViaStatus.Exchange: return new ViaExchangeException(text, code, inner);
                case ViaStatus.Version: return new ViaVersionException(text, code, inner);
                case ViaStatus.Device: return new ViaDeviceException(text, code, inner);
                case ViaStatus.Pointer: return new ViaPointerException(text, code, inner);
                case ViaStatus.Unsupported: return new ViaUnsupportedException(text, code, inner);
                case ViaStatus.Cuda: return new ViaCudaException(text, code, inner);
                case ViaStatus.StreamCapture: return new ViaStreamCaptureException(text, code, inner);
                case ViaStatus.Forked: return new ViaForkedException(text, code, inner);
                case ViaStatus.WouldDeadlock: return new ViaWouldDeadlockException(text, code, inner);
                case ViaStatus.Cancelled: return new ViaCancelledException(text, code, inner);
                case ViaStatus.Io: return new ViaIoException(text, code, inner);
                case ViaStatus.Format: return new ViaFormatException(text, code, inner);
                case ViaStatus.Callback: return new ViaCallbackException(text, code, inner);
                case ViaStatus.Internal: return new ViaInternalException(text, code, inner);
                default: return new ViaException(status, text, code, inner);
            }
        }
    }
}
