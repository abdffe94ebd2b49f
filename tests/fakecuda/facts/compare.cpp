// Compares what a driver was found to do with a recording of another.
#include "compare.hpp"

#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <utility>

namespace facts {
namespace {

std::string question_of(const std::string &line) { return line.substr(0, line.find(" = ")); }

// The lines by their questions; one that is asked again counts as another.
using Facts = std::map<std::pair<std::string, int>, std::string>;

Facts read(const char *path) {
    std::ifstream file(path);
    Facts facts;
    std::map<std::string, int> asked;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line[0] != '#') {
            const std::string question = question_of(line);
            facts[{question, asked[question]++}] = line;
        }
    }
    return facts;
}

const std::string &at(const Facts &facts, const Facts::key_type &question) {
    static const std::string nothing = "nothing";
    const auto found = facts.find(question);
    return found == facts.end() ? nothing : found->second;
}

}  // namespace

int compare(const char *recorded_path, const char *found_path, const char *differences_path) {
    Facts expected = read(recorded_path);
    const Facts found = read(found_path);
    for (const auto &[question, line] : read(differences_path)) {
        expected[question] = line;
    }
    Facts all = expected;
    all.insert(found.begin(), found.end());
    int wrong = 0;
    for (const auto &[question, line] : all) {
        if (at(expected, question) != at(found, question)) {
            std::cerr << "expected " << at(expected, question) << "\nfound    " << at(found, question) << "\n";
            ++wrong;
        }
    }
    std::cerr << all.size() << " facts compared, " << wrong << " wrong\n";
    return wrong == 0 && !all.empty() ? 0 : 1;
}

}  // namespace facts
