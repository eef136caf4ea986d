// Starts nccl_child and reads what it printed. Tests only.
#pragma once

#include <map>
#include <string>
#include <vector>

/// What a child printed, by key, in order.
struct ChildOutput {
  int status = -1;  ///< exit status; -1 where it ended by a signal
  std::string text;
  std::multimap<std::string, std::string> values;

  /// The value of a key that was printed once; empty otherwise.
  std::string of(const std::string& key) const;
};

/// Runs nccl_child with these arguments and waits for it.
ChildOutput runChild(const std::vector<std::string>& arguments);

/// Runs a command; true where it succeeds.
bool runCommand(const std::vector<std::string>& command);

/// A real NCCL library.
struct NcclRelease {
  std::string version;  ///< "2.28.9"
  std::string path;     ///< of libnccl.so.2
};

/// The releases under RDMAGUARD_NCCL_DIR (default: the cache folder), or those of them that
/// RDMAGUARD_NCCL_RELEASES names, separated by commas or blanks; oldest first. A release that is
/// named and absent is in the list too: its tests fail rather than vanish.
std::vector<NcclRelease> ncclReleases();

/// A folder of this test, removed with all it holds at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};
