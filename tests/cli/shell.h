// Runs a line of shell and gives what it printed and its exit code.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace rdmaguard::cli::test {

struct ShellResult {
  int exitCode = -1;
  std::string out, err;
};

/// A folder that is gone with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/rdmaguard-cli.XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `line` may say $RDMAGUARD for the command under test.
inline ShellResult shell(const std::string& line) {
  const Folder folder;
  const std::string out = folder.path / "out", err = folder.path / "err";
  std::ofstream(folder.path / "line") << "RDMAGUARD=" RDMAGUARD_COMMAND "\n" << line << '\n';
  const int status =
      std::system(("env -u NCCL_PROFILER_PLUGIN -u NCCL_RDMAGUARD_DIR bash " +
                   (folder.path / "line").string() + " >" + out + " 2>" + err + " </dev/null")
                      .c_str());
  ShellResult result;
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = contents(out);
  result.err = contents(err);
  return result;
}

}  // namespace rdmaguard::cli::test
