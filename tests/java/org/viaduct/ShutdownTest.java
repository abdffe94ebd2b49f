package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A JVM may end while arrays, buffers, exports, copies and threads of C are about: it neither crashes nor hangs. */
class ShutdownTest {
    private static String run(String what, String how) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx256m"));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.add("-Dviaduct.test.native=" + System.getProperty("viaduct.test.native"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "org.viaduct.Ending", what, how));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "halt", "return"})
    void everythingMayBeHeld(String how) throws IOException, InterruptedException {
        assertEquals("", run("held", how));
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "return"})
    void copiesMayRun(String how) throws IOException, InterruptedException {
        assertEquals("", run("copies", how));
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "return"})
    void aThreadOfCMayRelease(String how) throws IOException, InterruptedException {
        assertEquals("", run("threads", how));
    }

    /** What Java would have to release stays: there is no Java any more. */
    @ParameterizedTest
    @ValueSource(strings = {"exit", "return"})
    void aLibraryOfCMayReleaseBehindTheJvm(String how) throws IOException, InterruptedException {
        assertEquals("", run("left", how));
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "return"})
    void aShutdownHookMayUseTheLibrary(String how) throws IOException, InterruptedException {
        assertEquals("12\nreleased\n", run("hook", how));
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit"})
    void whatAReleaseThrowsIsPrintedAsAnyOtherUncaughtException(String how) throws IOException, InterruptedException {
        String output = run("failure", how);
        assertTrue(output.contains("java.lang.IllegalStateException: refuses to end"), output);
        assertTrue(output.endsWith("went on\n"), output);
    }

    /** Threads of the library inherit nothing of the thread that happens to use it first. */
    @ParameterizedTest
    @ValueSource(strings = {"return"})
    void whatTheFirstThreadPassesOnIsNotKept(String how) throws IOException, InterruptedException {
        assertEquals("forgotten\n", run("request", how));
    }
}
