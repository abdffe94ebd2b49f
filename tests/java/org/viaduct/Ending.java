package org.viaduct;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A program that ends in the middle of things; ShutdownTest runs it in a JVM of its own. */
final class Ending {
    private static final List<Object> HELD = new ArrayList<>();
    private static final ByteBuffer MEMORY = Samples.direct(48);

    private Ending() {}

    private static ViaArray array() {
        return ViaArray.builder(Buffers.address(MEMORY), DType.FLOAT32, 12)
                .release(() -> System.out.println("released"))
                .wrap();
    }

    /** Views, buffers, exports and memory of Java's, in fields of classes. */
    private static void holdEverything() {
        ViaArray array = array();
        HELD.add(array);
        HELD.add(array.transpose());
        HELD.add(array.toDlpack());
        HELD.add(ViaArray.empty(DType.FLOAT32, 1 << 20).buffer());
        HELD.add(ViaMemory.custom(Device.CPU, new Blocks()).empty(DType.UINT8, 1 << 10));
    }

    private static final class Blocks implements Allocator {
        @Override
        public long allocate(long nbytes, long alignment, long stream) {
            return TestLibrary.allocate(nbytes, alignment);
        }

        @Override
        public void free(long address, long nbytes, long stream) {
            TestLibrary.free(address);
        }
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void copyOnAndOn() {
        ViaArray source = ViaArray.empty(DType.UINT8, 64 << 20);
        ViaArray target = ViaArray.empty(DType.UINT8, 64 << 20);
        daemon(() -> {
            while (true) {
                Viaduct.copy(target, source);
            }
        });
        CopyTask task = Viaduct.submit(target, source);
        HELD.add(task.future().thenRun(() -> System.out.print("")));
    }

    private static void leaveOnAndOn() {
        TestLibrary.endOnAndOn();
        daemon(() -> {
            while (true) {
                try (ViaArray array = ViaArray.builder(Buffers.address(MEMORY), DType.FLOAT32, 12)
                        .release(() -> {})
                        .wrap()) {
                    TestLibrary.leave(array.toDlpack());
                }
            }
        });
    }

    private static void leaveToC() {
        TestLibrary.endAtExit();
        try (ViaArray array = array()) {
            TestLibrary.leave(array.toDlpack());
        }
        try (ViaArray array = ViaArray.empty(DType.FLOAT32, 12)) {
            TestLibrary.leave(array.toDlpack());
        }
    }

    private static void useInAHook() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try (ViaArray array = array();
                    ViaArray copied = ViaArray.empty(DType.FLOAT32, 12)) {
                Viaduct.copy(copied, array);
                System.out.println(copied.size());
            }
        }));
    }

    private static void failInARelease() {
        ViaArray.builder(Buffers.address(MEMORY), DType.FLOAT32, 12)
                .release(() -> {
                    throw new IllegalStateException("refuses to end");
                })
                .wrap()
                .close();
        System.out.println("went on");
    }

    private static void beginInARequest() throws InterruptedException {
        InheritableThreadLocal<Object> context = new InheritableThreadLocal<>();
        context.set(new Object());
        WeakReference<Object> given = new WeakReference<>(context.get());
        ViaArray.empty(DType.INT8, 1).close();
        context.remove();
        for (int turn = 0; turn < 100 && given.get() != null; ++turn) {
            System.gc();
            Thread.sleep(10);
        }
        System.out.println(given.get() == null ? "forgotten" : "kept");
        Reference.reachabilityFence(context);
    }

    private static void start(String what) throws InterruptedException {
        switch (what) {
            case "held" -> holdEverything();
            case "copies" -> copyOnAndOn();
            case "threads" -> leaveOnAndOn();
            case "left" -> leaveToC();
            case "hook" -> useInAHook();
            case "failure" -> failInARelease();
            case "request" -> beginInARequest();
            default -> throw new IllegalArgumentException(what);
        }
        Thread.sleep(what.equals("threads") ? 50 : 0);
    }

    /** What is begun, and how the program ends: by `exit`, `halt` or `return`. */
    public static void main(String[] arguments) throws InterruptedException {
        start(arguments[0]);
        switch (arguments[1]) {
            case "exit" -> System.exit(0);
            case "halt" -> Runtime.getRuntime().halt(0);
            default -> System.out.flush();
        }
    }
}
