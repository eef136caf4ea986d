// See elf_file.h.
#include "elf_file.h"

#include <elf.h>

#include <array>
#include <cstring>

namespace rdmaguard::test {
namespace {

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string elfFile(const std::vector<std::string>& versions,
                    const std::vector<std::string>& constants) {
  std::string names(1, '\0'), definitions, data;
  std::vector<std::string> all{"libexample.so.1"};
  all.insert(all.end(), versions.begin(), versions.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Elf64_Verdef entry{};
    entry.vd_version = VER_DEF_CURRENT;
    entry.vd_flags = i == 0 ? VER_FLG_BASE : 0;
    entry.vd_ndx = static_cast<Elf64_Half>(i + 1);
    entry.vd_cnt = 1;
    entry.vd_aux = sizeof(Elf64_Verdef);
    entry.vd_next = i + 1 < all.size() ? sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux) : 0;
    append(definitions, entry);
    append(definitions, Elf64_Verdaux{static_cast<Elf64_Word>(names.size()), 0});
    names += all[i] + '\0';
  }
  for (const std::string& text : constants) data += '\0' + text + '\0';

  const std::size_t at = sizeof(Elf64_Ehdr);
  std::array<Elf64_Shdr, 3> sections{};
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = at;
  sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_GNU_verdef;
  sections[2].sh_offset = at + names.size();
  sections[2].sh_size = definitions.size();
  sections[2].sh_link = 1;
  sections[2].sh_info = static_cast<Elf64_Word>(all.size());

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shoff = at + names.size() + definitions.size() + data.size();
  std::string out;
  append(out, header);
  out += names + definitions + data;
  for (const Elf64_Shdr& s : sections) append(out, s);
  return out;
}

}  // namespace rdmaguard::test
