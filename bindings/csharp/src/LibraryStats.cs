namespace Viaduct
{
    /// <summary>What is alive in the library.</summary>
    public sealed class LibraryStats
    {
        internal LibraryStats(StatsLayout found)
        {
            LiveArrays = found.live_arrays;
            LiveStorages = found.live_storages;
            OutstandingExports = found.outstanding_exports;
            PendingReleases = found.pending_releases;
            HostBytes = found.host_bytes;
            PinnedBytes = found.pinned_bytes;
            DeviceBytes = found.device_bytes;
            ManagedBytes = found.managed_bytes;
            StagedBytes = found.staged_bytes;
            PendingTasks = found.pending_tasks;
        }

        /// <summary>Array handles not yet released by all who hold them, views included.</summary>
        public long LiveArrays { get; }

        /// <summary>Borrowed and allocated memory that has not been released yet.</summary>
        public long LiveStorages { get; }

        /// <summary>Exported tensors that consumers have not released.</summary>
        public long OutstandingExports { get; }

        /// <summary>Releases that wait for work, or for other processes, that use the memory.</summary>
        public long PendingReleases { get; }

        /// <summary>Bytes of host memory allocated by the library.</summary>
        public long HostBytes { get; }

        /// <summary>Bytes of pinned memory allocated by the library.</summary>
        public long PinnedBytes { get; }

        /// <summary>Bytes of device memory allocated by the library.</summary>
        public long DeviceBytes { get; }

        /// <summary>Bytes of managed memory allocated by the library.</summary>
        public long ManagedBytes { get; }

        /// <summary>Pinned bytes held for staging.</summary>
        public long StagedBytes { get; }

        /// <summary>Tasks that have not ended.</summary>
        public long PendingTasks { get; }

        /// <summary>Every field, for a log.</summary>
        public override string ToString()
        {
            return LiveArrays + " arrays, " + LiveStorages + " storages, " + OutstandingExports + " exports, "
                + PendingReleases + " pending releases, " + PendingTasks + " pending tasks; bytes: " + HostBytes
                + " host, " + PinnedBytes + " pinned, " + DeviceBytes + " device, " + ManagedBytes + " managed, " + StagedBytes
                + " staged";
        }
    }
}
