// What readWholeNode adds of libibverbs and its providers: the rdma-core release they are of, and
// the versions of libibverbs's interface, read in the ELF file. See sources.h.
// Sources: rdma-core buildlib (library versions end in the release: libibverbs.so.1.14.44.0,
// libmlx5.so.1.24.44.0); System V ABI and LSB, symbol versioning (SHT_GNU_verdef).
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

constexpr std::size_t kMostOfLibrary = 8 << 20;
constexpr std::size_t kMostVersions = 64;  // libibverbs defines about fifteen

// ".so.1.14.44.0" -> "44.0": interface number, its minor, then the release.
std::string releaseOf(std::string_view path) {
  const auto at = path.rfind(".so.");
  if (at == std::string_view::npos) return {};
  std::string_view rest = path.substr(at + 4);
  for (int skipped = 0; skipped < 2; ++skipped) {
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
  const bool plain = rest.find_first_not_of("0123456789.") == std::string_view::npos;
  return plain && rest.find('.') != std::string_view::npos ? std::string(rest) : std::string();
}

template <typename T>
std::optional<T> structAt(std::string_view image, std::uint64_t at) {
  if (at > image.size() || image.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + at, sizeof value);
  return value;
}

std::string stringAt(std::string_view image, std::uint64_t table, std::uint64_t at) {
  if (table > image.size() || at > image.size() - table) return {};
  const std::string_view rest = image.substr(table + at, 256);
  return std::string(rest.substr(0, std::min(rest.find('\0'), rest.size())));
}

// Offsets only grow, so the walk ends whatever the file holds.
void walkVersions(std::string_view image, const Elf64_Shdr& versions, const Elf64_Shdr& strings,
                  std::vector<std::string>& out) {
  std::uint64_t at = versions.sh_offset;
  while (out.size() < kMostVersions) {
    const auto entry = structAt<Elf64_Verdef>(image, at);
    if (!entry) return;
    const auto name = structAt<Elf64_Verdaux>(image, at + entry->vd_aux);
    if (name && !(entry->vd_flags & VER_FLG_BASE))
      if (std::string text = stringAt(image, strings.sh_offset, name->vda_name); !text.empty())
        out.push_back(std::move(text));
    if (entry->vd_next == 0) return;
    at += entry->vd_next;
  }
}

std::vector<std::string> versionsDefined(std::string_view image) {
  std::vector<std::string> out;
  const auto header = structAt<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return out;
  const auto section = [&](std::uint64_t index) {
    if (index >= header->e_shnum || header->e_shoff > image.size())
      return std::optional<Elf64_Shdr>();
    return structAt<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto versions = section(i);
    if (!versions || versions->sh_type != SHT_GNU_verdef) continue;
    if (const auto strings = section(versions->sh_link))
      walkVersions(image, *versions, *strings, out);
    return out;
  }
  return out;
}

}  // namespace

void readVerbsFiles(const Tree& tree, engine::VerbsLoader& loader) {
  if (loader.path.empty()) return;
  loader.file = tree.realPath(loader.path);
  loader.rdmaCore = releaseOf(loader.file);
  loader.symbolVersions = versionsDefined(tree.read(loader.path, kMostOfLibrary).value_or(""));
  for (engine::VerbsProvider& p : loader.providers)
    if (!p.library.empty()) p.rdmaCore = releaseOf(tree.realPath(p.library));
}

}  // namespace rdmaguard::probe
