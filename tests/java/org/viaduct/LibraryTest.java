package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the library says of itself, of the machine and of failures; texts beyond the basic plane. */
class LibraryTest {
    /** Four bytes of UTF-8, two chars of Java: JNI's own encoding makes six bytes of it. */
    private static final String BEYOND = "\uD834\uDD1E";

    @Test
    void theLibraryIsTheOneOfTheHeader() {
        int version = ViaConstants.VIA_VERSION_MAJOR * 1_000_000 + ViaConstants.VIA_VERSION_MINOR * 1000
                + ViaConstants.VIA_VERSION_PATCH;
        assertEquals(version, Viaduct.version());
        Viaduct.require(ViaConstants.VIA_VERSION_MAJOR, ViaConstants.VIA_VERSION_MINOR);
        assertThrows(VersionException.class, () -> Viaduct.require(ViaConstants.VIA_VERSION_MAJOR + 1, 0));
        assertEquals("VIA_ERROR_SHAPE", Viaduct.statusName(ViaConstants.VIA_ERROR_SHAPE));
        assertEquals("VIA_ERROR_UNKNOWN", Viaduct.statusName(999));
    }

    @Test
    void anExceptionCarriesTheStatusAndTheTextOfTheLibrary() {
        try (ViaArray array = Samples.grid()) {
            ShapeException failure = assertThrows(ShapeException.class, () -> array.reshape(5, 5));
            assertEquals(ViaConstants.VIA_ERROR_SHAPE, failure.status());
            assertEquals(0, failure.code());
            assertEquals("via_array_reshape: shape has 25 elements; expected 12", failure.getMessage());
            assertEquals(failure.getMessage(), Viaduct.lastError());
            assertEquals(0, Viaduct.lastErrorCode());
        }
    }

    @Test
    void textsCrossBothWaysBeyondTheBasicPlane() {
        String name = "float32" + BEYOND + "\u00E9";
        DTypeException failure = assertThrows(DTypeException.class, () -> DType.of(name));
        assertTrue(failure.getMessage().contains(name), failure.getMessage());
        assertThrows(InvalidArgumentException.class, () -> DType.of(BEYOND.substring(0, 1)));
        assertThrows(InvalidArgumentException.class, () -> DType.of("float32\0"));
        assertThrows(InvalidArgumentException.class, () -> DType.of((String) null));
    }

    @Test
    void pathsCrossBeyondTheBasicPlaneAndFailuresOfTheSystemHaveItsNumber(@TempDir Path folder) throws IOException {
        assumeTrue(Viaduct.cudaDeviceCount() > 0, "there is no CUDA driver with a device");
        Path file = folder.resolve(BEYOND);
        Files.writeString(file, "no calibration");
        FormatException other = assertThrows(FormatException.class, () -> Viaduct.loadCalibration(file));
        assertTrue(other.getMessage().contains(BEYOND), other.getMessage());
        Path missing = folder.resolve(BEYOND + BEYOND);
        FileException failure = assertThrows(FileException.class, () -> Viaduct.loadCalibration(missing));
        assertEquals(2, failure.code());
        assertThrows(ViaductException.class, () -> Viaduct.saveCalibration(folder.resolve("no/such")));
    }

    @Test
    void theMachineIsDescribed() {
        DeviceInfo cpu = Viaduct.deviceInfo(Device.CPU);
        assertEquals(Device.CPU, cpu.device());
        assertTrue(cpu.numThreads() >= 1 && cpu.totalBytes() > 0 && cpu.routes().contains("host to host"));
        assertThrows(ViaductException.class, () -> Viaduct.deviceInfo(new Device(99, 0)));
        assertThrows(ViaductException.class, () -> Viaduct.warmUp(99));
        assertThrows(ViaductException.class, () -> Viaduct.calibrate(99));
    }

    @Test
    void theNumberOfThreadsIsSetAndForgotten() {
        int before = Viaduct.numThreads();
        Viaduct.setNumThreads(3);
        assertEquals(3, Viaduct.numThreads());
        Viaduct.setNumThreads(0);
        assertEquals(before, Viaduct.numThreads());
        assertThrows(InvalidArgumentException.class, () -> Viaduct.setNumThreads(-1));
    }

    @Test
    void anAddressIsLookedUp() {
        PointerInfo found = Viaduct.pointerInfo(Samples.address(64));
        assertEquals(Device.CPU, found.device());
        assertFalse(found.readOnly());
        assertThrows(PointerException.class, () -> Viaduct.pointerInfo(8));
    }

    @Test
    void devicesSayWhereTheyAre() {
        assertEquals("cpu cuda:1 pinned managed any Device(7, 2)", String.join(" ", Device.CPU.toString(),
                Device.cuda(1).toString(), Device.PINNED.toString(), Device.MANAGED.toString(), Device.ANY.toString(),
                new Device(7, 2).toString()));
    }

    /** A refusal is a ViaductException, or one that the package's description names. */
    @Test
    void everyExceptionThrownIsOfThisPackageOrNamedInItsDescription() throws IOException {
        Path sources = Header.ROOT.resolve("bindings/java/src/org/viaduct");
        String described = Files.readString(sources.resolve("package-info.java"));
        Pattern made = Pattern.compile("new (\\w+(?:Exception|Error))\\(");
        try (Stream<Path> files = Files.list(sources)) {
            for (Path file : files.toList()) {
                Matcher found = made.matcher(Files.readString(file));
                while (found.find()) {
                    boolean own = Files.exists(sources.resolve(found.group(1) + ".java"));
                    assertTrue(own || described.contains(found.group(1)), file + " throws " + found.group(1));
                }
            }
        }
    }
}
