package org.viaduct;

/** Bytes moved so far, and the bytes in all. */
public record Progress(long done, long total) {}
