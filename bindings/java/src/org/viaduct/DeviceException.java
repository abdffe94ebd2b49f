package org.viaduct;

/** No such device, or not the device that the memory is on. */
public final class DeviceException extends ViaductException {
    private static final long serialVersionUID = 1;

    DeviceException(int status, int code, String text) {
        super(status, code, text);
    }
}
