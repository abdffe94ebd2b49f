package org.viaduct;

/**
 * A call of the library that failed, with the library's own text: function, argument, found, expected. Each kind of
 * failure has a class of its own; a status that this package does not know is of this one. The package's description
 * lists the few exceptions of the JDK that are thrown next to these.
 */
public class ViaductException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final int code;

    ViaductException(int status, int code, String text) {
        super(text);
        this.status = status;
        this.code = code;
    }

    /** The library's status: a {@code ViaConstants.VIA_ERROR_...}. */
    public int status() {
        return status;
    }

    /** The errno or CUresult behind it; 0 where there was none. */
    public int code() {
        return code;
    }

    /** Called by native code, in the frame that saw the status. */
    static ViaductException of(int status, int code, byte[] text) {
        ViaductException made = ofKind(status, code, Utf8.text(text));
        Throwable raised = Callbacks.takeRaised();
        if (status == ViaConstants.VIA_ERROR_CALLBACK) {
            made.initCause(raised);
        }
        return made;
    }

    /** What this package refuses by itself is of the kind that the library would throw. */
    static ViaductException refused(int status, String text) {
        return ofKind(status, 0, text);
    }

    /** Refuses a list that has not one entry for each axis; null is no list. */
    static void requireOneForEachAxis(String name, long[] given, int axes) {
        if (given != null && given.length != axes) {
            throw refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    name + " has " + given.length + " entries; expected one for each of " + axes + " axes");
        }
    }

    private static ViaductException ofKind(int status, int code, String text) {
        return switch (status) {
            case ViaConstants.VIA_ERROR_INVALID_ARGUMENT -> new InvalidArgumentException(status, code, text);
            case ViaConstants.VIA_ERROR_DTYPE -> new DTypeException(status, code, text);
            case ViaConstants.VIA_ERROR_SHAPE -> new ShapeException(status, code, text);
            case ViaConstants.VIA_ERROR_INDEX -> new OutOfRangeException(status, code, text);
            case ViaConstants.VIA_ERROR_OVERFLOW -> new ExtentOverflowException(status, code, text);
            case ViaConstants.VIA_ERROR_OUT_OF_MEMORY -> new OutOfMemoryException(status, code, text);
            case ViaConstants.VIA_ERROR_READ_ONLY -> new ReadOnlyException(status, code, text);
            case ViaConstants.VIA_ERROR_OVERLAP -> new OverlapException(status, code, text);
            case ViaConstants.VIA_ERROR_NEEDS_COPY -> new NeedsCopyException(status, code, text);
            case ViaConstants.VIA_ERROR_EXCHANGE -> new ExchangeException(status, code, text);
            case ViaConstants.VIA_ERROR_VERSION -> new VersionException(status, code, text);
            case ViaConstants.VIA_ERROR_DEVICE -> new DeviceException(status, code, text);
            case ViaConstants.VIA_ERROR_POINTER -> new PointerException(status, code, text);
            case ViaConstants.VIA_ERROR_UNSUPPORTED -> new UnsupportedException(status, code, text);
            case ViaConstants.VIA_ERROR_CUDA -> new CudaException(status, code, text);
            case ViaConstants.VIA_ERROR_STREAM_CAPTURE -> new StreamCaptureException(status, code, text);
            case ViaConstants.VIA_ERROR_FORKED -> new ForkedException(status, code, text);
            case ViaConstants.VIA_ERROR_WOULD_DEADLOCK -> new WouldDeadlockException(status, code, text);
            case ViaConstants.VIA_ERROR_CANCELLED -> new CancelledException(status, code, text);
            case ViaConstants.VIA_ERROR_IO -> new FileException(status, code, text);
            case ViaConstants.VIA_ERROR_FORMAT -> new FormatException(status, code, text);
            case ViaConstants.VIA_ERROR_CALLBACK -> new CallbackException(status, code, text);
            case ViaConstants.VIA_ERROR_INTERNAL -> new InternalException(status, code, text);
            default -> new ViaductException(status, code, text);
        };
    }
}
