package org.viaduct;

/** Bytes known to be moved so far, and the bytes in all. */
public record Progress(long done, long total) {}
