package org.viaduct;

/** The device does not exist, or is not the device of the memory. */
public final class DeviceException extends ViaductException {
    private static final long serialVersionUID = 1;

    DeviceException(int status, int code, String text) {
        super(status, code, text);
    }
}
