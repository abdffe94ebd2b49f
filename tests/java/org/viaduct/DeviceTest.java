package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A CUDA device, or the fake driver: memory, streams, events, copies and exchange. */
class DeviceTest {
    private static final Device CUDA = Device.cuda(0);
    private static final Set<MemoryKind> FREED_BY_THE_DRIVER =
            EnumSet.of(MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.MANAGED);

    @BeforeEach
    void aDeviceIsThere() {
        assumeTrue(Viaduct.cudaDeviceCount() > 0, "there is no CUDA driver with a device");
    }

    private static ViaArray onDevice(ViaArray host) {
        try (ViaMemory memory = ViaMemory.create(MemoryKind.DEVICE, 0)) {
            ViaArray made = memory.empty(host.dtype(), host.shape());
            Viaduct.copy(made, host);
            return made;
        }
    }

    @Test
    void memoryOfEveryKindCarriesElements() {
        try (ViaArray grid = Samples.grid()) {
            for (MemoryKind kind : MemoryKind.values()) {
                try (ViaMemory memory = ViaMemory.create(kind, 0);
                        ViaArray array = memory.empty(DType.FLOAT32, 3, 4)) {
                    Viaduct.copy(array, grid);
                    assertArrayEquals(Samples.elements(grid), Samples.elements(array));
                    assertEquals(memory.device(), array.device());
                    assertEquals(FREED_BY_THE_DRIVER.contains(kind), array.closeWaits());
                }
            }
        }
    }

    @Test
    void deviceMemoryHasNoBufferAndPinnedMemoryHas() {
        try (ViaArray device = onDevice(Samples.grid());
                ViaMemory pinned = ViaMemory.create(MemoryKind.PINNED, 0);
                ViaArray host = pinned.empty(DType.FLOAT32, 3, 4)) {
            assertThrows(DeviceException.class, device::buffer);
            Viaduct.copyAsync(host, device, null);
            assertEquals(11, host.buffer(11, 1).getFloat(0)); // waits for the copy
            assertTrue(host.isReady());
        }
    }

    @Test
    void anAddressOnTheDeviceIsWrappedAndCheckedInTheDriver() {
        try (ViaArray owner = onDevice(Samples.grid());
                ViaArray same = ViaArray.builder(owner.address(), DType.FLOAT32, 12).device(CUDA).wrap();
                ViaArray found = ViaArray.builder(owner.address(), DType.FLOAT32, 12).device(Device.ANY).wrap()) {
            assertEquals(CUDA, found.device());
            assertEquals(11, Samples.elements(same)[11]);
            long address = owner.address();
            assertThrows(
                    PointerException.class,
                    () -> ViaArray.builder(address, DType.FLOAT32, 1L << 40).device(CUDA).wrap());
            assertEquals(CUDA, Viaduct.pointerInfo(address).device());
        }
    }

    @Test
    void workIsOrderedByStreamsAndEvents() {
        ByteBuffer one = Samples.direct(4).putFloat(0, 1);
        try (ViaStream stream = ViaStream.create(0);
                ViaStream other = ViaStream.create(0);
                ViaEvent event = ViaEvent.create(0);
                ViaArray device = onDevice(Samples.grid());
                ViaArray copy = onDevice(Samples.grid())) {
            Viaduct.fill(device, one, stream);
            event.record(stream);
            other.await(event);
            Viaduct.copyAsync(copy, device, other);
            device.recordStream(other);
            copy.setReady(other);
            copy.synchronize();
            event.synchronize();
            other.synchronize();
            assertTrue(event.isDone() && other.isDone() && copy.isReady());
            assertEquals(1, Samples.elements(copy)[7]);
            assertNotEquals(0, stream.nativeHandle());
            assertNotEquals(0, event.nativeHandle());
            assertEquals(0, stream.deviceId());
        }
    }

    @Test
    void foreignStreamsAndEventsStayTheirOwners() {
        try (ViaStream owner = ViaStream.create(0);
                ViaStream same = ViaStream.wrap(owner.nativeHandle(), -1);
                ViaEvent event = ViaEvent.create(0);
                ViaEvent wrapped = ViaEvent.wrap(event.nativeHandle(), 0)) {
            assertEquals(owner.nativeHandle(), same.nativeHandle());
            wrapped.record(same);
            owner.synchronize();
            assertTrue(event.isDone());
        }
    }

