package org.viaduct;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Loads the native library, once: the file or the folder that the system property org.viaduct.native names, else what
 * the jar carries for this platform, which is unpacked into a temporary folder that goes with the process.
 */
final class NativeLibrary {
    static final String PROPERTY = "org.viaduct.native";

    /** The library itself, and the layer between it and the JVM, which looks for it next to itself. */
    private static final String LIBRARY = "libviaduct.so." + ViaConstants.VIA_VERSION_MAJOR;

    private static final String LAYER = "libviaduct_java.so";

    private static final String NEEDED = "Linux with glibc 2.28 or newer on x86-64 or AArch64";

    private static boolean loaded;

    private NativeLibrary() {}

    static synchronized void load() {
        if (loaded) {
            return;
        }
        String named = System.getProperty(PROPERTY);
        if (named != null) {
            loadNamed(new File(named));
        } else {
            loadCarried();
        }
        loaded = true;
    }

    private static void loadNamed(File named) {
        File layer = named.isDirectory() ? new File(named, LAYER) : named;
        loadFile(layer.getAbsoluteFile(), "named by the system property " + PROPERTY);
    }

    private static void loadCarried() {
        String platform = platform();
        Path folder = null;
        try {
            folder = Files.createTempDirectory("viaduct");
            unpack(platform, LIBRARY, folder);
            unpack(platform, LAYER, folder);
            loadFile(folder.resolve(LAYER).toAbsolutePath().toFile(), "unpacked from the jar");
        } catch (IOException error) {
            throw failure("the jar's native library for " + platform + " could not be unpacked: " + error, error);
        } finally {
            // Linux keeps what is mapped.
            delete(folder);
        }
    }

    private static void loadFile(File layer, String origin) {
        try {
            System.load(layer.getPath());
        } catch (UnsatisfiedLinkError error) {
            throw failure(layer + ", " + origin + ", could not be loaded: " + error.getMessage(), error);
        }
    }

    private static void unpack(String platform, String name, Path folder) throws IOException {
        String resource = "native/" + platform + "/" + name;
        try (InputStream carried = NativeLibrary.class.getResourceAsStream(resource)) {
            if (carried == null) {
                throw failure("the jar carries no " + resource + " for this platform", null);
            }
            Files.copy(carried, folder.resolve(name));
        }
    }

    private static void delete(Path folder) {
        if (folder == null) {
            return;
        }
        for (String name : new String[] {LAYER, LIBRARY, ""}) {
            folder.resolve(name).toFile().delete();
        }
    }

    private static UnsatisfiedLinkError failure(String text, Throwable cause) {
        String found = "; it needs " + NEEDED + "; this is " + platform() + " with Java " + Runtime.version().feature();
        String advice = "; -D" + PROPERTY + "=PATH names a " + LAYER + ", or the folder of one, to use instead";
        UnsatisfiedLinkError error = new UnsatisfiedLinkError("viaduct: " + text + found + advice);
        error.initCause(cause);
        return error;
    }

    /** As the jar names it: linux-x86_64. */
    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(" ", "");
        String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return system + "-" + (machine.equals("amd64") ? "x86_64" : machine);
    }
}
