// Processes, folders and releases for the tests. See child.h.
#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

extern char** environ;

namespace {

std::vector<char*> argumentsOf(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

int wait(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::array<int, 3> numbersOf(const std::string& version) {
  std::array<int, 3> numbers{};
  std::istringstream in(version);
  char dot = 0;
  in >> numbers[0] >> dot >> numbers[1] >> dot >> numbers[2];
  return numbers;
}

std::string releasesFolder() {
  if (const char* folder = std::getenv("RDMAGUARD_NCCL_DIR")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    return std::string(cache) + "/rdmaguard/nccl";
  }
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "") + "/.cache/rdmaguard/nccl";
}

}  // namespace

std::string ChildOutput::of(const std::string& key) const {
  return values.count(key) == 1 ? values.find(key)->second : std::string();
}

ChildOutput runChild(const std::vector<std::string>& arguments) {
  ChildOutput output;
  std::vector<std::string> command{NCCL_CHILD};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return output;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  const int started = posix_spawn(&pid, command[0].c_str(), &actions, nullptr,
                                  argumentsOf(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n; started == 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (started != 0) return output;
  output.status = wait(pid);
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) {
      output.values.emplace(line.substr(0, blank), line.substr(blank + 1));
    }
  }
  return output;
}

bool runCommand(const std::vector<std::string>& command) {
  pid_t pid = 0;
  if (posix_spawnp(&pid, command[0].c_str(), nullptr, nullptr, argumentsOf(command).data(),
                   environ) != 0) {
    return false;
  }
  return wait(pid) == 0;
}

std::vector<NcclRelease> ncclReleases() {
  const std::string folder = releasesFolder();
  std::vector<std::string> versions;
  if (const char* named = std::getenv("RDMAGUARD_NCCL_RELEASES"); named != nullptr && *named) {
    std::string text = named;
    std::replace(text.begin(), text.end(), ',', ' ');
    std::istringstream in(text);
    for (std::string version; in >> version;) versions.push_back(version);
  } else {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (std::filesystem::exists(entry.path() / "nvidia/nccl/lib/libnccl.so.2", error)) {
        versions.push_back(entry.path().filename());
      }
    }
  }
  std::sort(versions.begin(), versions.end(),
            [](const std::string& a, const std::string& b) { return numbersOf(a) < numbersOf(b); });
  std::vector<NcclRelease> releases;
  for (const std::string& version : versions) {
    releases.push_back({version, folder + "/" + version + "/nvidia/nccl/lib/libnccl.so.2"});
  }
  return releases;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "rdmaguard-locate-XXXXXX";
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}
