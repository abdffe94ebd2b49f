// Runs a fuzzer over the inputs of its corpus, where libFuzzer is not there to do it: each must hold. A corpus is a
// file with an input a line, in hexadecimal; lines that begin with '#' say what found those below.
#include <fstream>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace {

int digit_of(char letter) {
    EXPECT((letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'));
    return letter <= '9' ? letter - '0' : letter - 'a' + 10;
}

std::vector<uint8_t> read_input(const std::string &line) {
    EXPECT(line.size() % 2 == 0);
    std::vector<uint8_t> input(line.size() / 2);
    for (size_t i = 0; i < input.size(); ++i) {
        input[i] = static_cast<uint8_t>(digit_of(line[2 * i]) << 4 | digit_of(line[2 * i + 1]));
    }
    return input;
}

}  // namespace

int main(int count, char **names) {
    int run = 0;
    for (int i = 1; i < count; ++i) {
        std::ifstream corpus(names[i]);
        for (std::string line; std::getline(corpus, line);) {
            if (line.empty() || line[0] == '#') {
                continue;
            }
            // A block of exactly its size, so that AddressSanitizer sees what reads beyond it.
            const std::vector<uint8_t> input = read_input(line);
            (void)LLVMFuzzerTestOneInput(input.data(), input.size());
            run++;
        }
    }
    std::printf("%d inputs\n", run);
    return run > 0 ? 0 : 1;
}
