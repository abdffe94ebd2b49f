package org.viaduct;

/** How transfers use the system's cache of file pages. */
public enum PageCache {
    /** What is there is read from it, and the rest past it; durable writes go past it. */
    AUTO(ViaConstants.VIA_PAGE_CACHE_AUTO),
    /** Everything goes through it, and stays there. */
    USE(ViaConstants.VIA_PAGE_CACHE_USE),
    /** What is not there yet goes past it, writes too. */
    AVOID(ViaConstants.VIA_PAGE_CACHE_AVOID);

    final int code;

    PageCache(int code) {
        this.code = code;
    }
}
