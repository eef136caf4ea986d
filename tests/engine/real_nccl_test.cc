// Our readings of NCCL_IB_HCA and nccl.conf against NCCL's own code: the functions inside the
// libnccl.so.2 of every release in RDMAGUARD_NCCL_DIR, found by their names in its symbol
// table and called. They need no CUDA and no device.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>

#include "filter_cases.h"
#include "verifier/engine/hca_filter.h"
#include "verifier/engine/settings.h"

extern char** environ;

namespace rdmaguard::engine {
namespace {

namespace fs = std::filesystem;

fs::path releaseFolder() {
  if (const char* dir = std::getenv("RDMAGUARD_NCCL_DIR")) return dir;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return fs::path(cache) / "rdmaguard/nccl";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/root") / ".cache/rdmaguard/nccl";
}

std::vector<fs::path> libraries() {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(releaseFolder(), ignored))
    if (const auto lib = entry.path() / "nvidia/nccl/lib/libnccl.so.2"; fs::exists(lib))
      found.push_back(lib);
  std::sort(found.begin(), found.end());
  return found;
}

// The offset of a function whose mangled name begins with `prefix`; 0 when there is none.
std::uintptr_t functionIn(std::string_view image, std::string_view prefix) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr s;
    std::memcpy(&s, image.data() + header.e_shoff + i * sizeof s, sizeof s);
    return s;
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr strings = section(symbols.sh_link);
    for (std::size_t n = 0; n < symbols.sh_size / sizeof(Elf64_Sym); ++n) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + symbols.sh_offset + n * sizeof symbol, sizeof symbol);
      const std::string_view name(image.data() + strings.sh_offset + symbol.st_name);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && name.starts_with(prefix))
        return symbol.st_value;
    }
  }
  return 0;
}

// A file as it lies on disk; only the pages that are looked at are read.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) : size_(fs::file_size(path)) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data_ == MAP_FAILED) throw std::runtime_error("cannot map " + path.string());
  }
  ~MappedFile() { munmap(data_, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

// NCCL's functions of one release.
class RealNccl {
 public:
  explicit RealNccl(const fs::path& library) {
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw std::runtime_error(dlerror());
    const auto version = reinterpret_cast<int (*)(int*)>(dlsym(handle_, "ncclGetVersion"));
    version(&version_);
    link_map* map = nullptr;
    dlinfo(handle_, RTLD_DI_LINKMAP, &map);
    const MappedFile image(library);
    const auto function = [&](std::string_view name) {
      const std::uintptr_t offset = functionIn(image.bytes(), name);
      if (offset == 0) throw std::runtime_error("not in the symbol table: " + std::string(name));
      return map->l_addr + offset;
    };
    parse_ = reinterpret_cast<Parse>(function("_Z15parseStringListPKcP5netIfi"));
    match_ = reinterpret_cast<Match>(function("_Z11matchIfListPKciP5netIfib"));
    setEnvFile_ = reinterpret_cast<SetEnvFile>(function("_Z10setEnvFilePKc"));
  }
  ~RealNccl() { dlclose(handle_); }
  RealNccl(const RealNccl&) = delete;
  RealNccl& operator=(const RealNccl&) = delete;

  int version() const { return version_; }
  void setEnvFile(const std::string& path) const { setEnvFile_(path.c_str()); }

  // As net_ib applies NCCL_IB_HCA: '^' and '=' off the front, then list and match.
  bool takes(const std::string& list, const std::string& name, int port) const {
    alignas(8) char entries[kMaxHcaEntries * 128] = {};  // netIf is 68 or 72 bytes
    const char* text = list.c_str();
    const bool exclude = *text == '^';
    if (exclude) ++text;
    const bool exact = *text == '=';
    if (exact) ++text;
    const int n = parse_(text, entries, kMaxHcaEntries);
    return match_(name.c_str(), port, entries, n, exact, nullptr) != exclude;
  }

 private:
  using Parse = int (*)(const char*, void*, int);
  // The last argument came with 2.30; a function without it does not look at its register.
  using Match = bool (*)(const char*, int, void*, int, bool, int*);
  using SetEnvFile = void (*)(const char*);

  void* handle_ = nullptr;
  int version_ = 0;
  Parse parse_ = nullptr;
  Match match_ = nullptr;
  SetEnvFile setEnvFile_ = nullptr;
};

class EveryRelease : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const fs::path& library : libraries())
      releases_.push_back(std::make_unique<RealNccl>(library));
  }
  static void TearDownTestSuite() { releases_.clear(); }
  void SetUp() override {
    ASSERT_FALSE(releases_.empty())
        << "no NCCL release below " << releaseFolder() << ": run scripts/fetch-nccl.sh";
  }
  static inline std::vector<std::unique_ptr<RealNccl>> releases_;
};

