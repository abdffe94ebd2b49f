// A camera hands out frames of interleaved pixels in rows with padding; a detector, in a library of its own, wants
// dense planes of floats, one a channel, and keeps what it is given for as long as it likes. Nothing is copied but what
// has to be turned around, frames go back to the camera by themselves, and the detector knows nothing of either: it
// takes DLPack.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "viaduct/viaduct.hpp"

namespace {

constexpr std::int64_t kHeight = 480, kWidth = 640, kChannels = 3, kPitch = 2048;

// A driver with a fixed number of buffers, each of which it must get back.
class Camera {
public:
    Camera() : buffers_(2, std::vector<float>(kHeight * kPitch)) {
        for (std::vector<float> &buffer : buffers_) {
            free_.push_back(buffer.data());
        }
    }

    float *next(float brightness) {
        float *frame = free_.front();
        free_.pop_front();
        for (std::int64_t i = 0; i < kHeight * kPitch; ++i) {
            frame[i] = i % kPitch < kWidth * kChannels ? brightness + static_cast<float>(i % kPitch % kChannels) : -1;
        }
        return frame;
    }

    void give_back(float *frame) { free_.push_back(frame); }

    std::size_t available() const { return free_.size(); }

private:
    std::vector<std::vector<float>> buffers_;
    std::deque<float *> free_;
};

// Keeps a frame until the last view of it is gone.
struct Return {
    Camera *camera;
    void operator()(float *frame) const { camera->give_back(frame); }
};
using Frame = std::unique_ptr<float, Return>;

// The detector: a consumer of DLPack tensors.
class Detector {
public:
    void take(DLManagedTensorVersioned *tensor) { held_ = viaduct::from_dlpack(tensor); }

    float mean(std::int64_t channel) const {
        const viaduct::Array plane = held_.select(0, channel);
        double sum = 0;
        for (const float value : viaduct::elements<const float>(plane)) {
            sum += value;
        }
        return static_cast<float>(sum / static_cast<double>(plane.size()));
    }

private:
    viaduct::Array held_;
};

viaduct::Array wrapped(Frame frame) {
    float *first = frame.get();
    return viaduct::Array::adopt(std::move(frame), first, {kHeight, kWidth, kChannels}, {{kPitch, kChannels, 1}});
}

// (height, width, channels) with padded rows as dense (channels, height, width).
viaduct::Array planes_of(const viaduct::Array &frame) {
    const viaduct::Array transposed = frame.permute({2, 0, 1});
    viaduct::Array planes = viaduct::Array::empty(transposed.dtype(), transposed.shape());
    viaduct::copy(planes, transposed);
    return planes;
}

void run() {
    Camera camera;
    Detector detector;
    viaduct::require();
    for (int number = 1; number <= 3; ++number) {
        const viaduct::Array frame = wrapped(Frame(camera.next(static_cast<float>(10 * number)), {&camera}));
        detector.take(viaduct::to_dlpack(planes_of(frame)).release());
        std::printf("frame %d: means %g %g %g, %zu of 2 buffers free\n", number, detector.mean(0), detector.mean(1),
                    detector.mean(2), camera.available());
    }
    std::printf("in the end %zu of 2 buffers free\n", camera.available());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const viaduct::Error &error) {
        std::fprintf(stderr, "%s: %s\n", error.name(), error.what());
        return 1;
    }
    return 0;
}
