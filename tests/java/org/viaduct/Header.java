package org.viaduct;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The public header, as far as the tests need it, and the sources of this package. */
final class Header {
    static final Path ROOT = Path.of(System.getProperty("viaduct.root"));

    private static final String TEXT = read(ROOT.resolve("include/viaduct/viaduct.h"))
            .replaceAll("(?s)/\\*.*?\\*/", "")
            .replaceAll("\\s+", " ");

    /** Parameters, spelled out, of each function. */
    static final Map<String, List<String>> FUNCTIONS = functions();

    private Header() {}

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Map<String, List<String>> functions() {
        Map<String, List<String>> found = new TreeMap<>();
        Matcher each = Pattern.compile("VIA_(?:API|CHECKED) [\\w ]+?[ *]+(via_\\w+)\\(([^;]*?)\\);").matcher(TEXT);
        while (each.find()) {
            List<String> parameters = new ArrayList<>(List.of(each.group(2).split(" ?, ?")));
            parameters.remove("void");
            found.put(each.group(1), parameters);
        }
        return found;
    }

    static Map<String, Long> enumerators() {
        Map<String, Long> found = new LinkedHashMap<>();
        Matcher each = Pattern.compile("\\b(VIA_[A-Z0-9_]+) = (\\w+)").matcher(TEXT);
        while (each.find()) {
            found.put(each.group(1), Long.decode(each.group(2)));
        }
        return found;
    }

    /** The last word of a parameter. */
    static String nameOf(String parameter) {
        return parameter.replaceAll("^.*?(\\w+)$", "$1");
    }

    /** The hand-written sources in a folder below bindings/java, one after another. */
    static String handWritten(String folder) {
        StringBuilder all = new StringBuilder();
        try (var files = Files.walk(ROOT.resolve("bindings/java").resolve(folder))) {
            files.filter(Files::isRegularFile).sorted().forEach(file -> all.append(read(file)));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return all.toString();
    }
}
