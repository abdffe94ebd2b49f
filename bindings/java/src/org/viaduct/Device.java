package org.viaduct;

/** Where memory is: a kind with DLPack's number ({@code ViaConstants.VIA_DEVICE_...}), and which of that kind. */
public record Device(int type, int id) {
    /** Ordinary host memory. */
    public static final Device CPU = new Device(ViaConstants.VIA_DEVICE_CPU, 0);

    /** Pinned host memory. */
    public static final Device PINNED = new Device(ViaConstants.VIA_DEVICE_CUDA_HOST, 0);

    /** CUDA managed memory. */
    public static final Device MANAGED = new Device(ViaConstants.VIA_DEVICE_CUDA_MANAGED, 0);

    /** When wrapping: detected from the address. In options: where the array is. */
    public static final Device ANY = new Device(ViaConstants.VIA_DEVICE_ANY, 0);

    /** Memory of a CUDA device. */
    public static Device cuda(int id) {
        return new Device(ViaConstants.VIA_DEVICE_CUDA, id);
    }

    /** Returns whether the CPU can access the memory. */
    public boolean isHost() {
        return type != ViaConstants.VIA_DEVICE_CUDA && type != ViaConstants.VIA_DEVICE_ANY;
    }

    @Override
    public String toString() {
        return switch (type) {
            case ViaConstants.VIA_DEVICE_CPU -> "cpu";
            case ViaConstants.VIA_DEVICE_CUDA -> "cuda:" + id;
            case ViaConstants.VIA_DEVICE_CUDA_HOST -> "pinned";
            case ViaConstants.VIA_DEVICE_CUDA_MANAGED -> "managed";
            case ViaConstants.VIA_DEVICE_ANY -> "any";
            default -> "Device(" + type + ", " + id + ")";
        };
    }
}
