using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    // The structs of viaduct.h, field by field under the names they have there.

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct DevicePropertiesLayout
    {
        public int struct_size;
        public int device_type;
        public int device_id;
        public int compute_capability;
        public int driver_version;
        public int num_threads;
        public long total_bytes;
        public long staging_bytes;
        public fixed byte name[128];
        public fixed byte routes[512];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct StatsLayout
    {
        public int struct_size;
        public int pad;
        public long live_arrays;
        public long live_storages;
        public long outstanding_exports;
        public long pending_releases;
        public long host_bytes;
        public long pinned_bytes;
        public long device_bytes;
        public long managed_bytes;
        public long staged_bytes;
        public long pending_tasks;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct PointerInfoLayout
    {
        public int struct_size;
        public int device_type;
        public int device_id;
        public int read_only;
        public IntPtr base_address;
        public long nbytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct DlpackOptionsLayout
    {
        public int struct_size;
        public int max_major;
        public int max_minor;
        public int target_device_type;
        public int target_device_id;
        public int copy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct ConvertOptionsLayout
    {
        public int struct_size;
        public int casting;
        public int overflow;
        public int byte_order;
        public float* scale;
        public float* offset;
        public long scale_count;
        public int scale_axis;
        public int pad;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct FileOptionsLayout
    {
        public int struct_size;
        public int mode;
        public int file_format;
        public int column_major;
        public int durable;
        public int atomic_write;
        public int page_cache;
        public int as_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct FilePropertiesLayout
    {
        public int struct_size;
        public int file_format;
        public int dtype;
        public int ndim;
        public int column_major;
        public int byte_order;
        public long nbytes;
        public long byte_offset;
        public fixed long shape[64];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct ArrayInterfaceLayout
    {
        public int struct_size;
        public int version;
        public int ndim;
        public int read_only;
        public int has_strides;
        public int has_stream;
        public long stream;
        public IntPtr address;
        public fixed long shape[64];
        public fixed long strides[64];
        public fixed byte typestr[16];
    }
}
