using System;

namespace Viaduct
{
    /// <summary>A call of the library failed; each kind of failure has a class of its own.</summary>
    public class ViaException : Exception
    {
        internal ViaException(ViaStatus status, string message, int code = 0, Exception inner = null)
            : base(message, inner)
        {
            Status = status;
            Code = code;
        }

        /// <summary>The kind of failure.</summary>
        public ViaStatus Status { get; }

        /// <summary>The errno or CUresult behind the failure; 0 where there was none.</summary>
        public int Code { get; }
    }

    /// <summary>An argument is out of range, missing, or contradicts another.</summary>
    public sealed class ViaInvalidArgumentException : ViaException
    {
        internal ViaInvalidArgumentException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.InvalidArgument, message, code, inner)
        {
        }
    }

    /// <summary>An element type is unknown, or not the one expected.</summary>
    public sealed class ViaDTypeException : ViaException
    {
        internal ViaDTypeException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.DType, message, code, inner)
        {
        }
    }

    /// <summary>A shape is malformed, or not the one expected.</summary>
    public sealed class ViaShapeException : ViaException
    {
        internal ViaShapeException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Shape, message, code, inner)
        {
        }
    }

    /// <summary>An axis or an index lies outside the array.</summary>
    public sealed class ViaIndexException : ViaException
    {
        internal ViaIndexException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Index, message, code, inner)
        {
        }
    }

    /// <summary>A number, or a product or sum of extents, does not fit.</summary>
    public sealed class ViaOverflowException : ViaException
    {
        internal ViaOverflowException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Overflow, message, code, inner)
        {
        }
    }

    /// <summary>Memory of some kind could not be allocated.</summary>
    public sealed class ViaOutOfMemoryException : ViaException
    {
        internal ViaOutOfMemoryException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.OutOfMemory, message, code, inner)
        {
        }
    }

    /// <summary>The destination is read-only.</summary>
    public sealed class ViaReadOnlyException : ViaException
    {
        internal ViaReadOnlyException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.ReadOnly, message, code, inner)
        {
        }
    }

    /// <summary>Source and destination, or elements of a destination, share bytes.</summary>
    public sealed class ViaOverlapException : ViaException
    {
        internal ViaOverlapException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Overlap, message, code, inner)
        {
        }
    }

    /// <summary>Only a copy could do it, and a copy was not allowed.</summary>
    public sealed class ViaNeedsCopyException : ViaException
    {
        internal ViaNeedsCopyException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.NeedsCopy, message, code, inner)
        {
        }
    }

    /// <summary>The protocol cannot describe this array, or the imported object breaks its rules.</summary>
    public sealed class ViaExchangeException : ViaException
    {
        internal ViaExchangeException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Exchange, message, code, inner)
        {
        }
    }

    /// <summary>The version of a library, struct or protocol is not supported.</summary>
    public sealed class ViaVersionException : ViaException
    {
        internal ViaVersionException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Version, message, code, inner)
        {
        }
    }

    /// <summary>The device does not exist, or is not the device of the memory.</summary>
    public sealed class ViaDeviceException : ViaException
    {
        internal ViaDeviceException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Device, message, code, inner)
        {
        }
    }

    /// <summary>The address is unknown, unreadable, or ends before the array does.</summary>
    public sealed class ViaPointerException : ViaException
    {
        internal ViaPointerException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Pointer, message, code, inner)
        {
        }
    }

    /// <summary>This build, machine or driver does not support it.</summary>
    public sealed class ViaUnsupportedException : ViaException
    {
        internal ViaUnsupportedException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Unsupported, message, code, inner)
        {
        }
    }

    /// <summary>The CUDA driver refused; <see cref="ViaException.Code"/> is its CUresult.</summary>
    public sealed class ViaCudaException : ViaException
    {
        internal ViaCudaException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Cuda, message, code, inner)
        {
        }
    }

    /// <summary>The operation cannot be captured into a graph; no memory was accessed.</summary>
    public sealed class ViaStreamCaptureException : ViaException
    {
        internal ViaStreamCaptureException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.StreamCapture, message, code, inner)
        {
        }
    }

    /// <summary>CUDA was used before a fork; the child cannot use it.</summary>
    public sealed class ViaForkedException : ViaException
    {
        internal ViaForkedException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Forked, message, code, inner)
        {
        }
    }

    /// <summary>Waiting here could never end.</summary>
    public sealed class ViaWouldDeadlockException : ViaException
    {
        internal ViaWouldDeadlockException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.WouldDeadlock, message, code, inner)
        {
        }
    }

    /// <summary>The task was cancelled.</summary>
    public sealed class ViaCancelledException : ViaException
    {
        internal ViaCancelledException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Cancelled, message, code, inner)
        {
        }
    }

    /// <summary>The operating system refused; <see cref="ViaException.Code"/> is its errno.</summary>
    public sealed class ViaIoException : ViaException
    {
        internal ViaIoException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Io, message, code, inner)
        {
        }
    }

    /// <summary>A file does not have the format it claims.</summary>
    public sealed class ViaFormatException : ViaException
    {
        internal ViaFormatException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Format, message, code, inner)
        {
        }
    }

    /// <summary>A callback of the caller reported failure; the inner exception is what it threw.</summary>
    public sealed class ViaCallbackException : ViaException
    {
        internal ViaCallbackException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Callback, message, code, inner)
        {
        }
    }

    /// <summary>A fault of the library: please report the text.</summary>
    public sealed class ViaInternalException : ViaException
    {
        internal ViaInternalException(string message, int code = 0, Exception inner = null)
            : base(ViaStatus.Internal, message, code, inner)
        {
        }
    }
}
