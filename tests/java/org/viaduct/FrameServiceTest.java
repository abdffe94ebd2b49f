package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;

import example.FrameService;
import org.junit.jupiter.api.Test;

/** The example does its job. */
class FrameServiceTest {
    @Test
    void aFrameGoesToCAndOneColourOfItToTheDevice() {
        Device device = Viaduct.cudaDeviceCount() > 0 ? Device.cuda(0) : Device.CPU;
        String library = System.getProperty("viaduct.examples") + "/libframe_sink.so";
        assertEquals(
                "ViaArray(uint8, [480, 640], " + device + "): the last red is " + (480 * 640 - 1) % 251,
                FrameService.serve(library));
    }
}
