// Reads .symtab with an ifstream. See symbol_table.h.
#include "symbol_table.h"

#include <elf.h>

#include <fstream>
#include <vector>

std::map<std::string, Symbol> readSymbols(const std::string& path,
                                          const std::set<std::string>& wanted) {
  std::map<std::string, Symbol> found;
  std::ifstream in(path, std::ios::binary);
  const auto read = [&in](std::uint64_t at, void* into, std::size_t bytes) {
    in.seekg(static_cast<std::streamoff>(at));
    in.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes));
    return in.good();
  };
  Elf64_Ehdr header;
  if (!read(0, &header, sizeof header)) return found;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return found;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
    std::string names(sections[section.sh_link].sh_size, '\0');
    if (!read(section.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
        !read(sections[section.sh_link].sh_offset, names.data(), names.size())) {
      return found;
    }
    std::map<std::string, int> times;
    for (const Elf64_Sym& symbol : symbols) {
      if (symbol.st_name >= names.size() || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      const std::string name = names.c_str() + symbol.st_name;
      if (wanted.count(name) == 0) continue;
      found[name] = {symbol.st_value, symbol.st_size};
      if (++times[name] > 1) found.erase(name);
    }
  }
  return found;
}
