package org.viaduct;

/**
 * One device.
 *
 * @param computeCapability major * 10 + minor for a CUDA device, else 0
 * @param driverVersion as the CUDA driver numbers it (13000 for 13.0), else 0
 * @param numThreads threads that a host copy may use
 * @param totalBytes memory of the device; for the CPU, what the process may have of the machine's
 * @param stagingBytes pinned memory that copies of that device may hold, else 0
 * @param routes a line for each route of a copy: on, or off and why
 */
public record DeviceInfo(
        Device device,
        int computeCapability,
        int driverVersion,
        int numThreads,
        long totalBytes,
        long stagingBytes,
        String name,
        String routes) {
    static DeviceInfo read(long struct) {
        return new DeviceInfo(
                new Device(
                        Native.via_device_properties_device_type_get(struct),
                        Native.via_device_properties_device_id_get(struct)),
                Native.via_device_properties_compute_capability_get(struct),
                Native.via_device_properties_driver_version_get(struct),
                Native.via_device_properties_num_threads_get(struct),
                Native.via_device_properties_total_bytes_get(struct),
                Native.via_device_properties_staging_bytes_get(struct),
                Utf8.text(Native.via_device_properties_name_get(struct)),
                Utf8.text(Native.via_device_properties_routes_get(struct)));
    }
}
