// See environment_words.h.
#include "verifier/readers/environment_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>

#include "verifier/readers/event_prefix.h"
#include "verifier/readers/event_words.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxName = 256;

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool allDigits(std::string_view s) {
  return !s.empty() && s.size() < 20 && std::all_of(s.begin(), s.end(), isDigit);
}

bool nameChar(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || isDigit(c) || c == '_';
}

// The words of a line, one after the other; empty at its end.
std::string_view nextWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

std::string_view lastWord(std::string_view s) {
  return s.substr(s.find_last_of(" \t") + 1);
}

bool limitWord(std::string_view s) {
  return s == "unlimited" || allDigits(s);
}

std::string kibOfBytes(std::string_view s) {
  if (!allDigits(s)) return std::string(s);
  std::uint64_t n = 0;
  std::from_chars(s.data(), s.data() + s.size(), n);
  return std::to_string(n >> 10);
}

// --- locked memory -------------------------------------------------------------------------------

// In KiB: `ulimit -a` of bash, zsh, dash and BusyBox.
constexpr std::array<std::string_view, 4> kShellLimits{
    "max locked memory", "-l: locked-in-memory", "locked memory(kbytes)", "-l: locked memory"};
// In bytes, soft and hard: /proc/PID/limits, and prlimit.
constexpr std::array<std::string_view, 2> kKernelLimits{"Max locked memory", "MEMLOCK "};

bool startsWithOneOf(std::string_view s, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [s](std::string_view w) { return s.starts_with(w); });
}

void lockedMemory(std::string_view s, std::vector<HostFact>& out) {
  if (startsWithOneOf(s, kShellLimits)) {
    if (limitWord(lastWord(s))) out.push_back({"ulimit -l", std::string(lastWord(s))});
    return;
  }
  if (!startsWithOneOf(s, kKernelLimits)) return;
  std::array<std::string_view, 2> limits;
  std::size_t found = 0;
  std::string_view rest = s;
  while (found < limits.size()) {
    const std::string_view word = nextWord(rest);
    if (word.empty()) break;
    if (limitWord(word)) limits[found++] = word;
  }
  if (found > 0) out.push_back({"ulimit -l", kibOfBytes(limits[0])});
  if (found > 1) out.push_back({"ulimit -Hl", kibOfBytes(limits[1])});
}

// Other lines of those tables: "open files   (-n) 1024", "Max cpu time  unlimited  seconds".
bool limitRow(std::string_view s) {
  if (s.starts_with("Limit ")) return s.ends_with("Units");
  if (s.starts_with("RESOURCE ")) return true;
  if (s.starts_with("Max ")) return s.find("  ") != std::string_view::npos;
  const auto option = s.find('-');
  return option != std::string_view::npos && option + 2 < s.size() && s[option + 2] == ')' &&
         s.find('(') < option && limitWord(lastWord(s));
}

// A prompt's command without what a shell's quotes or a redirection leave behind it.
std::string_view commandText(std::string_view s) {
  for (const std::string_view end : {"2>&1", "2>/dev/null", "'", "\"", ";"})
    if (s.ends_with(end)) s = trimmed(s.substr(0, s.size() - end.size()));
  return s;
}

NodeLine limitPrompt(std::string_view s) {
  for (const std::string_view soft : {"ulimit -l", "ulimit -Sl", "ulimit -S -l"})
    if (s.ends_with(soft)) return NodeLine::LimitPrompt;
  for (const std::string_view hard : {"ulimit -Hl", "ulimit -H -l"})
    if (s.ends_with(hard)) return NodeLine::HardPrompt;
  return NodeLine::None;
}

// --- packages ------------------------------------------------------------------------------------

// The packages whose version tells what libibverbs a process gets.
constexpr std::array<std::string_view, 11> kPackages{
    "rdma-core", "libibverbs1",       "libibverbs",    "librdmacm1", "librdmacm", "libibumad3",
    "libibumad", "ibverbs-providers", "ibverbs-utils", "libmlx5-1",  "ucx"};

bool isPackage(std::string_view name) {
  return std::find(kPackages.begin(), kPackages.end(), name) != kPackages.end();
}

bool isVersion(std::string_view s) {
  return !s.empty() && isDigit(s.front());
}

