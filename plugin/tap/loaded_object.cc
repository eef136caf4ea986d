// dl_iterate_phdr and dlsym behind values. See loaded_object.h.
#include "plugin/tap/loaded_object.h"

#include <dlfcn.h>
#include <link.h>

#include "plugin/tap/elf_file.h"

namespace rdmaguard::tap {

bool LoadedObject::maps(std::uintptr_t address, std::size_t size, std::uint32_t flags) const {
  for (const Elf64_Phdr& segment : program) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & flags) != flags) continue;
    const std::uintptr_t begin = base + segment.p_vaddr;
    if (address < begin) continue;
    const std::uintptr_t offset = address - begin;
    if (offset <= segment.p_memsz && size <= segment.p_memsz - offset) return true;
  }
  return false;
}

std::vector<std::uint8_t> LoadedObject::buildId() const {
  for (const Elf64_Phdr& segment : program) {
    if (segment.p_type != PT_NOTE) continue;
    const std::uintptr_t notes = base + segment.p_vaddr;
    if (!maps(notes, segment.p_memsz)) continue;
    auto id = buildIdOf(reinterpret_cast<const std::uint8_t*>(notes), segment.p_memsz);
    if (!id.empty()) return id;
  }
  return {};
}

std::vector<LoadedObject> loadedObjects() {
  std::vector<LoadedObject> objects;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* into) {
    auto& list = *static_cast<std::vector<LoadedObject>*>(into);
    LoadedObject object;
    object.executable = list.empty();
    object.path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (object.executable && object.path.empty()) object.path = "/proc/self/exe";
    object.base = info->dlpi_addr;
    object.program.assign(info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum);
    list.push_back(std::move(object));
    return 0;
  };
  dl_iterate_phdr(collect, &objects);
  return objects;
}

GetVersion versionFunctionOf(const LoadedObject& object) {
  if (object.path.empty()) return nullptr;
  void* handle = dlopen(object.executable ? nullptr : object.path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  void* symbol = dlsym(handle, "ncclGetVersion");
  dlclose(handle);
  if (symbol == nullptr) return nullptr;
  // dlsym also searches the object's dependencies: the definition must be its own, and code.
  if (!object.maps(reinterpret_cast<std::uintptr_t>(symbol), 1, PF_X)) return nullptr;
  return reinterpret_cast<GetVersion>(symbol);
}

}  // namespace rdmaguard::tap
