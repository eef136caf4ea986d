// See input.h.
#include "verifier/readers/input.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "verifier/readers/input_lines.h"
#include "verifier/readers/region.h"
#include "verifier/readers/source.h"

namespace rdmaguard::readers {
namespace {

namespace fs = std::filesystem;

/// Reads one source after the other into the same facts.
class Intake {
 public:
  explicit Intake(InputResult& result) : result_(result), router_(result.facts) {}

  void take(OpenedSource opened, const std::string& name) {
    if (!opened.bytes) {
      problem(name, opened.failure, true);
      return;
    }
    if (opened.empty) {
      problem(name, "it is empty", true);
      return;
    }
    const auto file = static_cast<std::uint32_t>(result_.facts.files.size());
    result_.facts.files.push_back(name);
    const auto end = splitter_.split(
        *opened.bytes, [&](std::string_view text, std::uint64_t number, bool further) {
          router_.line(text, Place{file, number}, further);
        });
    result_.bytesRead += end.bytes;
    const std::string& failure = opened.bytes->failure();
    const LineRouter::Counts counts = router_.endOfFile(end.cut || !failure.empty());
    if (!failure.empty())
      problem(name, failure, end.bytes == 0);
    else if (counts.lines == 0)
      problem(name, "it holds nothing but blanks", true);
    else if (counts.unknown == counts.lines && counts.binary * 2 >= counts.lines)
      problem(name, "it is binary data, not text", true);
  }

  void finish() { router_.finish(); }

  void problem(const std::string& name, std::string what, bool nothingRead) {
    result_.problems.push_back({name, std::move(what), nothingRead});
  }

 private:
  InputResult& result_;
  LineRouter router_;
  LineSplitter splitter_;
};

bool hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.');
}

/// The regular files below `folder`, sorted by name; hidden ones and what is neither file nor
/// folder are left out, linked folders are not followed.
std::vector<std::string> filesBelow(const std::string& folder, std::string& failure) {
  std::vector<std::string> files;
  std::vector<std::string> open{folder};
  while (!open.empty()) {
    const std::string here = std::move(open.back());
    open.pop_back();
    std::error_code error;
    fs::directory_iterator entries(here, error);
    if (error) {
      failure = here + " cannot be listed: " + error.message();
      continue;
    }
    for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      std::error_code ignored;
      if (hidden(entry.path())) continue;
      if (entry.is_directory(ignored)) {
        if (!entry.is_symlink(ignored)) open.push_back(entry.path().string());
      } else if (entry.is_regular_file(ignored)) {
        files.push_back(entry.path().string());
      }
      if (error) break;
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Tells files apart that are named twice: by themselves and through their folder.
class Seen {
 public:
  bool again(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    return !files_.emplace(status.st_dev, status.st_ino).second;
  }

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace

InputResult readInput(std::span<const std::string> paths, ReadFor) {
  InputResult result;
  Intake intake(result);
  Seen seen;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      if (path == "-" || !seen.again(path)) intake.take(openFile(path), path);
      continue;
    }
    std::string failure;
    const std::vector<std::string> files = filesBelow(path, failure);
    if (!failure.empty()) intake.problem(path, failure, files.empty());
    if (files.empty() && failure.empty()) intake.problem(path, "the folder holds no file", true);
    for (const std::string& file : files)
      if (!seen.again(file)) intake.take(openFile(file), file);
  }
  intake.finish();
  return result;
}

InputResult readText(std::string_view text, const std::string& name, ReadFor) {
  InputResult result;
  Intake intake(result);
  intake.take(openBytes(text), name);
  intake.finish();
  return result;
}

}  // namespace rdmaguard::readers
