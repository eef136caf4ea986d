// See literals.h.
#include "plugin/collective/literals.h"

#include <link.h>

namespace rdmaguard::collective {
namespace {

struct Search {
  std::uintptr_t inside;
  LiteralRanges found;
};

int visit(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  LiteralRanges ranges{};
  std::size_t count = 0;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    if (search.inside >= begin && search.inside < end) holds = true;
    if ((segment.p_flags & PF_W) == 0 && count < ranges.ranges.size()) {
      ranges.ranges[count++] = {begin, end};
    }
  }
  if (!holds) return 0;
  search.found = ranges;
  return 1;
}

}  // namespace

LiteralRanges literalsAround(const void* inside) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(inside), {}};
  if (inside != nullptr) dl_iterate_phdr(visit, &search);
  return search.found;
}

}  // namespace rdmaguard::collective
