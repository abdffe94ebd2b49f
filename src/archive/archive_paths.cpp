#include "archive/archive_paths.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string_view>

#include "exchange/json.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

constexpr char kIndexEnd[] = ".safetensors.index.json";
constexpr char kFileEnd[] = ".safetensors";

struct CloseDirectory {
    void operator()(DIR *directory) const { (void)closedir(directory); }
};

// Lists the paths of a directory's visible files whose names have that end, in order.
Status list_files(const char *path, std::string_view end, std::vector<std::string> *out_files) {
    const std::string directory = std::string(path) + (std::string_view(path).ends_with('/') ? "" : "/");
    const std::unique_ptr<DIR, CloseDirectory> opened(opendir(path));
    if (opened == nullptr) {
        return io_failed("opening", path, errno);
    }
    errno = 0;
    while (const dirent *entry = readdir(opened.get())) {
        const std::string_view name = entry->d_name;
        if (name.ends_with(end) && !name.starts_with('.')) {
            out_files->push_back(directory + entry->d_name);
        }
        errno = 0;
    }
    if (errno != 0) {
        return io_failed("listing", path, errno);
    }
    std::sort(out_files->begin(), out_files->end());
    return VIA_OK;
}

Status read_weight_map(JsonScanner *json, ArchivePaths *paths) {
    constexpr char kNames[] = "a tensor's name and a file's";
    const std::string directory = paths->source.substr(0, paths->source.rfind('/') + 1);
    std::string file;
    return json->read_object("an object of file names", kNames, [&](const std::string &name) {
        if (!json->read_string(&file)) {
            return json->refuse(kNames);
        }
        if (file.empty() || file.find_first_of(std::string_view("/\0", 2)) != file.npos || file == "..") {
            return fail(VIA_ERROR_FORMAT, "tensor '%.80s': the file is '%.80s'; expected a name without '/'",
                        name.c_str(), file.c_str());
        }
        return paths->files_by_name.emplace(name, directory + file).second
                   ? VIA_OK
                   : fail(VIA_ERROR_FORMAT, "tensor '%.80s' occurs twice; expected each once", name.c_str());
    });
}

Status parse_index(std::string_view text, ArchivePaths *paths) {
    JsonScanner json(text, "the index", VIA_ERROR_FORMAT);
    std::set<std::string> keys;
    VIA_TRY(json.read_object("an object", "a name and a colon", [&](const std::string &name) {
        if (!keys.insert(name).second) {
            return json.refuse("each name once before it");
        }
        if (name == "weight_map") {
            return read_weight_map(&json, paths);
        }
        return json.skip_strict_value() ? VIA_OK : json.refuse("a value with each name once");
    }));
    VIA_TRY(json.expect_end("the end of the object"));
    VIA_TRY(keys.contains("weight_map") ? VIA_OK : json.refuse("a weight_map"));
    std::set<std::string> files;
    for (const auto &[name, file] : paths->files_by_name) {
        files.insert(file);
    }
    paths->files.assign(files.begin(), files.end());
    return VIA_OK;
}

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
    return parse_index(text, paths);
}

Status find_in_directory(const char *path, ArchivePaths *paths) {
    std::vector<std::string> indices;
    VIA_TRY(list_files(path, kIndexEnd, &indices));
    if (indices.size() == 1) {
        paths->source = indices[0];
        return name_path(paths->source.c_str(), read_index(paths));
    }
    VIA_TRY(list_files(path, kFileEnd, &paths->files));
    return indices.empty() && !paths->files.empty()
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT,
                      "%.400s has %zu files *%s and %zu *%s; expected one index, or files without one", path,
                      indices.size(), kIndexEnd, paths->files.size(), kFileEnd);
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