    @Test
    void theCurrentStreamOfAThreadIsSetAndForgotten() {
        try (ViaStream stream = ViaStream.create(0)) {
            ViaStream.setCurrent(0, stream);
            try (ViaStream current = ViaStream.current(0)) {
                assertEquals(stream.nativeHandle(), current.nativeHandle());
            }
            ViaStream.setCurrent(0, null);
            try (ViaStream current = ViaStream.current(0)) {
                assertEquals(ViaStream.LEGACY.nativeHandle(), current.nativeHandle());
            }
        }
    }

    @Test
    void theSharedStreamsAreNeverClosed() {
        ViaStream.LEGACY.close();
        assertFalse(ViaStream.LEGACY.isClosed());
        assertEquals(1, ViaStream.LEGACY.nativeHandle());
        assertEquals(2, ViaStream.PER_THREAD.nativeHandle());
        assertEquals(0, ViaStream.NO_SYNC.nativeHandle());
    }

    @Test
    void tasksAndBatchesRunBehindAStream() throws Exception {
        try (ViaStream stream = ViaStream.create(0);
                ViaArray device = onDevice(Samples.grid());
                ViaArray host = ViaArray.empty(DType.FLOAT32, 3, 4);
                CopyBatch batch = CopyBatch.create().add(host, device)) {
            Viaduct.fillZero(device, stream);
            try (CopyTask task = Viaduct.submit(host, device, stream)) {
                task.join(stream);
                task.future().get(30, TimeUnit.SECONDS);
            }
            assertEquals(0, host.buffer().getFloat(44));
            Viaduct.copy(device, Samples.grid());
            batch.run(stream);
            stream.synchronize();
            assertEquals(11, host.buffer().getFloat(44));
            ViaArray[] dsts = {device.select(0, 0)};
            ViaArray[] srcs = {host.select(0, 2)};
            Viaduct.copyBatch(dsts, srcs, stream);
            stream.synchronize();
            assertEquals(11, Samples.elements(device)[3]);
            try (CopyTask task = batch.submit(stream)) {
                task.await();
            }
            assertEquals(11, host.buffer().getFloat(12));
        }
    }

    @Test
    void bytesGoToTheDeviceAndBackByAddress() {
        try (ViaArray device = onDevice(Samples.grid());
                ViaStream stream = ViaStream.create(0)) {
            ByteBuffer bytes = Samples.direct(48).putFloat(0, 5);
            Viaduct.memcpy(device.address(), Buffers.address(bytes), 4, null);
            Viaduct.memcpy(Buffers.address(bytes) + 4, device.address(), 4, stream);
            stream.synchronize();
            assertEquals(5, bytes.getFloat(4));
        }
    }

    @Test
    void deviceMemoryIsExchanged() {
        try (ViaArray device = onDevice(Samples.grid());
                ViaStream stream = ViaStream.create(0);
                ViaArray back = Exchange.fromDlpack(Exchange.toDlpack(device, null, stream), null, stream)) {
            assertEquals(device.address(), back.address());
            DlpackOptions toHost = DlpackOptions.DEFAULT.to(Device.CPU);
            try (ViaArray host = Exchange.fromDlpack(Exchange.toDlpack(device, toHost, null), null, null)) {
                assertArrayEquals(Samples.elements(device), Samples.elements(host));
            }
            ArrayInterface described = Exchange.toCudaArrayInterface(device, stream);
            assertEquals(stream.nativeHandle(), described.stream());
            try (ViaArray again = Exchange.fromCudaArrayInterface(described, device)) {
                assertEquals(CUDA, again.device());
                assertEquals(device, again.owner());
            }
            assertThrows(ExchangeException.class, () -> Exchange.toArrayInterface(device));
        }
    }

    @Test
    void aDeviceIsDescribedAndWarmedUp() {
        Viaduct.warmUp(0);
        DeviceInfo info = Viaduct.deviceInfo(CUDA);
        assertEquals(CUDA, info.device());
        assertTrue(info.computeCapability() >= 50 && info.totalBytes() > 0 && !info.name().isEmpty());
        assertThrows(DeviceException.class, () -> Viaduct.deviceInfo(Device.cuda(99)));
        assertThrows(DeviceException.class, () -> ViaStream.create(99));
    }

    @Test
    void failuresOfTheDriverHaveItsNumber() {
        try (ViaMemory memory = ViaMemory.create(MemoryKind.DEVICE, 0)) {
            ViaductException failure =
                    assertThrows(ViaductException.class, () -> memory.empty(DType.UINT8, 1L << 50));
            assertEquals(2, failure.code(), failure.getMessage()); // CUDA_ERROR_OUT_OF_MEMORY
            assertTrue(failure instanceof OutOfMemoryException);
        }
    }
}
