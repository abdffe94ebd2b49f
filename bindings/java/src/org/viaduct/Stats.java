package org.viaduct;

/**
 * Counts of live objects and bytes.
 *
 * @param liveArrays array handles not yet released by all who hold them, views included
 * @param liveStorages borrowed and allocated memory that has not been released yet
 * @param outstandingExports exported tensors that consumers have not released
 * @param pendingReleases releases that wait for work, or for other processes, that use the memory
 * @param hostBytes bytes allocated by the library, by kind
 * @param stagedBytes pinned memory held for staging
 * @param pendingTasks tasks that have not ended
 */
public record Stats(
        long liveArrays,
        long liveStorages,
        long outstandingExports,
        long pendingReleases,
        long hostBytes,
        long pinnedBytes,
        long deviceBytes,
        long managedBytes,
        long stagedBytes,
        long pendingTasks) {
    static Stats read(long struct) {
        return new Stats(
                Native.via_stats_info_live_arrays_get(struct),
                Native.via_stats_info_live_storages_get(struct),
                Native.via_stats_info_outstanding_exports_get(struct),
                Native.via_stats_info_pending_releases_get(struct),
                Native.via_stats_info_host_bytes_get(struct),
                Native.via_stats_info_pinned_bytes_get(struct),
                Native.via_stats_info_device_bytes_get(struct),
                Native.via_stats_info_managed_bytes_get(struct),
                Native.via_stats_info_staged_bytes_get(struct),
                Native.via_stats_info_pending_tasks_get(struct));
    }
}
