/**
 * Memory that already exists, as strided arrays that every runtime can use.
 *
 * <p>{@link org.viaduct.ViaArray#wrap} makes an array of a direct buffer or an address, {@link
 * org.viaduct.ViaArray#buffer()} gives one back, {@link org.viaduct.Exchange} exports to other native libraries of the
 * process by DLPack, {@link org.viaduct.Viaduct#copy} copies between any two layouts and devices, and {@link
 * org.viaduct.ViaFile} maps, reads and writes files.
 *
 * <h2>What is thrown</h2>
 *
 * <p>Throws a {@link org.viaduct.ViaductException} of its kind for every refusal, whether the library refuses or this
 * package. These are the only others:
 *
 * <ul>
 *   <li>{@link java.lang.NullPointerException}: null in place of an object that this package reads, such as a
 *       {@link org.viaduct.DType}, a buffer or a Path. For null in place of an array, a file or a text the library
 *       throws {@link org.viaduct.InvalidArgumentException}; in place of a list, one or the other.
 *   <li>{@link java.lang.IllegalStateException}: use after {@link org.viaduct.Resource#close}.
 *   <li>{@link java.nio.ReadOnlyBufferException}: a write through a buffer of a read-only array, by the JDK.
 *   <li>{@link java.lang.UnsatisfiedLinkError} and {@link java.lang.ExceptionInInitializerError}: the native library
 *       does not load. The text names the file and the reason.
 * </ul>
 *
 * <p>Javadoc names an exception only where it depends on more than its arguments.
 *
 * <h2>Strides</h2>
 *
 * <p>Counts strides in elements: {@link org.viaduct.ViaArray#strides} and {@link org.viaduct.WrapBuilder#strides}.
 * Those in bytes have bytes in their name, as in {@link org.viaduct.ViaArray#byteStrides}; {@link
 * org.viaduct.ArrayInterface#strides} are bytes because that protocol says so. NumPy's, and so {@code strides} of
 * Viaduct's arrays in Python, are bytes.
 */
package org.viaduct;