// "ii  libibverbs1:amd64  50.0-2  amd64 ..." of dpkg -l, "libibverbs1:amd64  50.0-2" of
// dpkg-query -W, "dpkg: libibverbs1 50.0-2",
// "libibverbs1/jammy,now 39.0-1 amd64 [installed]", "rdma-core-48.0-1.el9.x86_64" of rpm -qa.
void package(std::string_view s, std::vector<HostFact>& out) {
  std::string_view rest = s;
  std::string_view name = nextWord(rest);
  // dpkg's other states ("rc", "un") are of packages that are gone.
  const bool installed = name == "ii" || name == "hi" || name == "dpkg:" || name == "rpm:";
  if (installed) name = nextWord(rest);
  const auto slash = name.find('/');
  if (slash != std::string_view::npos && s.find("[installed") == std::string_view::npos) return;
  std::string_view known = name.substr(0, std::min(slash, name.find(':')));
  if (isPackage(known)) {
    const std::string_view version = nextWord(rest);
    // A sentence may begin with a package's name.
    if (!installed && slash == std::string_view::npos && !trimmed(rest).empty()) return;
    if (isVersion(version)) out.push_back({"package " + std::string(known), std::string(version)});
    return;
  }
  if (!trimmed(rest).empty()) return;
  for (const std::string_view p : kPackages) {
    if (!name.starts_with(p) || name.size() < p.size() + 2 || name[p.size()] != '-') continue;
    const std::string_view version = name.substr(p.size() + 1);
    if (isVersion(version) && version.find('.') != std::string_view::npos)
      out.push_back({"package " + std::string(p), std::string(version)});
  }
}

bool packageRow(std::string_view s) {
  return s.starts_with("ii  ") || s.starts_with("rc  ") || s.starts_with("||/ Name") ||
         s.starts_with("+++-=") || s.starts_with("Desired=Unknown") || s.starts_with("| Status=") ||
         s.starts_with("|/ Err?=");
}

// --- /dev/infiniband -----------------------------------------------------------------------------

constexpr std::string_view kFolder = "/dev/infiniband";

// "ls: cannot access '/dev/infiniband': No such file or directory"
void noNodes(std::string_view s, std::vector<HostFact>& out) {
  if (!s.starts_with("ls: ") || !s.ends_with("No such file or directory")) return;
  const auto at = s.find(kFolder);
  if (at == std::string_view::npos) return;
  std::string_view rest = s.substr(at + kFolder.size());
  rest = rest.substr(0, rest.find_first_of("': "));
  if (rest.empty() || rest == "/")
    out.push_back({std::string(kFolder), "absent"});
  else if (rest == "/uverbs*" || rest == "/uverbs0")
    out.push_back({std::string(kFolder), "no uverbs"});
}

bool deviceFile(std::string_view word) {
  for (const std::string_view kind : {"uverbs", "umad", "issm", "ucm"})
    if (word.starts_with(kind) && allDigits(word.substr(kind.size()))) return true;
  return word == "rdma_cm" || word == "by-ibdev" || word == "by-path";
}

// Names alone, or those of `ls -l`.
bool deviceFiles(std::string_view s) {
  if (s.starts_with("crw") || s.starts_with("drw"))
    return deviceFile(s.substr(s.find_last_of(" \t/") + 1));
  std::size_t words = 0;
  while (!s.empty()) {
    std::string_view word = nextWord(s);
    if (word.empty()) break;
    if (word.starts_with(kFolder) && word.size() > kFolder.size())
      word.remove_prefix(kFolder.size() + 1);
    if (!deviceFile(word)) return false;
    ++words;
  }
  return words > 0;
}

bool listPrompt(std::string_view s) {
  if (s.find("ls ") == std::string_view::npos) return false;
  const auto at = s.rfind(kFolder);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = s.substr(at + kFolder.size());
  return rest.empty() || rest == "/" || rest == "/*";
}

// --- kernel modules ------------------------------------------------------------------------------

bool modulesHead(std::string_view s) {
  std::string_view rest = s;
  return nextWord(rest) == "Module" && nextWord(rest) == "Size" && trimmed(rest) == "Used by";
}

// "nvidia_peermem         16384  0", "ib_core   495616  4 rdma_cm,ib_uverbs"
bool moduleRow(std::string_view s) {
  std::string_view rest = s;
  const std::string_view name = nextWord(rest);
  if (name.empty() || isDigit(name.front())) return false;
  if (!std::all_of(name.begin(), name.end(), nameChar)) return false;
  const std::string_view size = nextWord(rest), users = nextWord(rest);
  if (!allDigits(size) || size.size() < 4 || users.size() > 6) return false;
  if (!allDigits(users) && users != "-1" && users != "-2") return false;
  return trimmed(rest).find_first_of(" \t") == std::string_view::npos;
}

// The modules that tell something, which a line may begin with anywhere.
constexpr std::array<std::string_view, 22> kModules{
    "nvidia_peermem", "nv_peer_mem", "ib_uverbs", "ib_core",   "rdma_cm",  "rdma_ucm",
    "ib_umad",        "mlx5_ib",     "mlx4_ib",   "mlx5_core", "rdma_rxe", "siw",
    "irdma",          "bnxt_re",     "efa",       "erdma",     "hfi1",     "ionic_rdma",
    "mana_ib",        "qedr",        "iw_cxgb4",  "ib_ipoib"};

bool isKnownModule(std::string_view name) {
  return std::find(kModules.begin(), kModules.end(), name) != kModules.end();
}

