// See elf_symbols.h.
#include "elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rdmaguard::job {
namespace {

class File {
 public:
  explicit File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY)) {
    if (fd_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t bytes) const {
    std::vector<T> out(bytes / sizeof(T));
    auto* to = reinterpret_cast<char*>(out.data());
    std::uint64_t done = 0;
    while (done < out.size() * sizeof(T)) {
      const ssize_t n =
          ::pread(fd_, to + done, out.size() * sizeof(T) - done, static_cast<off_t>(offset + done));
      if (n <= 0) throw std::runtime_error(path_ + ": shorter than its headers say");
      done += static_cast<std::uint64_t>(n);
    }
    return out;
  }

 private:
  std::string path_;
  int fd_;
};

}  // namespace

std::map<std::string, std::uint64_t> symbolsOf(const std::string& path,
                                               const std::vector<std::string>& names) {
  const File file(path);
  const Elf64_Ehdr header = file.read<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr)).front();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error(path + ": not a 64-bit ELF file");
  }
  const auto sections =
      file.read<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  std::map<std::string, std::uint64_t> found;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& strings = sections.at(section.sh_link);
    const auto text = file.read<char>(strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol : file.read<Elf64_Sym>(section.sh_offset, section.sh_size)) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) continue;
      const char* name = &text[symbol.st_name];
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        found.emplace(name, symbol.st_value);
      }
    }
  }
  return found;
}

}  // namespace rdmaguard::job
