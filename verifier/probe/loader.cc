// libibverbs as the loader finds it, and the provider libraries it would load. See sources.h.
// Sources: NCCL src/misc/ibvsymbols.cc; rdma-core libibverbs/dynamic_driver.c (driver files,
// library names) and libibverbs/CMakeLists.txt (the directories built into the library).
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>

#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"
#include "verifier/probe/sources.h"

namespace rdmaguard::probe {
namespace {

using engine::cat;
using engine::VerbsLoader;
using engine::VerbsProvider;

constexpr std::size_t kMostOfLibrary = 4 << 20;

// The names NCCL opens, in its order. NCCL_IBVERBS_LIB is read from 2.30 on.
std::vector<std::string> libraryNames(const engine::NodeFacts& node, int ncclVersion) {
  std::vector<std::string> names;
  const engine::Setting* named = engine::find(node.settings, "NCCL_IBVERBS_LIB");
  if (named && !named->value.empty() && (ncclVersion == 0 || ncclVersion >= 23000))
    names.push_back(named->value);
  names.emplace_back("libibverbs.so");
  names.emplace_back("libibverbs.so.1");
  return names;
}

void splitInto(std::vector<std::string>& out, std::string_view text, std::string_view separators) {
  while (!text.empty()) {
    const auto end = text.find_first_of(separators);
    if (end != 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Where ld.so looks, as far as files tell: LD_LIBRARY_PATH, ld.so.conf, the defaults.
std::vector<std::string> loaderFolders(const Tree& tree, const ProbeOptions& options) {
  std::vector<std::string> folders;
  splitInto(folders, environmentValue(options, "LD_LIBRARY_PATH"), ":;");
  const auto conf = tree.list("/etc/ld.so.conf.d");
  std::vector<std::string> lines;
  splitInto(lines, tree.read("/etc/ld.so.conf").value_or(""), "\r\n");
  if (conf)
    for (const std::string& file : *conf)
      splitInto(lines, tree.read(cat("/etc/ld.so.conf.d/", file)).value_or(""), "\r\n");
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(folders),
               [](const std::string& l) { return l.starts_with('/'); });
  for (const char* folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"})
    folders.emplace_back(folder);
  return folders;
}

std::string searched(const Tree& tree, const std::vector<std::string>& folders,
                     std::string_view file) {
  if (file.find('/') != std::string_view::npos)
    return tree.readable(file) ? std::string(file) : std::string();
  for (const std::string& folder : folders)
    if (std::string path = cat(folder, "/", file); tree.readable(path)) return path;
  return {};
}

// Opens as NCCL does; a library that is mapped already is only looked at.
void openLibrary(const std::vector<std::string>& names, VerbsLoader& loader) {
  loader.opened = true;
  loader.state = VerbsLoader::State::Missing;
  for (const std::string& name : names) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle) handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = dlerror();
      if (!loader.error.empty()) loader.error += "; ";
      loader.error += why ? why : name;
      continue;
    }
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name) loader.path = map->l_name;
    dlclose(handle);
    loader.state = VerbsLoader::State::Found;
    loader.error.clear();
    return;
  }
}

void searchLibrary(const Tree& tree, const std::vector<std::string>& folders,
                   const std::vector<std::string>& names, VerbsLoader& loader) {
  for (const std::string& name : names) {
    loader.path = searched(tree, folders, name);
    if (loader.path.empty()) continue;
    loader.state = VerbsLoader::State::Found;
    return;
  }
  loader.state = VerbsLoader::State::Missing;
  loader.error = cat("No ", engine::listed(names), " in the loader's directories.");
}

// The string of the library's constants around a position.
std::string_view stringAt(std::string_view image, std::size_t at) {
  std::size_t begin = at, end = at;
  while (begin > 0 && image[begin - 1] >= ' ' && image[begin - 1] <= '~') --begin;
  while (end < image.size() && image[end] >= ' ' && image[end] <= '~') ++end;
  return image.substr(begin, end - begin);
}

// What is built into this libibverbs: "<folder>/lib%s-rdmav34.so" and "<prefix>/libibverbs.d".
struct BuiltIn {
  std::string providerFolder;  // with a slash at its end
  std::string suffix;          // "-rdmav34.so"
  std::string configDir;
};

BuiltIn builtInto(const Tree& tree, const std::string& library) {
  BuiltIn b;
  const std::string image = tree.read(library, kMostOfLibrary).value_or("");
  constexpr std::string_view kMark = "lib%s-rdmav", kConfig = "/libibverbs.d";
  for (auto at = image.find(kMark); at != std::string::npos; at = image.find(kMark, at + 1)) {
    const std::string_view text = stringAt(image, at);
    const auto name = text.find("lib%s");
    b.suffix = text.substr(name + 5);
    if (text.starts_with('/')) b.providerFolder = text.substr(0, name);
  }
  if (const auto at = image.find(kConfig); at != std::string::npos)
    b.configDir = stringAt(image, at);
  return b;
}

// "driver mlx5" lines, '#' for comments.
std::vector<std::string> driversNamedIn(std::string_view text) {
  std::vector<std::string> lines, names;
  splitInto(lines, text, "\n");
  for (const std::string& line : lines) {
    std::vector<std::string> words;
    splitInto(words, line, " \t\r");
    if (words.size() >= 2 && words[0] == "driver") names.push_back(words[1]);
  }
  return names;
}

void addProvider(const Tree& tree, const std::vector<std::string>& folders, const BuiltIn& b,
                 const std::string& name, const std::string& source, VerbsLoader& loader) {
  VerbsProvider p;
  p.name = name.substr(name.find_last_of('/') + 1);
  p.driverFile = source;
  if (name.starts_with('/')) {
    p.expected = cat(name, b.suffix);
    if (tree.readable(p.expected)) p.library = p.expected;
  } else {
    const std::string file = cat("lib", name, b.suffix);
    p.expected = cat(b.providerFolder, file);
    p.library = searched(tree, folders, p.expected);
    if (p.library.empty()) p.library = searched(tree, folders, file);
  }
  loader.providers.push_back(std::move(p));
}

void readProviders(const Tree& tree, const ProbeOptions& options,
                   const std::vector<std::string>& folders, VerbsLoader& loader) {
  const BuiltIn b = builtInto(tree, loader.path);
  loader.providerSuffix = b.suffix;
  loader.configDir = b.configDir;
  // A libibverbs that says neither has its providers linked in: nothing to look for.
  if (b.suffix.empty() || b.configDir.empty()) return;
  loader.providersKnown = true;
  if (const auto files = tree.list(b.configDir))
    for (const std::string& file : *files) {
      const std::string path = cat(b.configDir, "/", file);
      for (const std::string& name : driversNamedIn(tree.read(path).value_or("")))
        addProvider(tree, folders, b, name, path, loader);
    }
  for (const char* variable : {"RDMAV_DRIVERS", "IBV_DRIVERS"}) {
    std::vector<std::string> names;
    splitInto(names, environmentValue(options, variable), ":;");
    for (const std::string& name : names) addProvider(tree, folders, b, name, variable, loader);
  }
}

}  // namespace

void readLoader(const Tree& tree, const ProbeOptions& options, engine::NodeFacts& node) {
  const auto folders = loaderFolders(tree, options);
  const auto names = libraryNames(node, options.ncclVersion);
  node.defaultNetPlugin = searched(tree, folders, "libnccl-net.so");
  if (tree.live() && options.tryLoader)
    openLibrary(names, node.loader);
  else
    searchLibrary(tree, folders, names, node.loader);
  if (node.loader.state == VerbsLoader::State::Found && !node.loader.path.empty())
    readProviders(tree, options, folders, node.loader);
}

}  // namespace rdmaguard::probe