TEST_F(EveryRelease, TakesTheDevicesThatOurFilterTakes) {
  for (const auto& release : releases_) {
    const RealNccl& nccl = *release;
    for (const test::FilterCase& c : test::kFilterCases) {
      const bool newer = nccl.version() >= 23000;
      if (c.ncclVersion != 0 && newer != (c.ncclVersion >= 23000)) continue;
      EXPECT_EQ(nccl.takes(c.list, c.name, c.port), c.taken)
          << "NCCL " << nccl.version() << ", NCCL_IB_HCA=" << c.list << " for " << c.name << ":"
          << c.port;
    }
  }
}

TEST_F(EveryRelease, AgreesWithOurFilterOnRandomLists) {
  constexpr std::string_view kLetters = "mlx5_01,,::^= -";
  for (const auto& release : releases_) {
    const RealNccl& nccl = *release;
    std::mt19937 random(20240607);
    for (int round = 0; round < 5000; ++round) {
      std::string list;
      for (auto n = random() % 24; n > 0; --n) list += kLetters[random() % kLetters.size()];
      const std::string name = random() % 2 ? "mlx5_0" : "mlx5_10";
      const int port = static_cast<int>(random() % 4) - 1;
      ASSERT_EQ(parseNameFilter(list, kMaxHcaEntries, nccl.version()).takes(name, port),
                nccl.takes(list, name, port))
          << "NCCL " << nccl.version() << ", list \"" << list << "\", " << name << ":" << port;
    }
  }
}

// What NCCL's setEnvFile leaves in the environment of a child that had nothing else.
std::string environmentAfter(const RealNccl& nccl, const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    clearenv();
    setenv("NCCL_SET_BEFORE", "kept", 1);
    nccl.setEnvFile(path);
    std::string all;
    for (char** entry = environ; entry && *entry; ++entry) all += std::string(*entry) + '\x01';
    [[maybe_unused]] const auto written = write(ends[1], all.data(), all.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST_F(EveryRelease, ReadsAConfFileAsWeDo) {
  const std::string text =
      "# a comment=1\nNCCL_IB_HCA=mlx5_0,mlx5_1\nNCCL_IB_HCA=second\n NCCL_BLANK=1\n"
      "NCCL_QUOTED=\"x y\"\nNCCL_CR=1\r\nNCCL_SET_BEFORE=lost\nno equals sign\n=nothing\n"
      "NCCL_EMPTY=\nexport NCCL_SHELL=1\nNCCL_LONG=" +
      std::string(1500, 'v') + "\nNCCL_LAST=a=b";
  const fs::path file = fs::temp_directory_path() / ("rdmaguard-conf." + std::to_string(getpid()));
  std::ofstream(file, std::ios::binary) << text;
  const std::vector<std::string> before{"NCCL_SET_BEFORE=kept"};
  for (const auto& release : releases_) {
    const RealNccl& nccl = *release;
    std::string ours;
    const std::vector<ConfFile> files{{file.string(), text}};
    for (const Setting& s :
         settingsInForce(parseEnvironment(before), files, nccl.version()).effective)
      ours += s.name + "=" + s.value + '\x01';
    std::string theirs = environmentAfter(nccl, file.string());
    // Up to 2.25 a '#' is no comment: such a line sets a variable that nothing reads.
    if (const auto comment = theirs.find("# a comment=1\x01"); comment != std::string::npos)
      theirs.erase(comment, std::strlen("# a comment=1\x01"));
    EXPECT_EQ(ours, theirs) << "NCCL " << nccl.version();
  }
  fs::remove(file);
}

}  // namespace
}  // namespace rdmaguard::engine
