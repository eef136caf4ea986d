// The search for NCCL and its net structs. See locate.h; the layouts are in releases.h.
#include "plugin/tap/locate.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "plugin/tap/elf_file.h"
#include "plugin/tap/loaded_object.h"
#include "plugin/tap/releases.h"

namespace rdmaguard::tap {
namespace {

/// A half-open range of addresses in memory.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t address, std::size_t size = 1) const {
    return address >= begin && address < end && size <= end - address;
  }
};

/// Where in the object's memory code, data and constant text lie, taken from its section headers:
/// the segment that holds .text holds .rodata as well in every released libnccl, so program
/// headers cannot tell a function from a string.
struct Layout {
  Range text;
  Range data;
  std::vector<Range> constants;
  Range whole;  ///< around all of `constants`
};

struct Candidate {
  const LoadedObject* object = nullptr;
  GetVersion getVersion = nullptr;
};

const LoadedObject* holderOf(const std::vector<LoadedObject>& objects, const void* address) {
  if (address == nullptr) return nullptr;
  for (const LoadedObject& object : objects) {
    if (object.holds(address)) return &object;
  }
  return nullptr;
}

Candidate findNccl(const std::vector<LoadedObject>& objects, const void* logger, const void* caller,
                   LocateResult& result) {
  const struct {
    const void* address;
    std::string_view what;
  } hints[] = {{logger, "the logger NCCL passed to init"}, {caller, "the caller of init"}};
  for (const auto& hint : hints) {
    const LoadedObject* object = holderOf(objects, hint.address);
    if (object == nullptr) continue;
    if (const GetVersion function = versionFunctionOf(*object)) {
      result.evidence.push_back("NCCL is in " + object->path + ", which holds " +
                                std::string(hint.what) + ".");
      return {object, function};
    }
  }

  const LoadedObject* self = holderOf(objects, reinterpret_cast<const void*>(&locate));
  Candidate only;
  int count = 0;
  for (const LoadedObject& object : objects) {
    if (&object == self) continue;
    if (const GetVersion function = versionFunctionOf(object)) {
      only = {&object, function};
      ++count;
    }
  }
  if (count == 1) {
    result.evidence.push_back("NCCL is in " + only.object->path +
                              ", the only object of this process that defines ncclGetVersion.");
    return only;
  }
  result.reason = count == 0 ? "No object of this process defines ncclGetVersion."
                             : std::to_string(count) +
                                   " objects of this process define ncclGetVersion, and neither "
                                   "the logger nor the caller tells which of them is in use.";
  return {};
}

bool sameSegments(const std::vector<Elf64_Phdr>& file, const std::vector<Elf64_Phdr>& memory) {
  if (file.size() != memory.size()) return false;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i].p_type != memory[i].p_type || file[i].p_flags != memory[i].p_flags ||
        file[i].p_vaddr != memory[i].p_vaddr || file[i].p_filesz != memory[i].p_filesz ||
        file[i].p_memsz != memory[i].p_memsz) {
      return false;
    }
  }
  return true;
}

std::optional<Range> rangeOf(const LoadedObject& object, const Section& section,
                             std::uint32_t segmentFlags) {
  const Range range{object.base + section.addr, object.base + section.addr + section.size};
  if (section.size == 0 || range.end < range.begin ||
      !object.maps(range.begin, section.size, segmentFlags)) {
    return std::nullopt;
  }
  return range;
}

/// The layout of the object, or the reason why its file cannot be trusted.
std::optional<Layout> layoutOf(const LoadedObject& object, std::string& reason) {
  const ElfFile file = readElfFile(object.path);
  if (!file) {
    reason = "The file " + object.path + " " + file.error + ", so NCCL's sections are not known.";
    return std::nullopt;
  }
  if (!sameSegments(file.program, object.program) || file.buildId != object.buildId()) {
    reason = "The file " + object.path + " is not the one this process has mapped (replaced?).";
    return std::nullopt;
  }
  const Section* text = file.unique(".text");
  const Section* data = file.unique(".data");
  if (text == nullptr || data == nullptr || text->type != SHT_PROGBITS ||
      data->type != SHT_PROGBITS || (text->flags & SHF_EXECINSTR) == 0 ||
      (data->flags & SHF_WRITE) == 0) {
    reason = "The file " + object.path + " does not have one .text and one .data section.";
    return std::nullopt;
  }
  const auto textRange = rangeOf(object, *text, PF_R | PF_X);
  const auto dataRange = rangeOf(object, *data, PF_R | PF_W);
  if (!textRange || !dataRange) {
    reason = "The sections of " + object.path + " do not lie in its mapped segments.";
    return std::nullopt;
  }
  Layout layout{*textRange, *dataRange, {}, {}};
  for (const Section& section : file.sections) {
    if (section.type != SHT_PROGBITS || (section.flags & SHF_ALLOC) == 0 ||
        (section.flags & (SHF_EXECINSTR | SHF_TLS)) != 0) {
      continue;
    }
    const auto range = rangeOf(object, section, PF_R);
    if (!range) continue;
    layout.constants.push_back(*range);
    Range& whole = layout.whole;
    whole.begin = whole.end == 0 ? range->begin : std::min(whole.begin, range->begin);
    whole.end = std::max(whole.end, range->end);
  }
  return layout;
}

