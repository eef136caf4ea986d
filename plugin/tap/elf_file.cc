// ELF64 header reading by pread. See elf_file.h.
#include "plugin/tap/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rdmaguard::tap {
namespace {

// Bounds on what a header may ask us to read. A real libnccl has about 40 sections and 10 program
// headers; libtorch_cuda.so has about as many.
constexpr std::size_t kMaxSections = 4096;
constexpr std::size_t kMaxProgramHeaders = 256;
constexpr std::size_t kMaxNameTable = 1 << 20;
constexpr std::size_t kMaxNotes = 1 << 16;

class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool open() const { return fd_ >= 0; }
  bool regular() const {
    struct stat status {};
    return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  }

  bool read(void* into, std::size_t bytes, std::uint64_t at) const {
    auto* cursor = static_cast<char*>(into);
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, cursor, bytes, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      cursor += n;
      at += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

ElfFile failed(std::string why) {
  ElfFile file;
  file.error = std::move(why);
  return file;
}

std::size_t padded(std::size_t n) {
  return (n + 3) & ~std::size_t{3};
}

}  // namespace

const Section* ElfFile::unique(std::string_view name) const {
  const Section* found = nullptr;
  for (const Section& section : sections) {
    if (section.name != name) continue;
    if (found != nullptr) return nullptr;
    found = &section;
  }
  return found;
}

std::vector<std::uint8_t> buildIdOf(const std::uint8_t* notes, std::size_t size) {
  std::size_t at = 0;
  while (size - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    if (note.n_namesz > size - name) break;
    const std::size_t desc = name + padded(note.n_namesz);
    if (desc > size || note.n_descsz > size - desc) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      return {notes + desc, notes + desc + note.n_descsz};
    }
    const std::size_t next = desc + padded(note.n_descsz);
    if (next > size) break;
    at = next;
  }
  return {};
}

ElfFile readElfFile(const std::string& path) {
  const File in(path);
  if (!in.open()) return failed(std::string("cannot be opened: ") + std::strerror(errno));
  if (!in.regular()) return failed("is not a regular file");

  Elf64_Ehdr header;
  if (!in.read(&header, sizeof header, 0)) return failed("is too short for an ELF file");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return failed("is not a 64-bit little-endian ELF file");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMaxProgramHeaders) {
    return failed("has no usable program headers");
  }
  if (header.e_shoff == 0 || header.e_shnum == 0) return failed("has no section headers");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections ||
      header.e_shstrndx >= header.e_shnum) {
    return failed("has unusable section headers");
  }

  ElfFile file;
  file.program.resize(header.e_phnum);
  std::vector<Elf64_Shdr> raw(header.e_shnum);
  if (!in.read(file.program.data(), file.program.size() * sizeof(Elf64_Phdr), header.e_phoff) ||
      !in.read(raw.data(), raw.size() * sizeof(Elf64_Shdr), header.e_shoff)) {
    return failed("ends before its headers");
  }
  const Elf64_Shdr& names = raw[header.e_shstrndx];
  if (names.sh_size == 0 || names.sh_size > kMaxNameTable) {
    return failed("has no usable section names");
  }
  std::string text(names.sh_size, '\0');
  if (!in.read(text.data(), text.size(), names.sh_offset)) {
    return failed("ends before its section names");
  }
  text.push_back('\0');
  for (const Elf64_Shdr& section : raw) {
    const char* name = section.sh_name < text.size() ? text.c_str() + section.sh_name : "";
    file.sections.push_back(
        {name, section.sh_type, section.sh_flags, section.sh_addr, section.sh_size});
  }
  for (const Elf64_Phdr& segment : file.program) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes || !file.buildId.empty()) {
      continue;
    }
    std::vector<std::uint8_t> notes(segment.p_filesz);
    if (!in.read(notes.data(), notes.size(), segment.p_offset)) {
      return failed("ends before its notes");
    }
    file.buildId = buildIdOf(notes.data(), notes.size());
  }
  return file;
}

}  // namespace rdmaguard::tap