// The beginning of such a line, where a list was cut: "nvidia_pe", "nvidia_peermem  163".
bool moduleCut(std::string_view s) {
  std::string_view rest = s;
  const std::string_view name = nextWord(rest);
  const auto small = [](char c) { return (c >= 'a' && c <= 'z') || isDigit(c) || c == '_'; };
  rest = trimmed(rest);
  return !isDigit(name.front()) && std::all_of(name.begin(), name.end(), small) &&
         (rest.empty() || allDigits(rest));
}

// --- others --------------------------------------------------------------------------------------

bool isElision(std::string_view s) {
  return s == "..." || s == "[...]" || s == "\xe2\x80\xa6" || s == "<snip>" || s == "[snip]";
}

bool dockerLine(std::string_view s) {
  if (s.starts_with("$ ") || s.starts_with("# ")) s = trimmed(s.substr(2));
  if (s.starts_with("sudo ")) s = trimmed(s.substr(5));
  for (const std::string_view tool : {"docker ", "podman ", "nerdctl "})
    if (s.starts_with(tool))
      return s.find(" run ") != std::string_view::npos ||
             s.find(" exec ") != std::string_view::npos;
  return false;
}

// First bytes of what hostFacts() knows: every line that is nobody's comes here.
constexpr std::string_view kFactBytes = "m-MlihdrlLu";

// One look for all the words that the functions here search for.
bool mayNameNode(std::string_view s) {
  static constexpr std::array<std::string_view, 6> kWords{"libib",      "librdma",    "rdma-core",
                                                          "infiniband", "locked mem", "uverbs"};
  static const WordSet words(kWords);
  return words.in(s).any();
}

bool tellsFacts(std::string_view s) {
  if (kFactBytes.find(s.front()) == std::string_view::npos) return false;
  try {
    return !hostFacts(s).empty();
  } catch (const std::exception&) {
    return false;  // out of memory
  }
}

}  // namespace

std::string_view nodeText(std::string_view line) noexcept {
  // A tag costs more than these words, and every line of a log comes here.
  constexpr std::size_t kLongest = 256;
  const std::string_view s = trimmed(line);
  if (s.size() > kLongest || !mayNameNode(s)) return s;
  for (const std::string_view word : {"libib", "librdma", "rdma-core", "infiniband", "locked mem"})
    if (const auto at = s.find(word); at != std::string_view::npos && at > 0)
      return takePrefix(s).rest;
  return s;
}

std::vector<HostFact> hostFacts(std::string_view line) {
  const std::string_view s = nodeText(line);
  std::vector<HostFact> out;
  if (s.empty()) return out;
  lockedMemory(s, out);
  if (out.empty()) package(s, out);
  if (out.empty()) noNodes(s, out);
  return out;
}

NodeLine nodeLine(std::string_view line, bool inside) noexcept {
  const std::string_view s = nodeText(line);
  if (s.empty()) return NodeLine::None;
  const std::string_view command = commandText(s);
  if (const NodeLine prompt = limitPrompt(command); prompt != NodeLine::None) return prompt;
  const bool mayName = mayNameNode(s);
  if (mayName && listPrompt(command)) return NodeLine::ListPrompt;
  if (dockerLine(s)) return NodeLine::Docker;
  if (tellsFacts(s)) return NodeLine::Fact;
  if (s.front() == 'M' && modulesHead(s)) return NodeLine::Modules;
  if (isKnownModule(moduleName(s)) && moduleRow(s)) return NodeLine::Module;
  // A list without its prompt: what shows verbs devices shows what it is.
  if (mayName && s.find("uverbs") != std::string_view::npos && deviceFiles(s))
    return NodeLine::Nodes;
  if (!inside) return NodeLine::None;
  if (moduleRow(s)) return NodeLine::Module;
  if (deviceFiles(s)) return NodeLine::Nodes;
  if (s.starts_with("total ") && allDigits(s.substr(6))) return NodeLine::Total;
  if (limitWord(s)) return NodeLine::Limit;
  if (isElision(s) || moduleCut(s)) return NodeLine::Elision;
  if (packageRow(s) || limitRow(s)) return NodeLine::Filler;
  if (s.starts_with("-e ") || s.starts_with("--env") || s.starts_with("--ulimit"))
    return NodeLine::Docker;
  return NodeLine::None;
}

std::string_view moduleName(std::string_view line) noexcept {
  std::string_view rest = trimmed(line);
  return nextWord(rest);
}

std::string_view assignedName(std::string_view text) noexcept {
  const auto equals = text.substr(0, kMaxName + 1).find('=');
  if (equals == std::string_view::npos || equals == 0) return {};
  const std::string_view name = text.substr(0, equals);
  if (isDigit(name[0])) return {};
  return std::all_of(name.begin(), name.end(), nameChar) ? name : std::string_view{};
}

bool isNetworkName(std::string_view name) noexcept {
  for (const std::string_view family : {"NCCL_", "UCX_", "FI_", "OFI_", "RCCL_", "TORCH_NCCL_"})
    if (name.starts_with(family)) return true;
  return false;
}

}  // namespace rdmaguard::readers
