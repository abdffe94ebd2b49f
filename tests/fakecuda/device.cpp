#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "call.hpp"

namespace fake {
namespace {

// What every device has, unless a test says otherwise: those of a recent data-centre GPU.
const std::map<int, int> &common_attributes() {
    static const std::map<int, int> *const common = new std::map<int, int>{
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
        {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
        {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
        {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    };
    return *common;
}

Device make_device(Driver &state, int ordinal) {
    Device made;
    made.ordinal = ordinal;
    made.primary_handle = reinterpret_cast<CUcontext>(new_handle());
    made.attributes = common_attributes();
    const auto capability = static_cast<int>(state.setting(FAKE_CAPABILITY));
    made.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = capability / 10;
    made.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = capability % 10;
    made.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = ordinal + 1;
    const auto page_tables = static_cast<int>(state.setting(FAKE_PAGE_TABLES));
    made.attributes[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = page_tables;
    made.attributes[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES] = page_tables;
    const auto count = static_cast<int>(state.setting(FAKE_DEVICES));
    for (int peer = 0; peer < count; ++peer) {
        made.peers[peer] = peer != ordinal && state.setting(FAKE_PEERS) != 0;
    }
    for (const auto &[pair, can] : state.peer_settings) {
        if (pair.first == ordinal) {
            made.peers[pair.second] = can;
        }
    }
    for (const auto &[which, value] : state.attribute_settings) {
        if (which.first == ordinal) {
            made.attributes[which.second] = value;
        }
    }
    return made;
}

void start(Driver &state, unsigned int flags) {
    require(flags == 0);
    const auto wanted = static_cast<CUresult>(state.setting(FAKE_INIT_RESULT));
    require(wanted == CUDA_SUCCESS, wanted);
    require(state.setting(FAKE_DEVICES) > 0, CUDA_ERROR_NO_DEVICE);
    if (state.initialised) {
        return;
    }
    for (int ordinal = 0; ordinal < state.setting(FAKE_DEVICES); ++ordinal) {
        state.devices.push_back(make_device(state, ordinal));
    }
    state.process = getpid();
    state.initialised = true;
    watch_exit();
}

void copy_text(char *into, int capacity, const char *text) {
    require(into != nullptr && capacity > 0);
    std::snprintf(into, static_cast<size_t>(capacity), "%s", text);
}

CUuuid uuid_of(int gpu) {
    CUuuid made = {};
    std::snprintf(made.bytes, sizeof made.bytes, "fakecuda-gpu-%02d", gpu);
    return made;
}

std::string bus_id_of(int gpu) {
    char text[16];
    std::snprintf(text, sizeof text, "0000:%02X:00.0", gpu + 1);
    return text;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuInit(unsigned int Flags) {
    return enter(Fn::cuInit, [&](Call &call) { start(call.state(), Flags); });
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion) {
    return enter(Fn::cuDriverGetVersion, [&](Call &call) {
        require(driverVersion != nullptr);
        *driverVersion = static_cast<int>(call.state().setting(FAKE_DRIVER_VERSION));
    });
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
    return enter(Fn::cuDeviceGet, [&](Call &call) {
        require(device != nullptr);
        *device = call.device(ordinal).ordinal;
    });
}

CUresult CUDAAPI cuDeviceGetCount(int *count) {
    return enter(Fn::cuDeviceGetCount, [&](Call &call) {
        require(count != nullptr);
        *count = static_cast<int>(call.state().devices.size());
    });
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev) {
    return enter(Fn::cuDeviceGetName, [&](Call &call) {
        copy_text(name, len, ("Fake GPU " + std::to_string(call.device(dev).ordinal)).c_str());
    });
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    return enter(Fn::cuDeviceGetUuid, [&](Call &call) {
        require(uuid != nullptr);
        *uuid = uuid_of(call.state().renumbered(call.device(dev).ordinal));
    });
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    return enter(Fn::cuDeviceGetUuid_v2, [&](Call &call) {
        require(uuid != nullptr);
        *uuid = uuid_of(call.state().renumbered(call.device(dev).ordinal));
    });
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    return enter(Fn::cuDeviceTotalMem_v2, [&](Call &call) {
        call.device(dev);
        require(bytes != nullptr);
        *bytes = static_cast<size_t>(call.state().setting(FAKE_DEVICE_MEMORY));
    });
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev) {
    return enter(Fn::cuDeviceGetAttribute, [&](Call &call) {
        const Device &device = call.device(dev);
        require(pi != nullptr && attrib > 0 && attrib < CU_DEVICE_ATTRIBUTE_MAX);
        const auto at = device.attributes.find(attrib);
        *pi = at == device.attributes.end() ? 0 : at->second;
    });
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev) {
    return enter(Fn::cuDeviceGetPCIBusId, [&](Call &call) {
        const std::string id = bus_id_of(call.state().renumbered(call.device(dev).ordinal));
        require(len > static_cast<int>(id.size()));
        copy_text(pciBusId, len, id.c_str());
    });
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId) {
    return enter(Fn::cuDeviceGetByPCIBusId, [&](Call &call) {
        require(dev != nullptr && pciBusId != nullptr);
        for (const Device &device : call.state().devices) {
            if (bus_id_of(call.state().renumbered(device.ordinal)) == pciBusId) {
                *dev = device.ordinal;
                return;
            }
        }
        refuse(CUDA_ERROR_INVALID_DEVICE);
    });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev) {
    return enter(Fn::cuDeviceCanAccessPeer, [&](Call &call) {
        require(canAccessPeer != nullptr);
        *canAccessPeer = call.device(dev).peers[call.device(peerDev).ordinal];
    });
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                         CUdevice dstDevice) {
    return enter(Fn::cuDeviceGetP2PAttribute, [&](Call &call) {
        require(value != nullptr && srcDevice != dstDevice);
        const bool can = call.device(srcDevice).peers[call.device(dstDevice).ordinal];
        *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && can;
    });
}
}
