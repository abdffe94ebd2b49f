/**
 * Memory that already exists, as strided arrays that every runtime can use.
 *
 * <p>{@link org.viaduct.ViaArray#wrap} makes an array of a direct buffer or an address, {@link
 * org.viaduct.ViaArray#buffer()} gives one back, {@link org.viaduct.Exchange} lends to other native libraries of the
 * process by DLPack, {@link org.viaduct.Viaduct#copy} copies between any two layouts and devices, and {@link
 * org.viaduct.ViaFile} maps, reads and writes files.
 */
package org.viaduct;
