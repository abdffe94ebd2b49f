package org.viaduct;

/** Kinds of memory that {@link ViaMemory#create} makes. */
public enum MemoryKind {
    /** Host memory, aligned to 64 bytes. */
    HOST(ViaConstants.VIA_MEMORY_HOST),
    /** Pinned host memory. */
    PINNED(ViaConstants.VIA_MEMORY_PINNED),
    /** Memory of one CUDA device. */
    DEVICE(ViaConstants.VIA_MEMORY_DEVICE),
    /** The same, allocated and freed in stream order. */
    DEVICE_POOL(ViaConstants.VIA_MEMORY_DEVICE_POOL),
    /** CUDA managed memory. */
    MANAGED(ViaConstants.VIA_MEMORY_MANAGED),
    /** Host memory that other processes can map: see {@link ViaArray#exportIpc}. */
    SHARED(ViaConstants.VIA_MEMORY_SHARED);

    final int code;

    MemoryKind(int code) {
        this.code = code;
    }
}
