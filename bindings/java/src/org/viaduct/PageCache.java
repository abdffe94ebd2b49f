package org.viaduct;

/** How transfers use the system's cache of file pages. */
public enum PageCache {
    /** Reads cached pages from it and bypasses it for the rest; durable writes bypass it. */
    AUTO(ViaConstants.VIA_PAGE_CACHE_AUTO),
    /** Uses it for everything. */
    USE(ViaConstants.VIA_PAGE_CACHE_USE),
    /** Bypasses it for uncached pages and for writes. */
    AVOID(ViaConstants.VIA_PAGE_CACHE_AVOID);

    final int code;

    PageCache(int code) {
        this.code = code;
    }
}
