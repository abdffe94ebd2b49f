#include "archive/archive_paths.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "exchange/json.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

constexpr std::string_view kIndexEnd = ".safetensors.index.json";
constexpr std::string_view kFileEnd = ".safetensors";

struct CloseDirectory {
    void operator()(DIR *directory) const { (void)closedir(directory); }
};

Status list_directory(const char *path, std::vector<std::string> *out_names) {
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path));
    if (directory == nullptr) {
        return io_failed("opening", path, errno);
    }
    errno = 0;
    while (const dirent *entry = readdir(directory.get())) {
        out_names->emplace_back(entry->d_name);
        errno = 0;
    }
    if (errno != 0) {
        return io_failed("listing", path, errno);
    }
    std::sort(out_names->begin(), out_names->end());
    return VIA_OK;
}

std::vector<std::string> ending_with(const std::vector<std::string> &names, std::string_view end) {
    std::vector<std::string> found;
    std::copy_if(names.begin(), names.end(), std::back_inserter(found),
                 [&](const std::string &name) { return name.ends_with(end) && name[0] != '.'; });
    return found;
}

std::string in_directory(std::string_view directory, std::string_view name) {
    std::string path(directory);
    path += path.ends_with('/') ? "" : "/";
    return path.append(name);
}

// The names of an index, and the file of each.
class IndexScanner {
public:
    IndexScanner(std::string_view text, ArchivePaths *paths) : scanner_(text), paths_(paths) {}

    Status scan() {
        std::set<std::string> keys;
        std::string key;
        if (!scanner_.accept("{")) {
            return refuse("an object");
        }
        do {
            if (!scanner_.read_string(&key) || !scanner_.accept(":")) {
                return refuse("a name and a colon");
            }
            if (!keys.insert(key).second) {
                return refuse("each name once before it");
            }
            const bool is_map = key == "weight_map";
            VIA_TRY(is_map                         ? scan_map()
                    : scanner_.skip_strict_value() ? VIA_OK
                                                   : refuse("a value with each name once"));
        } while (scanner_.accept(","));
        VIA_TRY(scanner_.accept("}") && scanner_.is_at_end() ? VIA_OK : refuse("the end of the object"));
        return keys.count("weight_map") > 0 ? finish() : refuse("a weight_map");
    }

private:
    Status refuse(const char *expected) {
        return fail(VIA_ERROR_FORMAT, "the index is no JSON of its kind at byte %zu; expected %s", scanner_.at(),
                    expected);
    }

    Status scan_map() {
        if (!scanner_.accept("{")) {
            return refuse("an object of file names");
        }
        if (scanner_.accept("}")) {
            return VIA_OK;
        }
        std::string name;
        std::string file;
        do {
            if (!scanner_.read_string(&name) || !scanner_.accept(":") || !scanner_.read_string(&file)) {
                return refuse("a tensor's name and a file's");
            }
            if (file.empty() || file.find_first_of(std::string_view("/\0", 2)) != file.npos || file == "..") {
                return fail(VIA_ERROR_FORMAT, "tensor '%.80s': the file is '%.80s'; expected a name without '/'",
                            name.c_str(), file.c_str());
            }
            if (!names_.emplace(name, file).second) {
                return fail(VIA_ERROR_FORMAT, "tensor '%.80s' occurs twice; expected each once", name.c_str());
            }
        } while (scanner_.accept(","));
        return scanner_.accept("}") ? VIA_OK : refuse("the end of the weight_map");
    }

    Status finish() {
        const size_t slash = paths_->source.rfind('/');
        const std::string directory = slash == std::string::npos ? "." : paths_->source.substr(0, slash + 1);
        std::map<std::string, size_t> files;
        for (const auto &[name, file] : names_) {
            files.emplace(file, 0);
        }
        for (auto &[file, number] : files) {
            number = paths_->files.size();
            paths_->files.push_back(slash == std::string::npos ? file : in_directory(directory, file));
        }
        for (const auto &[name, file] : names_) {
            paths_->files_by_name.emplace_back(name, files.at(file));
        }
        return VIA_OK;
    }

    JsonScanner scanner_;
    ArchivePaths *const paths_;
    std::map<std::string, std::string> names_;
};

Status read_index(ArchivePaths *paths) {
    OpenFile *opened = nullptr;
    VIA_TRY(OpenFile::open(paths->source.c_str(), O_RDONLY, &opened));
    const UniqueOpenFile open(opened);
    int64_t nbytes = 0;
    VIA_TRY(opened->size(&nbytes));
    if (nbytes > kMostArchiveText) {
        return fail(VIA_ERROR_FORMAT, "the index has %lld bytes; expected at most %lld", as_printed(nbytes),
                    as_printed(kMostArchiveText));
    }
    std::string text(static_cast<size_t>(nbytes), '\0');
    VIA_TRY(read_all(opened, text.data(), 0, nbytes));
    return IndexScanner(text, paths).scan();
}

Status find_in_directory(const char *path, ArchivePaths *paths) {
    std::vector<std::string> names;
    VIA_TRY(list_directory(path, &names));
    const std::vector<std::string> indices = ending_with(names, kIndexEnd);
    if (indices.size() == 1) {
        paths->source = in_directory(path, indices[0]);
        return name_path(paths->source.c_str(), read_index(paths));
    }
    const std::vector<std::string> files = ending_with(names, kFileEnd);
    if (indices.size() > 1 || files.empty()) {
        return fail(VIA_ERROR_FORMAT, "%.400s has %zu files *%s and %zu *%s; expected one index, or files without one",
                    path, indices.size(), kIndexEnd.data(), files.size(), kFileEnd.data());
    }
    for (const std::string &name : files) {
        paths->files.push_back(in_directory(path, name));
    }
    return VIA_OK;
}

}  // namespace

Status find_archive_paths(const char *path, ArchivePaths *out_paths) {
    struct stat found{};
    if (stat(path, &found) != 0) {
        return io_failed("opening", path, errno);
    }
    out_paths->source = path;
    if (S_ISDIR(found.st_mode)) {
        return find_in_directory(path, out_paths);
    }
    if (std::string_view(path).ends_with(".index.json")) {
        return name_path(path, read_index(out_paths));
    }
    out_paths->files.emplace_back(path);
    return VIA_OK;
}

}  // namespace via