bool isText(const Layout& layout, std::uintptr_t address, std::string_view wanted) {
  const std::size_t size = wanted.size() + 1;
  if (!layout.whole.holds(address, size)) return false;  // most words of .data are no pointers
  for (const Range& range : layout.constants) {
    if (!range.holds(address, size)) continue;
    const char* text = reinterpret_cast<const char*>(address);
    return std::memcmp(text, wanted.data(), wanted.size()) == 0 && text[wanted.size()] == '\0';
  }
  return false;
}

/// Structs in .data that carry `name` and functions in their slots.
struct Hits {
  std::vector<void**> exact;  ///< the release's NULL pattern
  int named = 0;              ///< the name is right, the slots are not all NULL or code
  int patterned = 0;          ///< slots all NULL or code, another NULL pattern
};

Hits scan(const Layout& layout, std::string_view name, std::string_view pattern, OwnSlot own) {
  Hits hits;
  const std::size_t bytes = (1 + pattern.size()) * sizeof(void*);
  const std::uintptr_t first = (layout.data.begin + 7) & ~std::uintptr_t{7};
  for (std::uintptr_t at = first; layout.data.holds(at, bytes); at += sizeof(void*)) {
    auto** words = reinterpret_cast<void**>(at);
    // Other threads of NCCL may write their own variables in .data while we look.
    const auto word = [words](std::size_t i) {
      return reinterpret_cast<std::uintptr_t>(__atomic_load_n(words + i, __ATOMIC_RELAXED));
    };
    if (!isText(layout, word(0), name)) continue;
    bool code = true;
    bool same = true;
    for (std::size_t i = 0; i < pattern.size() && code; ++i) {
      const std::uintptr_t slot = word(i + 1);
      code = slot == 0 || layout.text.holds(slot) ||
             (own != nullptr && own(reinterpret_cast<const void*>(slot)));
      same = same && (slot != 0) == (pattern[i] == 'F');
    }
    if (!code) {
      ++hits.named;
    } else if (!same) {
      ++hits.patterned;
    } else {
      hits.exact.push_back(words);
    }
  }
  return hits;
}

/// The struct of `name`, or nullptr with the reason.
void** theOnly(const Hits& hits, std::string_view name, const LocateResult& nccl,
               std::string& reason) {
  if (hits.exact.size() == 1 && hits.patterned == 0) return hits.exact.front();
  const std::string where = "NCCL " + nccl.versionText + " in " + nccl.path;
  const std::string net = "NET/" + std::string(name);
  if (hits.exact.size() + static_cast<std::size_t>(hits.patterned) > 1) {
    reason = where + " holds more than one struct that could be " + net + ".";
  } else if (hits.patterned == 1) {
    reason = net + " of " + where + " has other functions than that release is known for.";
  } else if (hits.named > 0) {
    reason = net + " of " + where +
             " was not found: the structs of that name hold functions from outside NCCL's code "
             "(tapped by something else?).";
  } else {
    reason = net + " of " + where + " was not found in its data.";
  }
  return nullptr;
}

std::string unknownRelease(int version) {
  const Release& oldest = kReleases.front();
  const Release& newest = kReleases.back();
  const std::string known = "the layouts known (" + std::to_string(oldest.from / 10000) + "." +
                            std::to_string(oldest.from / 100 % 100) + " to " +
                            std::to_string(newest.to / 10000) + "." +
                            std::to_string(newest.to / 100 % 100) + ").";
  if (version > newest.to) return "NCCL " + versionText(version) + " is newer than " + known;
  if (version < oldest.from) return "NCCL " + versionText(version) + " is older than " + known;
  return "NCCL " + versionText(version) + " is not among " + known;
}

}  // namespace

LocateResult locate(const void* logger, const void* caller, OwnSlot own) {
  LocateResult result;
  const std::vector<LoadedObject> objects = loadedObjects();
  const Candidate nccl = findNccl(objects, logger, caller, result);
  if (nccl.object == nullptr) return result;
  result.path = nccl.object->path;
  result.base = nccl.object->base;

  int version = 0;
  if (nccl.getVersion(&version) != 0 || version <= 0) {
    result.reason = "ncclGetVersion in " + result.path + " failed.";
    return result;
  }
  result.version = version;
  result.versionText = versionText(version);
  const Release* release = releaseOf(version);
  if (release == nullptr) {
    result.reason = unknownRelease(version);
    return result;
  }
  result.netAbi = release->netAbi;

  const auto layout = layoutOf(*nccl.object, result.reason);
  if (!layout) return result;
  void** ib = theOnly(scan(*layout, "IB", release->ib, own), "IB", result, result.reason);
  if (ib == nullptr) return result;
  void** socket =
      theOnly(scan(*layout, "Socket", release->socket, own), "Socket", result, result.reason);
  if (socket == nullptr) return result;
  result.ib = ib;
  result.socket = socket;
  return result;
}

}  // namespace rdmaguard::tap
